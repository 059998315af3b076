// The masks that the row mask_mod is told of at a call, as one functor: one kernel serves them all,
// since each of them shows a query one range of keys.
#pragma once
#include "gpu/kernels/flash_attention_body.hpp"

namespace halfulp::gpu::HALFULP_BUILD {

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

// tf32, whose kernels are compiled apart.
void launch_mask_mod_tf32(Launcher& launcher, const Arguments& arguments, const FlashAttention& g);

}  // namespace halfulp::gpu::HALFULP_BUILD
