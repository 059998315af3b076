#include "reference/ops/vector_add.hpp"

#include <algorithm>
#include <cmath>

#include "reference/multiprecision.hpp"
#include "reference/require.hpp"
#include "reference/rounding_error.hpp"

namespace halfulp::reference {
namespace {

constexpr std::int64_t kChunk = 1024;

struct Sum {
  double value = 0;
  double error = 0;
  double bound = 0;
};

// [B3] The rounding of the only addition is the output's own where the formats are the same.
Sum add(const Arithmetic& arithmetic, const RoundingModel& rounding, double x, double y) {
  Sum sum;
  sum.value = x + y;
  if (!std::isfinite(sum.value)) return sum;
  // What the double addition itself lost, exactly (two-sum).
  const double y_used = sum.value - x;
  const double lost = (x - (sum.value - y_used)) + (y - y_used);
  sum.error = std::abs(lost);
  if (arithmetic.output != arithmetic.compute) {
    const double single = static_cast<double>(static_cast<float>(sum.value));
    const bool exact = lost == 0 && single == sum.value;
    sum.bound = exact ? 0 : rounding.unit * std::abs(sum.value) * kInflation;
  }
  if (arithmetic.flush_to_zero &&
      std::min({std::abs(x), std::abs(y), std::abs(sum.value)}) < rounding.smallest_normal) {
    sum.bound += 3 * rounding.smallest_normal;
  }
  return sum;
}

}  // namespace

void evaluate(const VectorAdd& op, const Sink& sink) {
  HALFULP_REQUIRE(op.x.format != Format::fp64 && op.y.format != Format::fp64,
                  "inputs must be exact in fp32");
  const RoundingModel rounding = rounding_model(op.arithmetic);
  std::vector<double> x(kChunk), y(kChunk), value(kChunk), error(kChunk), bound(kChunk);
  for (std::int64_t first = 0; first < op.n; first += kChunk) {
    const std::size_t count = static_cast<std::size_t>(std::min(kChunk, op.n - first));
    op.x.row(first, 0, 0, 0, static_cast<std::int64_t>(count), x.data());
    op.y.row(first, 0, 0, 0, static_cast<std::int64_t>(count), y.data());
    for (std::size_t i = 0; i < count; ++i) {
      const Sum sum = add(op.arithmetic, rounding, x[i], y[i]);
      value[i] = sum.value;
      error[i] = sum.error;
      bound[i] = sum.bound;
    }
    sink({0, first, std::span(value).first(count), std::span(error).first(count),
          std::span(bound).first(count)});
  }
}

Enclosure exact(const VectorAdd& op, Element element) {
  const double x = op.x.at(element.index);
  const double y = op.y.at(element.index);
  if (!std::isfinite(x + y)) return {x + y, x + y};
  // Two fp32 numbers may lie too far apart for 50 digits; the enclosure is then two adjacent
  // doubles.
  return enclosure(Interval(x) + Interval(y));
}

ExactAnswers exact_answers(const VectorAdd& op) {
  return [op](Element element) { return exact(op, element); };
}

std::vector<BoundTerm> explain(const VectorAdd& op, Element element) {
  const double x = op.x.at(element.index);
  const double y = op.y.at(element.index);
  const RoundingModel rounding = rounding_model(op.arithmetic);
  Arithmetic kept = op.arithmetic;
  kept.flush_to_zero = false;
  const double all = add(op.arithmetic, rounding, x, y).bound;
  const double addition = add(kept, rounding, x, y).bound;
  return {{"addition in the compute format", "[B3]", addition},
          {"flush to zero", "[B3]", all - addition}};
}

}  // namespace halfulp::reference
