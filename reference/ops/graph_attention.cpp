// Graph attention in double with certified errors, node by node: the edges of a node are scored
// once, its weights kept, and the values read twice (sums, then their spread about the mean).
#include "reference/ops/graph_attention.hpp"

#include <algorithm>
#include <cmath>

#include "reference/ops/clones.hpp"
#include "reference/ops/graph_attention_parts.hpp"
#include "reference/require.hpp"

namespace halfulp::reference {
namespace {

void check(const GraphAttention& op) {
  HALFULP_REQUIRE(op.nodes >= 0 && op.edges >= 0 && op.heads >= 0 && op.dim >= 0,
                  "sizes are not negative");
  HALFULP_REQUIRE(op.epsilon > 0, "epsilon is positive");
}

HALFULP_CLONES
void add_row(double weight, const float* v, std::size_t dim, double* __restrict sum,
             double* __restrict magnitude) {
  for (std::size_t d = 0; d < dim; ++d) {
    const double x = weight * static_cast<double>(v[d]);
    sum[d] += x;
    magnitude[d] += std::abs(x);
  }
}

HALFULP_CLONES
void add_spread_row(double moved, const float* v, std::size_t dim, const double* __restrict mean,
                    double* __restrict spread) {
  for (std::size_t d = 0; d < dim; ++d) {
    spread[d] += moved * std::abs(static_cast<double>(v[d]) - mean[d]);
  }
}

// The sums over the in-edges of one node and head, for every channel.
class Sums {
 public:
  Sums(const GraphAttention& op, std::int64_t dim)
      : op_(op),
        v_(op.v, dim),
        size_(static_cast<std::size_t>(dim)),
        sum(size_),
        magnitude(size_),
        mean(size_),
        spread(size_),
        quantum(size_),
        exact(size_) {}

  void add(std::span<const std::int64_t> edges, std::span<const Weight> weights,
           std::int64_t head) {
    std::fill(sum.begin(), sum.end(), 0.0);
    std::fill(magnitude.begin(), magnitude.end(), 0.0);
    for (std::size_t j = 0; j < edges.size(); ++j) {
      const float* const v = v_.row(op_.source[edges[j]], head);
      add_row(weights[j].value, v, size_, sum.data(), magnitude.data());
    }
  }

  void add_spread(std::span<const std::int64_t> edges, std::span<const Weight> weights,
                  std::int64_t head, double denominator, bool exp_only = false) {
    std::fill(spread.begin(), spread.end(), 0.0);
    for (std::size_t d = 0; d < size_; ++d) mean[d] = sum[d] / denominator;
    for (std::size_t j = 0; j < edges.size(); ++j) {
      const double error = exp_only ? weights[j].error_of_exp : weights[j].error;
      if (error == 0) continue;
      const float* const v = v_.row(op_.source[edges[j]], head);
      add_spread_row(weights[j].value * error, v, size_, mean.data(), spread.data());
    }
  }

  // [B4] For weights of 1: the channels whose sum no order rounds.
  void find_exact(std::span<const std::int64_t> edges, std::int64_t head, double least) {
    for (std::size_t d = 0; d < size_; ++d) {
      const double largest = (magnitude[d] + std::abs(sum[d])) / 2;
      exact[d] = largest < 0x1p126;
      quantum[d] = exact[d] ? halfulp::reference::quantum(largest, 24, least) : 1;
    }
    for (const std::int64_t edge : edges) {
      const float* const v = v_.row(op_.source[edge], head);
      for (std::size_t d = 0; d < size_; ++d) exact[d] &= is_multiple(v[d], quantum[d]);
    }
  }
  void none_exact() { std::fill(exact.begin(), exact.end(), 0); }

  Channel channel(std::size_t d) const { return {sum[d], magnitude[d], spread[d], exact[d] != 0}; }

  std::vector<double> column(std::span<const std::int64_t> edges, std::int64_t head,
                             std::size_t d) {
    std::vector<double> v;
    for (const std::int64_t edge : edges) v.push_back(v_.row(op_.source[edge], head)[d]);
    return v;
  }

 private:
  const GraphAttention& op_;
  FloatRows v_;
  std::size_t size_;

