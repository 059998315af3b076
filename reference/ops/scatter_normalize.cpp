// scatter_normalize in double with certified errors, node by node; [B6] of docs/bounds.md.
#include "reference/ops/scatter_normalize.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "reference/exact_sum.hpp"
#include "reference/multiprecision.hpp"
#include "reference/ops/incoming.hpp"
#include "reference/require.hpp"
#include "reference/rounding_error.hpp"

namespace halfulp::reference {
namespace {

struct Answer {
  double value = 0;
  double error = 0;
  double bound = 0;
  // The bound's parts, before its inflation.
  double numerator = 0;
  double denominator = 0;
  double division = 0;
};
constexpr Answer kOpen{0, 0, kUnbounded};

// What the outputs of one node and head share.
struct Denominator {
  double value = 0;      // sum of scores + epsilon, or NaN or an infinity
  double error = 0;      // of the kernel's
  double error_any = 0;  // the same without use of exactness
  bool exact = false;    // every order gives `value`
  bool open = false;     // finite scores may overflow beside an infinite one, or to one
};

class Scatter {
 public:
  explicit Scatter(const ScatterNormalize& op)
      : op_(op),
        rounding_(rounding_model(op.arithmetic)),
        division_(division_error(op.arithmetic)),
        values_(op.values, op.dim),
        dim_(static_cast<std::size_t>(op.dim)),
        sum_(dim_),
        magnitude_(dim_),
        quantum_(dim_),
        exact_(dim_) {}

  void head(std::span<const std::int64_t> edges, std::int64_t head) {
    additions_ = static_cast<double>(edges.size());
    tree_ = sum_error(rounding_, additions_ - 1);
    denominator_ = denominator(edges, head);
    std::fill(sum_.begin(), sum_.end(), 0.0);
    std::fill(magnitude_.begin(), magnitude_.end(), 0.0);
    for (const std::int64_t edge : edges) {
      const float* const values = values_.row(edge, head);
      for (std::size_t d = 0; d < dim_; ++d) {
        sum_[d] += static_cast<double>(values[d]);
        magnitude_[d] += std::abs(static_cast<double>(values[d]));
      }
    }
    find_exact(edges, head);
  }

  // One output of the node and head of the last call of head(), which has an incoming edge.
  Answer answer(std::span<const std::int64_t> edges, std::int64_t head, std::size_t d) {
    const Denominator& below = denominator_;
    if (!std::isfinite(sum_[d]) || !std::isfinite(below.value)) return of_class(edges, head, d);
    const double size = std::abs(sum_[d]);
    const double by_order = tree_.of_magnitude * magnitude_[d] + tree_.of_result * size +
                            (magnitude_[d] > 0 ? tree_.constant : 0);
    const double least = std::abs(below.value) - below.error;
    const double most = std::abs(below.value) + below.error;
    const double sums = (magnitude_[d] + size) / 2 + by_order;
    if (below.open || !(least > 0) || sums >= rounding_.largest) return kOpen;
    if (least < division_.smallest || most > division_.largest) return kOpen;
    Answer given;
    given.value = sum_[d] / below.value;
    if (exact_[d] && below.exact && divides_exactly(division_, sum_[d], below.value, given.value)) {
      return given;
    }
    const double ratio = std::abs(given.value);
    given.numerator = (exact_[d] ? 0 : by_order) / least;
    given.denominator = ratio * below.error / least;
    const double before = given.numerator + given.denominator;
    given.division = division_amount(division_, ratio + before);
    given.bound = (before + given.division) * kInflation;
    given.error =
        (given.numerator + ratio * below.error_any / least) * kErrorOfDouble + ratio * 0x1p-51;
    return given;
  }

