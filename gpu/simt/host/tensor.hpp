// ldmatrix and mma for the host build: whole-warp operations on PTX's fragment layouts. The
// arithmetic of mma is Config::tensor_core.
#pragma once
#include <source_location>

#include "gpu/simt/host/copy.hpp"
#include "gpu/simt/runtime.hpp"

namespace halfulp::gpu::simt {
inline namespace HALFULP_SIMT_COPY {

#define HALFULP_LDMATRIX(name, count, transposed)                                 \
  inline void name(unsigned(&r)[count], const void* row,                          \
                   std::source_location site = std::source_location::current()) { \
    runtime::ldmatrix(r, count, transposed, row, site);                           \
  }
HALFULP_LDMATRIX(ldmatrix_x1, 1, false)
HALFULP_LDMATRIX(ldmatrix_x2, 2, false)
HALFULP_LDMATRIX(ldmatrix_x4, 4, false)
HALFULP_LDMATRIX(ldmatrix_x1_trans, 1, true)
HALFULP_LDMATRIX(ldmatrix_x2_trans, 2, true)
HALFULP_LDMATRIX(ldmatrix_x4_trans, 4, true)
#undef HALFULP_LDMATRIX

#define HALFULP_MMA(name, operation)                                              \
  inline void name(float(&d)[4], const unsigned(&a)[4], const unsigned(&b)[2],    \
                   std::source_location site = std::source_location::current()) { \
    runtime::mma(runtime::Mma::operation, d, a, b, site);                         \
  }
HALFULP_MMA(mma_m16n8k16_f16, m16n8k16_f16)
HALFULP_MMA(mma_m16n8k16_bf16, m16n8k16_bf16)
HALFULP_MMA(mma_m16n8k8_tf32, m16n8k8_tf32)
#undef HALFULP_MMA

}  // namespace HALFULP_SIMT_COPY
}  // namespace halfulp::gpu::simt
