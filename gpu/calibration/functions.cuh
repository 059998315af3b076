// The elementary functions under calibration: what a kernel would call, and the same in fp64.
#pragma once
#include "gpu/calibration.hpp"
#include "gpu/simt/simt.cuh"

namespace halfulp::gpu::HALFULP_BUILD {
namespace calibration {

#if defined(__CUDACC__)
__device__ __forceinline__ float ex2_approx(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ float rcp_approx(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
#else
// As inexact as documented, like the other intrinsics of the host build.
inline float ex2_approx(float x) {
  return x == 0.0f ? 1.0f
                   : documented_error(static_cast<float>(exp2(static_cast<double>(x))), 2, x);
}
inline float rcp_approx(float x) { return documented_error(1.0f / x, 1, x); }
#endif

template <Instruction kFunction>
__device__ __forceinline__ float computed(float x, [[maybe_unused]] float numerator) {
  if constexpr (kFunction == Instruction::expf) return expf(x);
  if constexpr (kFunction == Instruction::expf_fast) return __expf(x);
  if constexpr (kFunction == Instruction::exp2f) return exp2f(x);
  if constexpr (kFunction == Instruction::ex2_approx) return ex2_approx(x);
  if constexpr (kFunction == Instruction::rcp_rn) return __frcp_rn(x);
  if constexpr (kFunction == Instruction::rcp_approx) return rcp_approx(x);
  if constexpr (kFunction == Instruction::rsqrtf) return rsqrtf(x);
  if constexpr (kFunction == Instruction::fdividef) return __fdividef(numerator, x);
}

template <Instruction kFunction>
__device__ __forceinline__ double exact(double x, [[maybe_unused]] double numerator) {
  if constexpr (kFunction == Instruction::expf || kFunction == Instruction::expf_fast) {
    return exp(x);
  } else if constexpr (kFunction == Instruction::exp2f || kFunction == Instruction::ex2_approx) {
    return exp2(x);
  } else if constexpr (kFunction == Instruction::rsqrtf) {
    return 1.0 / sqrt(x);
  } else if constexpr (kFunction == Instruction::fdividef) {
    return numerator / x;
  } else {
    return 1.0 / x;
  }
}

// Arguments that the instruction takes, as far as the value's being normal does not say it.
template <Instruction kFunction>
__device__ __forceinline__ bool takes(float x) {
  if constexpr (kFunction == Instruction::rcp_approx) return fabsf(x) >= 0x1p-126f;
  if constexpr (kFunction == Instruction::fdividef) {
    return fabsf(x) > 0x1p-126f && fabsf(x) < 0x1p126f;
  }
  return true;
}

// Calls body.template operator()<function>() for the function that a value names; false: it names
// none.
template <class Body>
bool with_function(Instruction function, const Body& body) {
  switch (function) {
    case Instruction::expf:
      body.template operator()<Instruction::expf>();
      return true;
    case Instruction::expf_fast:
      body.template operator()<Instruction::expf_fast>();
      return true;
    case Instruction::exp2f:
      body.template operator()<Instruction::exp2f>();
      return true;
    case Instruction::ex2_approx:
      body.template operator()<Instruction::ex2_approx>();
      return true;
    case Instruction::rcp_rn:
      body.template operator()<Instruction::rcp_rn>();
      return true;
    case Instruction::rcp_approx:
      body.template operator()<Instruction::rcp_approx>();
      return true;
    case Instruction::rsqrtf:
      body.template operator()<Instruction::rsqrtf>();
      return true;
    case Instruction::fdividef:
      body.template operator()<Instruction::fdividef>();
      return true;
    default:
      return false;
  }
}

}  // namespace calibration
}  // namespace halfulp::gpu::HALFULP_BUILD
