// Models of tensor-core arithmetic.
#include "gpu/simt/tensor_core.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace halfulp::gpu::simt {
namespace {

struct Layout {
  int exponent_bits, fraction_bits, bias;
};

Layout layout(FactorFormat format) {
  if (format == FactorFormat::f16) return {5, 10, 15};
  return {8, fraction_bits(format), 127};
}

// A finite float as Factor with 23 fraction bits.
Factor decode_float(float c) {
  const auto bits = std::bit_cast<std::uint32_t>(c);
  const int stored = static_cast<int>(bits >> 23 & 0xff);
  auto significand = static_cast<std::int32_t>(bits & 0x7fffff);
  if (stored > 0) significand |= 0x800000;
  return {std::signbit(c) ? -significand : significand, std::max(stored, 1) - 127, false, c};
}

// term * 2^shift, cut toward zero.
std::int64_t aligned(std::int64_t term, int shift) {
  if (term == 0) return 0;
  if (shift >= 0) return term << shift;
  if (shift <= -63) return 0;
  return term / (std::int64_t{1} << -shift);
}

// sum * 2^exponent as float, cut toward zero; what overflows becomes infinity.
float truncated(std::int64_t sum, int exponent) {
  if (sum == 0) return 0.0f;
  const auto magnitude = static_cast<std::uint64_t>(sum < 0 ? -sum : sum);
  const int width = static_cast<int>(std::bit_width(magnitude));
  // Drop what lies below 24 bits, and below the smallest subnormal.
  const int drop = std::max({width - 24, -149 - exponent, 0});
  if (drop >= 64) return sum < 0 ? -0.0f : 0.0f;
  const std::uint64_t kept = magnitude >> drop;
  const float value = std::ldexp(static_cast<float>(kept), exponent + drop);
  return sum < 0 ? -value : value;
}

float truncating_step(const TensorCore& core, FactorFormat format, float c,
                      std::span<const Factor> a, std::span<const Factor> b) {
  const Factor addend = decode_float(c);
  int largest = std::numeric_limits<int>::min();
  if (addend.significand != 0) largest = addend.exponent;
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (a[k].significand == 0 || b[k].significand == 0) continue;
    largest = std::max(largest, a[k].exponent + b[k].exponent);
  }
  if (largest == std::numeric_limits<int>::min()) return 0.0f;
  const int unit = largest - core.fraction_bits;  // everything is a multiple of 2^unit
  std::int64_t sum = aligned(addend.significand, addend.exponent - 23 - unit);
  for (std::size_t k = 0; k < a.size(); ++k) {
    const std::int64_t product = std::int64_t{a[k].significand} * b[k].significand;
    if (product == 0) continue;
    const int exponent = a[k].exponent + b[k].exponent - 2 * fraction_bits(format);
    sum += aligned(product, exponent - unit);
  }
  return truncated(sum, unit);
}

float canonical(double value) {
  if (std::isnan(value)) return std::bit_cast<float>(0x7fffffffu);
  return static_cast<float>(value);
}

}  // namespace

Factor decode(FactorFormat format, std::uint32_t bits) {
  const Layout f = layout(format);
  if (format == FactorFormat::tf32) bits >>= 13;
  const bool negative = (bits >> (f.exponent_bits + f.fraction_bits) & 1) != 0;
  const std::uint32_t stored = bits >> f.fraction_bits & ((1u << f.exponent_bits) - 1);
  const std::uint32_t fraction = bits & ((1u << f.fraction_bits) - 1);
  Factor result;
  if (stored == (1u << f.exponent_bits) - 1) {
    result.special = true;
    const double magnitude = fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                                           : std::numeric_limits<double>::infinity();
    result.value = negative ? -magnitude : magnitude;
    return result;
  }
  const auto significand =
      static_cast<std::int32_t>(stored > 0 ? fraction | 1u << f.fraction_bits : fraction);
  result.significand = negative ? -significand : significand;
  result.exponent = std::max(static_cast<int>(stored), 1) - f.bias;
  result.value = std::ldexp(result.significand, result.exponent - f.fraction_bits);
  return result;
}

float multiply_add(const TensorCore& core, FactorFormat format, float c, std::span<const Factor> a,
                   std::span<const Factor> b) {
  bool special = !std::isfinite(c);
  double sum = c;
  for (std::size_t k = 0; k < a.size(); ++k) {
    special = special || a[k].special || b[k].special;
    sum += a[k].value * b[k].value;
  }
  if (special || core.fraction_bits == 0) return canonical(sum);
  const auto block =
      static_cast<std::size_t>(format == FactorFormat::tf32 ? core.block_tf32 : core.block_16_bit);
  for (std::size_t k = 0; k < a.size(); k += block) {
    const std::size_t n = std::min(block, a.size() - k);
    c = truncating_step(core, format, c, a.subspan(k, n), b.subspan(k, n));
    if (!std::isfinite(c)) return c;
  }
  return c;
}

}  // namespace halfulp::gpu::simt