 public:
  std::vector<double> sum, magnitude, mean, spread, quantum;
  std::vector<char> exact;
};

// Buffers for the rows of one edge or node, all heads.
struct RowBuffer {
  explicit RowBuffer(std::size_t size) : value(size), error(size), bound(size) {}
  std::vector<double> value, error, bound;
  Rows rows(int output, std::int64_t first) const { return {output, first, value, error, bound}; }
};

class Walk {
 public:
  explicit Walk(const GraphAttention& op)
      : op_(op),
        heads_(static_cast<std::size_t>(op.heads)),
        dim_(static_cast<std::size_t>(op.dim)),
        scores_(op),
        sums_(op, op.dim),
        division_(division_error(op.arithmetic)),
        q_rows_(op.q, op.dim),
        q_(heads_ * dim_),
        sum_error_(dim_),
        edge_row_(heads_ * dim_),
        node_row_(heads_ * dim_) {}

  void node(std::int64_t node, std::span<const std::int64_t> edges, const Sink& sink) {
    score_edges(node, edges, sink);
    for (std::size_t h = 0; h < heads_; ++h) head(h, edges);
    Rows rows = node_row_.rows(0, node * op_.heads * op_.dim);
    rows.positive_zero = edges.empty();
    sink(rows);
  }

  // Weights of one head, after score_edges.
  std::span<const Weight> weights(std::size_t head, std::size_t degree) const {
    return std::span(weights_).subspan(head * degree, degree);
  }

  void score_edges(std::int64_t node, std::span<const std::int64_t> edges, const Sink& sink) {
    for (std::size_t h = 0; h < heads_; ++h) {
      const float* q = q_rows_.row(node, static_cast<std::int64_t>(h));
      std::copy(q, q + dim_, q_.begin() + static_cast<std::ptrdiff_t>(h * dim_));
    }
    weights_.resize(std::max(weights_.size(), heads_ * edges.size()));
    for (std::size_t j = 0; j < edges.size(); ++j) {
      for (std::size_t h = 0; h < heads_; ++h) {
        const std::size_t at = h * dim_;
        const ScoreRow row{edge_row_.value.data() + at, edge_row_.error.data() + at,
                           edge_row_.bound.data() + at, sum_error_.data()};
        weights_[h * edges.size() + j] =
            scores_.weigh(edges[j], static_cast<std::int64_t>(h), q_.data() + at, row);
      }
      sink(edge_row_.rows(1, edges[j] * op_.heads * op_.dim));
    }
  }

  Sums& sums() { return sums_; }

  // Sums of one head, ready for answer_of.
  Mean sum_head(std::size_t h, std::span<const std::int64_t> edges) {
    const std::int64_t head = static_cast<std::int64_t>(h);
    const Mean mean = mean_of(op_, weights(h, edges.size()));
    sums_.add(edges, mean.weights, head);
    sums_.add_spread(edges, mean.weights, head, mean.denominator);
    if (mean.weights_exact && !edges.empty()) {
      sums_.find_exact(edges, head, rounding_model(op_.arithmetic).quantum_least);
    } else {
      sums_.none_exact();
    }
    return mean;
  }

  Answer answer(const Mean& mean, std::size_t h, std::span<const std::int64_t> edges,
                std::size_t d) {
    if (edges.empty()) return {};  // +0, exactly
    if (mean.nan || mean.unbounded || std::isfinite(sums_.sum[d])) {
      return answer_of(mean, division_, sums_.channel(d));
    }
    return answer_of_class(mean, sums_.column(edges, static_cast<std::int64_t>(h), d));
  }

 private:
  void head(std::size_t h, std::span<const std::int64_t> edges) {
    const Mean mean = sum_head(h, edges);
    for (std::size_t d = 0; d < dim_; ++d) {
      const Answer given = answer(mean, h, edges, d);
      node_row_.value[h * dim_ + d] = given.value;
      node_row_.error[h * dim_ + d] = given.error;
      node_row_.bound[h * dim_ + d] = given.bound;
    }
  }

