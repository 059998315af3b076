// One mma by a warp, chosen by the storage type of its factors: d += a b, fp32 sums of products of
// 16 x 16 by 16 x 8 elements of 16 bits, or of 16 x 8 by 8 x 8 of tf32; fragments as PTX has them.
//
// Part of a kernel's translation unit, like access.hpp.
#pragma once
#include "gpu/kernels/access.hpp"
#include "gpu/simt/simt.cuh"

namespace halfulp::gpu::HALFULP_BUILD {

__device__ inline void mma(__half, float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  simt::mma_m16n8k16_f16(d, a, b);
}
__device__ inline void mma(__nv_bfloat16, float (&d)[4], const unsigned (&a)[4],
                           const unsigned (&b)[2]) {
  simt::mma_m16n8k16_bf16(d, a, b);
}
__device__ inline void mma(Tf32, float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  simt::mma_m16n8k8_tf32(d, a, b);
}

}  // namespace halfulp::gpu::HALFULP_BUILD
