// Tiles of the flash_attention kernels on tensor cores. Their setting `tile` is an index here.
#pragma once
#include "gpu/kernels/flash_attention.hpp"

namespace halfulp::gpu {

inline constexpr std::array kFlashTilesMma{FlashTileSize{"32x64", 32, 64},
                                           FlashTileSize{"64x64", 64, 64},
                                           FlashTileSize{"128x64", 128, 64}};
inline constexpr int kFlashKeysMma = 64;          // of every tile
inline constexpr std::int64_t kFlashTileMma = 2;  // unless set

}  // namespace halfulp::gpu
