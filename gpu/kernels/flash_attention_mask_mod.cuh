// flash_attention on tensor cores with a mask functor instead of a mask in memory: tiles that it
// rules out are skipped, and those that it admits in full need no work on their elements.
#include "gpu/kernels/flash_attention_body.hpp"

namespace halfulp::gpu::HALFULP_BUILD {

// The masks that the row is told of at a call, as one functor: one kernel serves them all, since
// each of them shows a query one range of keys.
struct RangeMask {
  KeyMask kind = KeyMask::none;
  CausalMask causal;
  PrefixMask prefix;
  WindowMask window;

  explicit RangeMask(const FlashAttention& g) : kind(g.mask) {
    with_key_mask(g, [this](const auto& mask) { keep(mask); });
  }

  __host__ __device__ KeyRange range(std::int64_t i) const {
    if (kind == KeyMask::window) return window.range(i);
    if (kind == KeyMask::prefix_lm) return prefix.range(i);
    return kind == KeyMask::none ? KeyRange{0, INT32_MAX} : causal.range(i);
  }
  __host__ __device__ bool open(std::int32_t i, std::int32_t j) const {
    const KeyRange seen = range(i);
    return seen.begin <= j && j < seen.end;
  }
  __host__ __device__ KeyRange keys_of(const FlashTile& tile) const {
    return {range(tile.first_query).begin, range(tile.last_query()).end};
  }
  __host__ __device__ TileClass classify(const FlashTile& tile) const {
    return classify_ranges(tile, range(tile.first_query), range(tile.last_query()));
  }

 private:
  void keep(const NoMask&) {}
  void keep(const CausalMask& mask) { causal = mask; }
  void keep(const PrefixMask& mask) { prefix = mask; }
  void keep(const WindowMask& mask) { window = mask; }
};

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
    launch_flash_mma<Tf32, false>(launcher, arguments, g, mask);
  }
  return launcher.status();
}

}  // namespace halfulp::gpu::HALFULP_BUILD
