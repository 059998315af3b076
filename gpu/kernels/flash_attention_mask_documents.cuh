// flash_attention with a mask of a user's own: several documents in one sequence, none of which
// sees another. All that such a kernel takes is a functor and an entry point.
#include "gpu/kernels/flash_attention_body.hpp"

namespace halfulp::gpu::HALFULP_BUILD {

// Documents of `length` positions each; see flash_attention_mask.hpp for what a mask has to answer.
struct DocumentMask {
  std::int32_t length = 1;

  __host__ __device__ bool open(std::int32_t i, std::int32_t j) const {
    return i / length == j / length;
  }
  __host__ __device__ KeyRange keys_of(const FlashTile& tile) const {
    const std::int64_t first = tile.first_query / length;
    const std::int64_t last = tile.last_query() / length;
    return {first * length, (last + 1) * length};
  }
  __host__ __device__ TileClass classify(const FlashTile& tile) const {
    const bool one = tile.first_query / length == tile.last_query() / length &&
                     tile.first_key / length == tile.last_key() / length &&
                     tile.first_query / length == tile.first_key / length;
    return one ? TileClass::full : TileClass::partial;
  }
};

Status flash_attention_mask_documents(const Arguments& arguments) {
  FlashAttention g;
  Launcher launcher(arguments, bind(arguments, g, kFlashMasksDocuments));
  if (g.storage != Format::f16) launcher.refuse("q", "needs format f16");
  const DocumentMask mask{static_cast<std::int32_t>(g.prefix)};
  launch_flash_mma<__half, false>(launcher, arguments, g, mask);
  return launcher.status();
}

}  // namespace halfulp::gpu::HALFULP_BUILD
