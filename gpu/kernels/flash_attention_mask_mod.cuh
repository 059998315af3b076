// flash_attention on tensor cores with a mask functor instead of a mask in memory: tiles that it
// rules out are skipped, and those that it admits in full need no work on their elements.
#include "gpu/kernels/flash_attention_mask_mod.hpp"

namespace halfulp::gpu::HALFULP_BUILD {

Status flash_attention_mask_mod(const Arguments& arguments) {
  FlashAttention g;
  Launcher launcher(arguments, bind(arguments, g, kFlashMasksCompiled));
  const RangeMask mask(g);
  if (g.storage == Format::f16) {
    launch_flash_mma<__half, false>(launcher, arguments, g, mask);
  } else if (g.storage == Format::f32) {
    launcher.refuse("q", "format f32, needs tf32, f16 or bf16");
  } else if constexpr (kFlashFew) {
    launcher.refuse("q", "format not in this build");
  } else if (g.storage == Format::bf16) {
    launch_flash_mma<__nv_bfloat16, false>(launcher, arguments, g, mask);
  } else {
    launch_mask_mod_tf32(launcher, arguments, g);
  }
  return launcher.status();
}

}  // namespace halfulp::gpu::HALFULP_BUILD
