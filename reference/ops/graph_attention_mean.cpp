// The weighted mean of graph attention: value, error and bound of one output, [B12] and [B13].
#include <algorithm>
#include <cmath>

#include "reference/ops/graph_attention_parts.hpp"

namespace halfulp::reference {

Mean mean_of(const GraphAttention& op, std::span<const Weight> weights) {
  const RoundingModel rounding = rounding_model(op.arithmetic);
  Mean mean;
  mean.weights = weights;
  mean.largest = rounding.largest;
  double total = 0, moved = 0;
  for (const Weight& weight : weights) {
    mean.unbounded |= weight.certainty == Certainty::unbounded;
    mean.nan |= std::isnan(weight.value);
    mean.weights_exact &= weight.error == 0;
    total += weight.value;
    moved += weight.value * weight.error;
    mean.weight_error_largest = std::max(mean.weight_error_largest, weight.error);
  }
  const double n = static_cast<double>(weights.size());
  mean.denominator = total + op.epsilon;
  // n + 1 leaves, epsilon among them wherever the kernel puts it.
  const SumError tree = sum_error(rounding, n);
  mean.denominator_error_any =
      (tree.of_magnitude + tree.of_result) * (mean.denominator + moved) + tree.constant;
  mean.denominator_error = mean.denominator_error_any;
  if (mean.weights_exact && n <= 0x1p23 && op.epsilon >= 0x1p-100 && op.epsilon <= 1) {
    mean.denominator_error = std::min(mean.denominator_error, op.epsilon);  // [B4]
    const double q = quantum_with_epsilon(rounding, total, op.epsilon);
    mean.denominator_exact = q > 0 && is_multiple(1, q);
    if (mean.denominator_exact) mean.denominator_error = 0;
  }
  mean.denominator_least = mean.denominator - moved - mean.denominator_error;
  const double flushed_values = op.arithmetic.flush_to_zero ? total + moved : 0;
  mean.numerator =
      product_sum_error(rounding, n - 1, mean.weight_error_largest,
                        n * rounding.underflow + flushed_values * rounding.smallest_normal);
  if (!(mean.denominator_least > 0)) mean.unbounded = true;
  return mean;
}

Answer answer_of(const Mean& mean, const DivisionError& division, const Channel& channel) {
  if (mean.nan) return {std::nan(""), 0, 0};
  if (mean.unbounded) return {0, 0, kUnbounded};
  Answer answer;
  answer.value = channel.sum / mean.denominator;
  if (channel.magnitude == 0) return answer;  // every v is zero, and so is every sum
  if (channel.sum_exact && mean.denominator_exact &&
      divides_exactly(division, channel.sum, mean.denominator, answer.value)) {
    return answer;
  }
  const double size = std::abs(answer.value);
  const double sum_size = std::abs(channel.sum);
  const SumError& model = mean.numerator;
  const double arithmetic =
      model.of_magnitude * channel.magnitude + model.of_result * sum_size + model.constant;
  const double largest = (1 + mean.weight_error_largest) * (channel.magnitude + sum_size) / 2;
  if (largest + arithmetic >= mean.largest) return {answer.value, 0, kUnbounded};
  const double numerator = channel.sum_exact ? 0 : arithmetic;
  const double before =
      (channel.spread + numerator + size * mean.denominator_error) / mean.denominator_least;
  answer.bound = (before + division_amount(division, size + before)) * kInflation;
  const double in_double =
      channel.spread + numerator + (channel.sum_exact ? 0 : size * mean.denominator_error_any);
  answer.error = in_double / mean.denominator_least * kErrorOfDouble + size * 0x1p-51;
  return answer;
}

Answer answer_of_class(const Mean& mean, std::span<const double> v) {
  if (mean.nan) return {std::nan(""), 0, 0};
  if (mean.unbounded) return {0, 0, kUnbounded};
  bool nan = false, positive = false, negative = false;
  double magnitude = 0;
  for (std::size_t j = 0; j < v.size(); ++j) {
    if (std::isfinite(v[j])) {
      magnitude += mean.weights[j].value * (1 + mean.weights[j].error) * std::abs(v[j]);
    } else {
      nan |= std::isnan(v[j]);
      positive |= v[j] > 0;
      negative |= v[j] < 0;
    }
  }
  if (nan || (positive && negative)) return {std::nan(""), 0, 0};
  // Finite products that overflow to the other infinity would make it a NaN.
  if (magnitude >= mean.largest / 2) return {0, 0, kUnbounded};
  return {positive ? kUnbounded : -kUnbounded, 0, 0};
}

}  // namespace halfulp::reference
