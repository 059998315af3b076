#include "reference/rounding_error.hpp"

#include <algorithm>
#include <cmath>

#include "reference/require.hpp"

namespace halfulp::reference {

RoundingModel rounding_model(const Arithmetic& arithmetic) {
  const Format format = arithmetic.compute;
  HALFULP_REQUIRE(format == Format::fp32, "graph-side operations compute in fp32");
  HALFULP_REQUIRE(arithmetic.input != Format::fp64, "inputs must be exact in fp32");
  return rounding_model(format, arithmetic.flush_to_zero, arithmetic.atomic_flush_to_zero);
}

RoundingModel rounding_model(Format format, bool flush, bool flush_additions) {
  RoundingModel rounding;
  rounding.unit = unit_roundoff(format);
  rounding.smallest_normal = std::ldexp(1.0, traits(format).exponent_min);
  rounding.largest = largest_finite(format);
  const bool flush_add = flush || flush_additions;
  rounding.underflow = flush ? rounding.smallest_normal : subnormal_spacing(format) / 2;
  rounding.underflow_add = flush_add ? rounding.smallest_normal : 0;
  rounding.quantum_least = flush_add ? rounding.smallest_normal : subnormal_spacing(format);
  return rounding;
}

double gamma(double n, double unit) {
  const double product = n * unit;
  return product < 1 ? product / (1 - product) : kUnbounded;
}

SumError sum_error(const RoundingModel& rounding, double additions) {
  const double flushed = (additions + 1) * rounding.underflow_add;
  if (additions <= 0) return {0, 0, flushed};
  if (additions * rounding.unit >= 1) return {kUnbounded, kUnbounded, 0};
  // The root loses u |sum|; every other node u W at most, and 2 W = sum |x| + |sum x|.
  const double root = rounding.unit / (1 - additions * rounding.unit);
  const double inner = (additions - 1) * root / 2;
  return {inner, inner + root, flushed};
}

SumError product_sum_error(const RoundingModel& rounding, double additions, double weight_error,
                           double underflow) {
  const double product = rounding.unit * (1 + weight_error);
  const double flushed = (additions + 1) * rounding.underflow_add;
  if (additions <= 0) return {product, 0, underflow + flushed};
  if (additions * rounding.unit >= 1) return {kUnbounded, kUnbounded, 0};
  const double root = rounding.unit / (1 - additions * rounding.unit);
  const double inner = (additions - 1) * root;
  SumError error;
  error.of_magnitude =
      product + root * (weight_error + product) + inner * ((1 + weight_error) / 2 + product);
  error.of_result = root + inner * (1 + weight_error) / 2;
  error.constant = underflow * (1 + additions * root) + flushed;
  return error;
}

double quantum(double magnitude, int bits, double least) {
  if (!(magnitude > 0)) return least;
  if (std::isinf(magnitude)) return kUnbounded;
  int exponent = 0;
  const double significand = std::frexp(magnitude, &exponent);
  return std::max(least, std::ldexp(1.0, exponent - bits - (significand == 0.5 ? 1 : 0)));
}

double quantum_with_epsilon(const RoundingModel& rounding, double largest, double epsilon) {
  if (!(largest + epsilon <= rounding.largest)) return 0;
  const double q = quantum(largest + epsilon, 24, rounding.quantum_least);
  return is_multiple(epsilon, q) ? q : 0;
}

DivisionError division_error(const Arithmetic& arithmetic) {
  const RoundingModel rounding = rounding_model(arithmetic);
  const bool last = arithmetic.output == arithmetic.compute;
  DivisionError error;
  error.relative = rounding.unit * std::max(0.0, arithmetic.division_roundings - (last ? 1 : 0));
  error.tiny = last && !arithmetic.flush_to_zero ? 0 : rounding.underflow;
  error.ieee = arithmetic.division_roundings <= 1;
  error.smallest = error.ieee ? 0 : rounding.smallest_normal;
  error.largest = error.ieee ? kUnbounded : 1 / rounding.smallest_normal;
  error.smallest_normal = rounding.smallest_normal;
  return error;
}

bool divides_exactly(const DivisionError& division, double above, double below, double quotient) {
  if (static_cast<double>(static_cast<float>(quotient)) != quotient) return false;
  if (std::abs(quotient) < division.smallest_normal || quotient * below != above) return false;
  int exponent = 0;
  return division.ieee || std::frexp(std::abs(below), &exponent) == 0.5;
}

}  // namespace halfulp::reference
