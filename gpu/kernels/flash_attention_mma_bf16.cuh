// flash_attention on tensor cores, bf16.
#include "gpu/kernels/flash_attention_body.hpp"

namespace halfulp::gpu::HALFULP_BUILD {

Status flash_attention_mma_bf16(const Arguments& arguments) {
  return flash_attention_mma_entry<__nv_bfloat16, false>(arguments, Format::bf16);
}

Status flash_attention_mma_bf16_added(const Arguments& arguments) {
  return flash_attention_mma_entry<__nv_bfloat16, true>(arguments, Format::bf16);
}

}  // namespace halfulp::gpu::HALFULP_BUILD
