// A function over all fp32 numbers, or every stride-th: a block for each range of patterns finds
// the input furthest off against the limit; see SweepCall.
#pragma once
#include <cstring>

#include "gpu/calibration/entries.hpp"
#include "gpu/calibration/functions.cuh"

namespace halfulp::gpu::HALFULP_BUILD {
namespace calibration {

inline constexpr int kSweepThreads = 128;

struct Best {
  double ratio;  // error over limit
  double ulps;
  std::uint32_t x, result;
  std::uint32_t inputs;  // in the domain
};

// The spacing of fp32 numbers at a magnitude that is normal in fp32.
__device__ __forceinline__ double spacing(double magnitude) {
  std::uint64_t bits;
  memcpy(&bits, &magnitude, sizeof bits);
  bits = (bits & 0x7ff0000000000000u) - (std::uint64_t{23} << 52);
  memcpy(&magnitude, &bits, sizeof bits);
  return magnitude;
}

// In [1, 2), from bits of x that its quotient does not follow.
__device__ __forceinline__ float numerator_of(std::uint32_t x) {
  return __uint_as_float(0x3f800000u | (x * 2654435761u) >> 9);
}

template <Instruction kFunction>
__device__ __forceinline__ void consider(Best& best, std::uint32_t bits, const UlpLimit& limit) {
  const float x = __uint_as_float(bits);
  const float numerator = numerator_of(bits);
  const double value = exact<kFunction>(x, numerator);
  const double magnitude = fabs(value);
  if (!(magnitude >= 0x1p-126 && magnitude <= 0x1.fffffep127) || !takes<kFunction>(x)) return;
  ++best.inputs;
  const float result = computed<kFunction>(x, numerator);
  const double size = fabs(static_cast<double>(result));
  double ulps =
      fabs(static_cast<double>(result) - value) / spacing(size > magnitude ? size : magnitude);
  if (!(size <= 0x1.fffffep127)) ulps = 0x1p200;  // infinity or NaN in place of a number
  const double ratio = ulps / (limit.ulps + floor(limit.ulps_slope * fabs(static_cast<double>(x))));
  if (ratio <= best.ratio) return;
  best.ratio = ratio;
  best.ulps = ulps;
  best.x = bits;
  best.result = __float_as_uint(result);
}

template <Instruction kFunction>
__global__ void sweep(SweepCall call) {
  SIMT_SHARED(Best, held, [kSweepThreads]);
  const int lane = static_cast<int>(threadIdx.x);
  const std::uint64_t size = (std::uint64_t{1} << 32) / call.ranges;
  const std::uint64_t step = std::uint64_t{call.stride} * kSweepThreads;
  Best best{-1, 0, 0, 0, 0};
  for (std::uint64_t i = std::uint64_t{call.stride} * threadIdx.x; i < size; i += step) {
    consider<kFunction>(best, static_cast<std::uint32_t>(blockIdx.x * size + i), call.limit);
  }
  held[lane] = best;
  __syncthreads();
  if (lane != 0) return;
  std::uint32_t inputs = 0;
  for (int other = 0; other < kSweepThreads; ++other) {
    inputs += held[other].inputs;
    if (held[other].ratio > best.ratio) best = held[other];
  }
  std::uint32_t* out = call.out + std::uint64_t{blockIdx.x} * kSweepWords;
  out[0] = best.x;
  out[1] = __float_as_uint(numerator_of(best.x));
  out[2] = best.result;
  out[3] = inputs;
  memcpy(out + 4, &best.ulps, sizeof best.ulps);
}

}  // namespace calibration

simt::Status calibration_sweep(const SweepCall& call, void* stream) {
  simt::Status status{"not a function of one argument"};
  calibration::with_function(call.function, [&]<Instruction kFunction>() {
    status = simt::launch(calibration::sweep<kFunction>, dim3(call.ranges),
                          dim3(calibration::kSweepThreads), 0, stream, call);
  });
  return status;
}

}  // namespace halfulp::gpu::HALFULP_BUILD
