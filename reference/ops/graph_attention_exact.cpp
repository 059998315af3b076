// One element of graph attention in intervals of 50 digits.
#include <cmath>

#include "reference/multiprecision.hpp"
#include "reference/ops/graph_attention_parts.hpp"
#include "reference/require.hpp"

namespace halfulp::reference {
namespace {

Interval not_a_number() { return Interval(std::nan("")); }

Interval clip(const Interval& x, ClampNan policy) {
  if (!x.is_nan()) return clamp(x, -kClip, kClip);
  if (policy == ClampNan::to_low) return Interval(-kClip);
  if (policy == ClampNan::to_high) return Interval(kClip);
  return not_a_number();
}

Interval score(const GraphAttention& op, const Interval& root, std::int64_t edge, std::int64_t head,
               std::int64_t d) {
  const double k = op.k.at(op.source[edge], head, d);
  const double q = op.q.at(op.destination[edge], head, d);
  const double e = op.e.at(edge, head, d);
  const Interval product = Interval(k) * Interval(q);
  const Interval t = product / root;
  // Dividing last keeps what is a double exact, such as 1 * 1 / 3 * 3.
  if (t.lo > -kClip && t.hi < kClip) return product * Interval(e) / root;
  return clip(t, op.arithmetic.clamp_nan) * Interval(e);
}

Interval logit(const GraphAttention& op, std::int64_t edge, std::int64_t head) {
  const Interval root = square_root(Interval(static_cast<double>(op.dim)));
  Interval sum(0.0);
  for (std::int64_t d = 0; d < op.dim; ++d) sum = sum + score(op, root, edge, head, d);
  return clip(sum, op.arithmetic.clamp_nan);
}

}  // namespace

Enclosure logit_exact(const GraphAttention& op, std::int64_t edge, std::int64_t head) {
  return enclosure(logit(op, edge, head));
}

Enclosure exact(const GraphAttention& op, Element element) {
  const std::int64_t d = element.index % op.dim;
  const std::int64_t head = element.index / op.dim % op.heads;
  const std::int64_t row = element.index / op.dim / op.heads;
  if (element.output == 1) {
    return enclosure(score(op, square_root(Interval(static_cast<double>(op.dim))), row, head, d));
  }
  HALFULP_REQUIRE(element.output == 0, "graph_attention has two outputs");
  Interval numerator(0.0), denominator(op.epsilon);
  const std::vector<std::int64_t> edges = incoming_edges(op.destination, op.edges, row);
  for (const std::int64_t edge : edges) {
    const Interval weight = exponential(logit(op, edge, head));
    numerator = numerator + weight * Interval(op.v.at(op.source[edge], head, d));
    denominator = denominator + weight;
  }
  if (numerator.is_nan() || denominator.is_nan()) return enclosure(not_a_number());
  return enclosure(numerator / denominator);
}

}  // namespace halfulp::reference
