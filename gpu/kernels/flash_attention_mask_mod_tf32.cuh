// The tf32 kernels of flash_attention_mask_mod.
#include "gpu/kernels/flash_attention_mask_mod.hpp"

namespace halfulp::gpu::HALFULP_BUILD {

void launch_mask_mod_tf32(Launcher& launcher, const Arguments& arguments, const FlashAttention& g) {
  launch_flash_mma<Tf32, false>(launcher, arguments, g, RangeMask(g));
}

}  // namespace halfulp::gpu::HALFULP_BUILD
