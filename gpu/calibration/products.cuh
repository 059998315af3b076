// mma instructions on row-major operands, a warp each; see ProductsCall.
#pragma once
#include "gpu/calibration/entries.hpp"
#include "gpu/simt/simt.cuh"

namespace halfulp::gpu::HALFULP_BUILD {
namespace calibration {

// Fragments by the PTX manual, "Matrix Fragments for mma.m16n8k16 with floating point type":
// registers 0..3 of a hold rows g, g + 8, g, g + 8 and k from 0, 0, 8, 8; those of b k from 0, 8.
template <bool kBrain>
__device__ __forceinline__ void multiply_16_bit(float (&d)[4], const std::uint32_t* a,
                                                const std::uint32_t* b, int group, int thread) {
  unsigned x[4];
  unsigned y[2];
  for (int r = 0; r < 4; ++r) {
    const std::uint32_t* pair = a + (group + r % 2 * 8) * 16 + r / 2 * 8 + 2 * thread;
    x[r] = pair[0] | pair[1] << 16;
  }
  for (int r = 0; r < 2; ++r) {
    const std::uint32_t* pair = b + (r * 8 + 2 * thread) * 8 + group;
    y[r] = pair[0] | pair[8] << 16;
  }
  if constexpr (kBrain) {
    simt::mma_m16n8k16_bf16(d, x, y);
  } else {
    simt::mma_m16n8k16_f16(d, x, y);
  }
}

// "Matrix Fragments for mma.m16n8k8": one element a register.
__device__ __forceinline__ void multiply_tf32(float (&d)[4], const std::uint32_t* a,
                                              const std::uint32_t* b, int group, int thread) {
  unsigned x[4];
  unsigned y[2];
  for (int r = 0; r < 4; ++r) x[r] = a[(group + r % 2 * 8) * 8 + r / 2 * 4 + thread];
  for (int r = 0; r < 2; ++r) y[r] = b[(r * 4 + thread) * 8 + group];
  simt::mma_m16n8k8_tf32(d, x, y);
}

__global__ void products(ProductsCall call) {
  const std::int64_t depth = call.format == Format::tf32 ? 8 : 16;
  const std::int64_t i = blockIdx.x;
  const int lane = static_cast<int>(threadIdx.x);
  const int group = lane / 4;
  const int thread = lane % 4;
  const std::uint32_t* a = call.a + i * 16 * depth;
  const std::uint32_t* b = call.b + i * depth * 8;
  const std::int64_t corner = i * 128 + group * 8 + 2 * thread;
  float d[4];
  for (int r = 0; r < 4; ++r) d[r] = __uint_as_float(call.c[corner + r / 2 * 64 + r % 2]);
  if (call.format == Format::f16) multiply_16_bit<false>(d, a, b, group, thread);
  if (call.format == Format::bf16) multiply_16_bit<true>(d, a, b, group, thread);
  if (call.format == Format::tf32) multiply_tf32(d, a, b, group, thread);
  for (int r = 0; r < 4; ++r) call.d[corner + r / 2 * 64 + r % 2] = __float_as_uint(d[r]);
}

}  // namespace calibration

simt::Status calibration_products(const ProductsCall& call, void* stream) {
  return simt::launch(calibration::products, dim3(static_cast<unsigned>(call.count)), dim3(32), 0,
                      stream, call);
}

}  // namespace halfulp::gpu::HALFULP_BUILD