  const GraphAttention& op_;
  std::size_t heads_, dim_;
  EdgeScores scores_;
  Sums sums_;
  DivisionError division_;
  FloatRows q_rows_;
  std::vector<float> q_;
  std::vector<double> sum_error_;
  std::vector<Weight> weights_;  // (heads, in-degree)
  RowBuffer edge_row_, node_row_;
};

std::vector<BoundTerm> explain_score(const GraphAttention& op, Element element) {
  const std::int64_t d = element.index % op.dim;
  const std::int64_t head = element.index / op.dim % op.heads;
  const std::int64_t edge = element.index / op.dim / op.heads;
  FloatRows q_rows(op.q, op.dim);
  const std::size_t size = static_cast<std::size_t>(op.dim);
  RowBuffer buffer(size);
  std::vector<double> sum_error(size);
  const ScoreRow row{buffer.value.data(), buffer.error.data(), buffer.bound.data(),
                     sum_error.data()};
  EdgeScores scores(op);
  (void)scores.weigh(edge, head, q_rows.row(op.destination[edge], head), row);
  const std::size_t at = static_cast<std::size_t>(d);
  const double bound = buffer.bound[at];
  if (!std::isfinite(bound)) return {{"may be of another class", "[B13]", bound}};
  const bool last = op.arithmetic.output == op.arithmetic.compute;
  const double e = std::abs(op.e.at(edge, head, d));
  const double rounding =
      last ? 0 : std::min(bound, unit_roundoff(op.arithmetic.compute) * std::abs(row.value[at]));
  if (e == 0 || bound == 0) return {{"exact", "[B9]", bound}};
  return {{"scaled product, carried by e", "[B9]", bound - rounding},
          {"rounding of t * e", "[B9]", rounding}};
}

std::vector<BoundTerm> explain_mean(const GraphAttention& op, Element element) {
  const std::size_t d = static_cast<std::size_t>(element.index % op.dim);
  const std::size_t h = static_cast<std::size_t>(element.index / op.dim % op.heads);
  const std::int64_t head = static_cast<std::int64_t>(h);
  const std::int64_t node = element.index / op.dim / op.heads;
  const std::vector<std::int64_t> edges = incoming_edges(op.destination, op.edges, node);
  if (edges.empty()) return {{"no incoming edge: +0", "[B12]", 0}};
  Walk walk(op);
  walk.score_edges(node, edges, [](const Rows&) {});
  const Mean mean = walk.sum_head(h, edges);
  const Answer answer = walk.answer(mean, h, edges, d);
  if (!std::isfinite(answer.bound)) {
    return {{mean.unbounded ? "weights unknown" : "sums may overflow", "[B13]", answer.bound}};
  }
  if (!std::isfinite(answer.value)) return {{"class decided", "[B13]", 0}};
  const Channel channel = walk.sums().channel(d);
  walk.sums().add_spread(edges, mean.weights, head, mean.denominator, true);
  const double of_exp = walk.sums().spread[d];
  const double scale = kInflation / mean.denominator_least;
  const SumError& model = mean.numerator;
  const double numerator = channel.sum_exact || channel.magnitude == 0
                               ? 0
                               : model.of_magnitude * channel.magnitude +
                                     model.of_result * std::abs(channel.sum) + model.constant;
  std::vector<BoundTerm> terms = {
      {"logit error", "[B11]", (channel.spread - of_exp) * scale},
      {"exponential", "[B8]", of_exp * scale},
      {"products and numerator sum", "[B5]", numerator * scale},
      {"denominator sum", "[B12]", std::abs(answer.value) * mean.denominator_error * scale}};
  double rest = answer.bound;
  for (const BoundTerm& term : terms) rest -= term.amount;
  terms.push_back({"division", "[B7]", std::max(0.0, rest)});
  return terms;
}

}  // namespace

void evaluate(const GraphAttention& op, const Sink& sink) {
  check(op);
  if (op.heads == 0 || op.dim == 0) return;
  const Incoming incoming(op.destination, op.edges, op.nodes);
  Walk walk(op);
  for (std::int64_t node = 0; node < op.nodes; ++node) {
    walk.node(node, incoming.edges_of(node), sink);
  }
}

std::vector<BoundTerm> explain(const GraphAttention& op, Element element) {
  check(op);
  return element.output == 1 ? explain_score(op, element) : explain_mean(op, element);
}

}  // namespace halfulp::reference
