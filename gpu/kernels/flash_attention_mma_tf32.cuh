// flash_attention on tensor cores, tf32.
#include "gpu/kernels/flash_attention_body.hpp"

namespace halfulp::gpu::HALFULP_BUILD {

Status flash_attention_mma_tf32(const Arguments& arguments) {
  return flash_attention_mma_entry<Tf32, false>(arguments, Format::tf32);
}

Status flash_attention_mma_tf32_added(const Arguments& arguments) {
  return flash_attention_mma_entry<Tf32, true>(arguments, Format::tf32);
}

}  // namespace halfulp::gpu::HALFULP_BUILD
