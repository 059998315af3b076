// Single elements of graph attention: sums of integers, then intervals of 50 digits. The weights of
// a node and head are formed once for all of its channels.
#include <cmath>
#include <memory>

#include "reference/exact_sum.hpp"
#include "reference/multiprecision.hpp"
#include "reference/ops/graph_attention_parts.hpp"
#include "reference/require.hpp"

namespace halfulp::reference {
namespace {

Interval not_a_number() { return Interval(std::nan("")); }

// sqrt(dim), which k q is divided by.
Interval root_of(const GraphAttention& op) {
  return square_root(Interval(static_cast<double>(op.dim)));
}

Interval clip(const Interval& x, ClampNan policy) {
  if (!x.is_nan()) return clamp(x, -kClip, kClip);
  if (policy == ClampNan::to_low) return Interval(-kClip);
  if (policy == ClampNan::to_high) return Interval(kClip);
  return not_a_number();
}

// Whether the clip acts on k q / sqrt(dim): k q has at most 48 bits, and the sign of the fused
// difference is right.
bool clipped(double product, std::int64_t dim) {
  return std::fma(product, product, -kClip * kClip * static_cast<double>(dim)) >= 0;
}

Interval score(const Interval& root, std::int64_t dim, ClampNan policy, double k, double q,
               double e) {
  const double product = k * q;  // exact: 48 bits
  if (!std::isfinite(product) || !std::isfinite(e)) {
    return clip(Interval(product) / root, policy) * Interval(e);
  }
  if (clipped(product, dim)) return Interval(std::copysign(kClip, product) * e);
  // Dividing last keeps what is a double exact, such as 1 * 1 / 3 * 3.
  return Interval(product) * Interval(e) / root;
}

// The clipped sum of scores of one edge and head.
class ExactLogit {
 public:
  explicit ExactLogit(const GraphAttention& op)
      : op_(op),
        root_(root_of(op)),
        k_(static_cast<std::size_t>(op.dim)),
        q_(k_.size()),
        e_(k_.size()),
        sign_(k_.size()) {}

  Interval of(std::int64_t edge, std::int64_t head) {
    op_.k.row(op_.source[edge], head, 0, 2, op_.dim, k_.data());
    op_.q.row(op_.destination[edge], head, 0, 2, op_.dim, q_.data());
    op_.e.row(edge, head, 0, 2, op_.dim, e_.data());
    const ClampNan policy = op_.arithmetic.clamp_nan;
    if (!finite()) {
      Interval sum(0.0);
      for (std::size_t d = 0; d < k_.size(); ++d) {
        sum = sum + score(root_, op_.dim, policy, k_[d], q_[d], e_[d]);
      }
      return clip(sum, policy);
    }
    // sum s = (sum of k q e where the clip does not act) / sqrt(dim) + 5 * (sum of +-e where it
    // does).
    bool any = false;
    for (std::size_t d = 0; d < k_.size(); ++d) {
      const double product = k_[d] * q_[d];
      const bool at_clip = clipped(product, op_.dim);
      k_[d] = at_clip ? 0 : product;
      sign_[d] = at_clip ? std::copysign(kClip, product) : 0;
      any |= at_clip;
    }
    Interval sum = total(k_) / root_;
    if (any) sum = sum + total(sign_);
    return clip(sum, policy);
  }

  const Interval& root() const { return root_; }

 private:
  bool finite() const {
    bool all = true;
    for (std::size_t d = 0; d < k_.size(); ++d) {
      all &= std::isfinite(k_[d]) && std::isfinite(q_[d]) && std::isfinite(e_[d]);
    }
    return all;
  }

  Interval total(const std::vector<double>& factors) const {
    ExactSum sum;
    sum.add_products(factors.data(), e_.data(), op_.dim);
    return Interval(sum.dyadic());
  }

  const GraphAttention& op_;
  Interval root_;
  std::vector<double> k_, q_, e_, sign_;
};

class ExactAttention {
 public:
  explicit ExactAttention(const GraphAttention& op) : op_(op), logit_(op_) {}
  ExactAttention(const ExactAttention&) = delete;
  ExactAttention& operator=(const ExactAttention&) = delete;

  Enclosure score_of(Element element) const {
    const std::int64_t d = element.index % op_.dim;
    const std::int64_t head = element.index / op_.dim % op_.heads;
    const std::int64_t edge = element.index / op_.dim / op_.heads;
    return enclosure(score(logit_.root(), op_.dim, op_.arithmetic.clamp_nan,
                           op_.k.at(op_.source[edge], head, d),
                           op_.q.at(op_.destination[edge], head, d), op_.e.at(edge, head, d)));
  }

  // `edges` end at the element's node.
  Enclosure mean_of(Element element, std::span<const std::int64_t> edges) {
    const std::int64_t d = element.index % op_.dim;
    const std::int64_t row = element.index / op_.dim;
    const std::int64_t head = row % op_.heads;
    if (row != row_) weigh(edges, head);
    row_ = row;
    Interval numerator(0.0);
    for (std::size_t j = 0; j < edges.size(); ++j) {
      add_product(numerator, weights_[j], op_.v.at(op_.source[edges[j]], head, d));
    }
    if (numerator.is_nan() || denominator_.is_nan()) return enclosure(not_a_number());
    return enclosure(numerator / denominator_);
  }

 private:
  void weigh(std::span<const std::int64_t> edges, std::int64_t head) {
    weights_.clear();
    denominator_ = Interval(op_.epsilon);
    for (const std::int64_t edge : edges) {
      weights_.push_back(exponential(logit_.of(edge, head)));
      denominator_ = denominator_ + weights_.back();
    }
  }

  GraphAttention op_;
  ExactLogit logit_;
  std::int64_t row_ = -1;  // node * heads + head of what follows
  std::vector<Interval> weights_;
  Interval denominator_;
};

}  // namespace

Enclosure logit_exact(const GraphAttention& op, std::int64_t edge, std::int64_t head) {
  return enclosure(ExactLogit(op).of(edge, head));
}

Enclosure exact(const GraphAttention& op, Element element) {
  HALFULP_REQUIRE(element.output == 0 || element.output == 1, "graph_attention has two outputs");
  ExactAttention answers(op);
  if (element.output == 1) return answers.score_of(element);
  const std::int64_t node = element.index / op.dim / op.heads;
  return answers.mean_of(element, incoming_edges(op.destination, op.edges, node));
}

ExactAnswers exact_answers(const GraphAttention& op) {
  const auto incoming = std::make_shared<const Incoming>(op.destination, op.edges, op.nodes);
  const auto answers = std::make_shared<ExactAttention>(op);
  return [=, row = op.dim * op.heads](Element element) {
    HALFULP_REQUIRE(element.output == 0 || element.output == 1, "graph_attention has two outputs");
    if (element.output == 1) return answers->score_of(element);
    return answers->mean_of(element, incoming->edges_of(element.index / row));
  };
}

}  // namespace halfulp::reference
