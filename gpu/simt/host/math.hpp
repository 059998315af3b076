// CUDA's arithmetic intrinsics for the host build. expf, fminf and the like are the C library's.
#pragma once
#include <math.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "gpu/simt/host/copy.hpp"

inline namespace HALFULP_SIMT_COPY {

// `rounded`, up to `ulps` away from it in a direction and distance that the argument's bits fix. An
// intrinsic that CUDA documents as inexact is as inexact here, so that a kernel that declares
// something better is found out without a GPU.
inline float documented_error(float rounded, int ulps, float argument) {
  if (!(fabsf(rounded) > 0.0f) || isinf(rounded)) return rounded;
  const unsigned mixed = (std::bit_cast<unsigned>(argument) * 2654435761u) >> 8;
  const int off = static_cast<int>(mixed % static_cast<unsigned>(2 * ulps + 1)) - ulps;
  const int bits = std::bit_cast<int>(rounded);
  // A neighbour of the least number is zero, one of the largest infinity; none is NaN.
  const int magnitude = std::clamp((bits & INT32_MAX) + off, 0, 0x7f800000);
  return copysignf(std::bit_cast<float>(magnitude), rounded);
}

}  // namespace HALFULP_SIMT_COPY

// 2 + floor(1.173 |x|) ulp, and exactly 1 at 0 [CUDA C++ Programming Guide, Intrinsic Functions;
// PTX ex2]. The C library declares __expf itself, so this one can sit in no namespace. Always
// inlined: it must not take the place of the library's symbol.
__attribute__((always_inline)) inline float __expf(float x) noexcept {
  if (!(fabsf(x) > 0.0f && fabsf(x) < 128.0f)) return expf(x);
  // The C library's expf is not correctly rounded: its error would come on top.
  const auto rounded = static_cast<float>(exp(static_cast<double>(x)));
  return documented_error(rounded, 2 + static_cast<int>(1.173f * fabsf(x)), x);
}

inline namespace HALFULP_SIMT_COPY {

// 2 ulp.
inline float rsqrtf(float x) {
  return documented_error(static_cast<float>(1.0 / sqrt(static_cast<double>(x))), 2, x);
}
// 2 ulp, and 0 for divisors above 2^126.
inline float __fdividef(float x, float y) {
  if (fabsf(y) > 0x1p126f && !isinf(y)) return isinf(x) ? NAN : copysignf(0.0f, x * y);
  return documented_error(x / y, 2, y);
}
inline float __fdiv_rn(float x, float y) { return x / y; }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline float __fsqrt_rn(float x) { return sqrtf(x); }
inline float __fadd_rn(float x, float y) { return x + y; }
inline float __fmul_rn(float x, float y) { return x * y; }
inline float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }

inline int __float_as_int(float x) { return std::bit_cast<int>(x); }
inline float __int_as_float(int x) { return std::bit_cast<float>(x); }
inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline int __popc(unsigned x) { return std::popcount(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __clz(int x) { return std::countl_zero(static_cast<unsigned>(x)); }

template <class A, class B>
constexpr std::common_type_t<A, B> min(A a, B b) {
  using T = std::common_type_t<A, B>;
  return static_cast<T>(b) < static_cast<T>(a) ? static_cast<T>(b) : static_cast<T>(a);
}
template <class A, class B>
constexpr std::common_type_t<A, B> max(A a, B b) {
  using T = std::common_type_t<A, B>;
  return static_cast<T>(a) < static_cast<T>(b) ? static_cast<T>(b) : static_cast<T>(a);
}
template <class T>
T __ldg(const T* address) {
  return *address;
}

}  // namespace HALFULP_SIMT_COPY

namespace halfulp::gpu::simt {
inline namespace HALFULP_SIMT_COPY {

// 2 ulp, exactly 1 at 0; arguments and results below the normal range are zero [PTX ISA,
// ex2.approx.ftz.f32].
inline float exp2_approx(float x) {
  if (fabsf(x) < 0x1p-126f) return 1.0f;
  const float y = documented_error(static_cast<float>(exp2(static_cast<double>(x))), 2, x);
  return y < 0x1p-126f ? 0.0f : y;
}

}  // namespace HALFULP_SIMT_COPY
}  // namespace halfulp::gpu::simt
