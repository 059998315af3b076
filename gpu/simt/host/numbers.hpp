// CUDA's 16-bit storage types for the host build: bits and conversions, no arithmetic.
//
// Conversions from float round once, to nearest even, by integers; they equal CUDA's bit for bit,
// NaN included (0x7fff from float; a half NaN becomes 0x7fffffff; a bfloat16 NaN keeps its bits).
// There is no implicit conversion, so that code which would round differently here does not
// compile.
#pragma once
#include <bit>
#include <cstdint>

#include "gpu/simt/host/copy.hpp"
#include "gpu/simt/host/vectors.hpp"

struct alignas(2) __half {
  std::uint16_t bits;
};
struct alignas(2) __nv_bfloat16 {
  std::uint16_t bits;
};
struct alignas(4) __half2 {
  __half x, y;
};
struct alignas(4) __nv_bfloat162 {
  __nv_bfloat16 x, y;
};
using half = __half;
using half2 = __half2;
using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;

inline namespace HALFULP_SIMT_COPY {

constexpr __half __ushort_as_half(unsigned short bits) { return {bits}; }
constexpr unsigned short __half_as_ushort(__half value) { return value.bits; }
constexpr __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) { return {bits}; }
constexpr unsigned short __bfloat16_as_ushort(__nv_bfloat16 value) { return value.bits; }

// `value` without its lowest `shift` bits (1 to 31), rounded to nearest even.
constexpr std::uint32_t halfulp_shift_rounded(std::uint32_t value, int shift) {
  const std::uint32_t odd = value >> shift & 1;
  return (value + (1u << (shift - 1)) - 1 + odd) >> shift;
}

constexpr __half __float2half_rn(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000;
  const std::uint32_t magnitude = bits & 0x7fffffff;
  const int exponent = static_cast<int>(magnitude >> 23);
  if (magnitude > 0x7f800000) return {0x7fff};
  std::uint32_t result = 0;
  if (magnitude >= 0x47800000) {  // 65536 and above, infinity
    result = 0x7c00;
  } else if (exponent >=
             113) {  // 2^-14 and above: rebias, a carry runs into the exponent as it should
    result = halfulp_shift_rounded(magnitude - (112u << 23), 13);
  } else if (exponent >= 102) {  // 2^-25 and above: multiples of 2^-24
    result = halfulp_shift_rounded((magnitude & 0x7fffff) | 0x800000, 126 - exponent);
  }
  return {static_cast<std::uint16_t>(sign | result)};
}
constexpr __half __float2half(float value) { return __float2half_rn(value); }

constexpr float __half2float(__half value) {
  const std::uint32_t sign = (value.bits & 0x8000u) << 16;
  const std::uint32_t exponent = value.bits >> 10 & 0x1f;
  const std::uint32_t fraction = value.bits & 0x3ffu;
  if (exponent == 0x1f) {
    return std::bit_cast<float>(fraction != 0 ? 0x7fffffffu : sign | 0x7f800000u);
  }
  if (exponent == 0) {  // fraction * 2^-24, exact in float
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
}

constexpr __nv_bfloat16 __float2bfloat16_rn(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return {0x7fff};
  return {static_cast<std::uint16_t>(halfulp_shift_rounded(bits, 16))};
}
constexpr __nv_bfloat16 __float2bfloat16(float value) { return __float2bfloat16_rn(value); }

constexpr float __bfloat162float(__nv_bfloat16 value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}

constexpr __half2 __halves2half2(__half low, __half high) { return {low, high}; }
constexpr __half __low2half(__half2 value) { return value.x; }
constexpr __half __high2half(__half2 value) { return value.y; }
constexpr float __low2float(__half2 value) { return __half2float(value.x); }
constexpr float __high2float(__half2 value) { return __half2float(value.y); }
constexpr float2 __half22float2(__half2 value) {
  return {__half2float(value.x), __half2float(value.y)};
}
constexpr __half2 __floats2half2_rn(float low, float high) {
  return {__float2half_rn(low), __float2half_rn(high)};
}
constexpr __half2 __float22half2_rn(float2 value) { return __floats2half2_rn(value.x, value.y); }

constexpr __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 low, __nv_bfloat16 high) {
  return {low, high};
}
constexpr float2 __bfloat1622float2(__nv_bfloat162 value) {
  return {__bfloat162float(value.x), __bfloat162float(value.y)};
}
constexpr __nv_bfloat162 __floats2bfloat162_rn(float low, float high) {
  return {__float2bfloat16_rn(low), __float2bfloat16_rn(high)};
}
constexpr __nv_bfloat162 __float22bfloat162_rn(float2 value) {
  return __floats2bfloat162_rn(value.x, value.y);
}

}  // namespace HALFULP_SIMT_COPY
