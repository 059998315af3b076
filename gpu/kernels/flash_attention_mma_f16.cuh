// flash_attention on tensor cores, f16.
#include "gpu/kernels/flash_attention_body.hpp"

namespace halfulp::gpu::HALFULP_BUILD {

Status flash_attention_mma_f16(const Arguments& arguments) {
  return flash_attention_mma_entry<__half, false>(arguments, Format::f16);
}

Status flash_attention_mma_f16_added(const Arguments& arguments) {
  return flash_attention_mma_entry<__half, true>(arguments, Format::f16);
}

}  // namespace halfulp::gpu::HALFULP_BUILD