 private:
  Denominator denominator(std::span<const std::int64_t> edges, std::int64_t head) {
    Denominator given;
    double sum = 0, magnitude = 0;
    bool infinite = false;
    for (const std::int64_t edge : edges) {
      const double score = op_.scores.at(edge, head);
      sum += score;
      if (std::isfinite(score)) magnitude += std::abs(score);
      infinite |= std::isinf(score);
    }
    given.value = sum + op_.epsilon;
    const double size = std::abs(given.value);
    const double limit = rounding_.largest / 2;
    if (!std::isfinite(sum)) {
      given.open = infinite && magnitude + op_.epsilon >= limit;
      return given;
    }
    // n + 1 leaves, epsilon among them wherever the kernel puts it.
    const SumError tree = sum_error(rounding_, additions_);
    given.error_any = tree.of_magnitude * (magnitude + op_.epsilon) + tree.of_result * size +
                      (magnitude > 0 ? tree.constant : 0);
    given.open = (magnitude + op_.epsilon + size) / 2 + given.error_any >= rounding_.largest;
    if (magnitude == 0) given.error_any = 0;  // epsilon + 0 + 0 ...
    given.error = given.error_any;
    if (epsilon_only(edges, head, (magnitude + std::abs(sum)) / 2)) {
      given.error = std::min(given.error, op_.epsilon);
    }
    const double largest = (magnitude + std::abs(sum)) / 2;
    given.exact = multiples(edges, head, quantum_with_epsilon(rounding_, largest, op_.epsilon));
    if (given.exact) given.error = 0;
    return given;
  }

  // [B4] Without epsilon no order of summing the scores would round.
  bool epsilon_only(std::span<const std::int64_t> edges, std::int64_t head, double largest) {
    if (op_.epsilon < 0x1p-100) return false;
    return multiples(edges, head, quantum(largest, 23, quantum(op_.epsilon, 0, 0)));
  }

  // Whether every score is a multiple of q; not of 0.
  bool multiples(std::span<const std::int64_t> edges, std::int64_t head, double q) {
    return q > 0 && std::all_of(edges.begin(), edges.end(), [&](std::int64_t edge) {
             return is_multiple(op_.scores.at(edge, head), q);
           });
  }

  // [B4] The channels whose sum no order rounds.
  void find_exact(std::span<const std::int64_t> edges, std::int64_t head) {
    for (std::size_t d = 0; d < dim_; ++d) {
      const double largest = (magnitude_[d] + std::abs(sum_[d])) / 2;
      exact_[d] = largest <= rounding_.largest;
      quantum_[d] = exact_[d] ? quantum(largest, 24, rounding_.quantum_least) : 1;
    }
    for (const std::int64_t edge : edges) {
      const float* const values = values_.row(edge, head);
      char any = 0;
      for (std::size_t d = 0; d < dim_; ++d) {
        exact_[d] &= is_multiple(static_cast<double>(values[d]), quantum_[d]);
        any |= exact_[d];
      }
      if (any == 0) return;
    }
  }

  // NaN and infinities: the class alone, where every order agrees on it.
  Answer of_class(std::span<const std::int64_t> edges, std::int64_t head, std::size_t d) {
    const Denominator& below = denominator_;
    const double above = sum_[d];
    if (std::isnan(below.value) || std::isnan(above)) return {std::nan(""), 0, 0};
    if (below.open) return kOpen;
    double finite = 0;
    for (const std::int64_t edge : edges) {
      const double value = values_.row(edge, head)[d];
      if (std::isfinite(value)) finite += std::abs(value);
    }
    if (finite >= rounding_.largest / 2) return kOpen;
    if (std::isinf(below.value)) {
      if (std::isinf(above)) return {std::nan(""), 0, 0};
      return {above / below.value, 0, 0};  // a zero
    }
    const double least = std::abs(below.value) - below.error;
    const double most = std::abs(below.value) + below.error;
    if (!(least > 0) || least < division_.smallest || most > division_.largest) return kOpen;
    return {above / below.value, 0, 0};
  }

  const ScatterNormalize& op_;
  RoundingModel rounding_;
  DivisionError division_;
  FloatRows values_;
  std::size_t dim_;
  double additions_ = 0;
  SumError tree_;
  Denominator denominator_;
  std::vector<double> sum_, magnitude_, quantum_;
  std::vector<char> exact_;
};

// Both sums exactly. The denominator of the last node and head is kept.
class ExactScatter {
 public:
  explicit ExactScatter(const ScatterNormalize& op) : op_(op) {}

  // `edges` end at the element's node.
  Enclosure of(Element element, std::span<const std::int64_t> edges) {
    const std::int64_t d = element.index % op_.dim;
    const std::int64_t row = element.index / op_.dim;
    const std::int64_t head = row % op_.heads;
    if (row != row_) add_scores(edges, head);
    row_ = row;
    ExactSum above;
    double above_class = 0;  // carries NaN and infinities
    for (const std::int64_t edge : edges) {
      const double value = op_.values.at(edge, head, d);
      above_class += value;
      if (std::isfinite(value)) above.add(value);
    }
    if (!std::isfinite(above_class) || !std::isfinite(below_class_)) {
      const double given = above_class / below_class_;
      return {given, given};
    }
    return enclosure(Interval(above.dyadic()) / below_);
  }

 private:
  void add_scores(std::span<const std::int64_t> edges, std::int64_t head) {
    ExactSum sum;
    sum.add(op_.epsilon);
    below_class_ = op_.epsilon;
    for (const std::int64_t edge : edges) {
      const double score = op_.scores.at(edge, head);
      below_class_ += score;
      if (std::isfinite(score)) sum.add(score);
    }
    below_ = Interval(sum.dyadic());
  }

  ScatterNormalize op_;
  std::int64_t row_ = -1;  // node * heads + head of below_
  Interval below_;
  double below_class_ = 0;
};

void check(const ScatterNormalize& op) {
  HALFULP_REQUIRE(op.nodes >= 0 && op.edges >= 0 && op.heads >= 0 && op.dim >= 0,
                  "sizes are not negative");
  HALFULP_REQUIRE(op.epsilon > 0, "epsilon is positive");
}

}  // namespace

void evaluate(const ScatterNormalize& op, const Sink& sink) {
  check(op);
  if (op.heads == 0 || op.dim == 0) return;
  const Incoming incoming(op.destination, op.edges, op.nodes);
  Scatter scatter(op);
  const std::size_t dim = static_cast<std::size_t>(op.dim);
  std::vector<double> value(dim), error(dim), bound(dim);
  for (std::int64_t node = 0; node < op.nodes; ++node) {
    const std::span<const std::int64_t> edges = incoming.edges_of(node);
    for (std::int64_t head = 0; head < op.heads; ++head) {
      if (!edges.empty()) scatter.head(edges, head);
      for (std::size_t d = 0; d < dim; ++d) {
        const Answer given = edges.empty() ? Answer{} : scatter.answer(edges, head, d);
        value[d] = given.value;
        error[d] = given.error;
        bound[d] = given.bound;
      }
      sink({0, (node * op.heads + head) * op.dim, value, error, bound, edges.empty()});
    }
  }
}

Enclosure exact(const ScatterNormalize& op, Element element) {
  const std::int64_t node = element.index / op.dim / op.heads;
  return ExactScatter(op).of(element, incoming_edges(op.destination, op.edges, node));
}

ExactAnswers exact_answers(const ScatterNormalize& op) {
  const auto incoming = std::make_shared<const Incoming>(op.destination, op.edges, op.nodes);
  const auto answers = std::make_shared<ExactScatter>(op);
  return [=, row = op.dim * op.heads](Element element) {
    return answers->of(element, incoming->edges_of(element.index / row));
  };
}

std::vector<BoundTerm> explain(const ScatterNormalize& op, Element element) {
  check(op);
  const std::size_t d = static_cast<std::size_t>(element.index % op.dim);
  const std::int64_t head = element.index / op.dim % op.heads;
  const std::int64_t node = element.index / op.dim / op.heads;
  const std::vector<std::int64_t> edges = incoming_edges(op.destination, op.edges, node);
  if (edges.empty()) return {{"no incoming edge: +0", "[B6]", 0}};
  Scatter scatter(op);
  scatter.head(edges, head);
  const Answer given = scatter.answer(edges, head, d);
  if (!std::isfinite(given.bound)) {
    return {{"overflow, or a denominator that may be zero", "[B6]", given.bound}};
  }
  return {{"numerator sum", "[B2]", given.numerator * kInflation},
          {"denominator sum", "[B6]", given.denominator * kInflation},
          {"division", "[B7]", given.division * kInflation}};
}

}  // namespace halfulp::reference
