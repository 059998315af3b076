// Which keys a query sees, as functors that are compiled into kernels, and what that makes of
// tiles.
//
// A mask is a type with these three, for queries i and keys j from 0:
//   bool open(std::int32_t i, std::int32_t j)
//       whether query i sees key j
//   KeyRange keys_of(const FlashTile& tile)
//       no query of the tile sees a key outside of it; it may be larger, and leave the tile
//   TileClass classify(const FlashTile& tile)
//       skipped where no pair of the tile is open, full where all are, else partial; a mask that
//       cannot tell says partial
// A tile counts the queries and keys that exist: one past the last key is closed whatever its
// class.
//
//   const KeyRange seen = key_tiles<kKeys>(mask, row0, rows, g.keys);
//   for (std::int64_t key0 = seen.begin; key0 < seen.end; key0 += kKeys) {
//     const FlashTile tile{row0, rows, key0, min(g.keys - key0, std::int64_t{kKeys})};
//     const TileClass kind = mask.classify(tile);
//     if (kind == TileClass::skipped) continue;
//     ... open(i, j) per element unless full
//
// queries and keys are at most kFlashSizeMost: positions fit 32 bits up to 4096 past the last one,
// so open() may be asked about all of a tile that sticks out.
#pragma once
#include <cstdint>

#include "gpu/kernels/flash_attention.hpp"
#include "gpu/simt/simt.cuh"

namespace halfulp::gpu::HALFULP_BUILD {

enum class TileClass : std::uint8_t { skipped, partial, full };

// Queries first_query ... + queries - 1 and keys first_key ... + keys - 1; neither is empty but for
// keys_of.
struct FlashTile {
  std::int64_t first_query = 0, queries = 0;
  std::int64_t first_key = 0, keys = 0;

  __host__ __device__ std::int64_t last_query() const { return first_query + queries - 1; }
  __host__ __device__ std::int64_t last_key() const { return first_key + keys - 1; }
};

// Keys begin to end - 1.
struct KeyRange {
  std::int64_t begin = 0, end = 0;
};

// The class of a tile from the keys that its first and its last query see, where every query sees
// one range of keys, neither end of which falls as queries grow, and every key between the first
// begin and the last end is seen by one of them.
__host__ __device__ inline TileClass classify_ranges(const FlashTile& tile, const KeyRange& first,
                                                     const KeyRange& last) {
  if (tile.first_key >= last.end || tile.last_key() < first.begin) return TileClass::skipped;
  const bool full = last.begin <= tile.first_key && tile.last_key() < first.end;
  return full ? TileClass::full : TileClass::partial;
}

// Every key.
struct NoMask {
  __host__ __device__ bool open(std::int32_t, std::int32_t) const { return true; }
  __host__ __device__ KeyRange keys_of(const FlashTile& tile) const {
    return {tile.first_key, tile.first_key + tile.keys};
  }
  __host__ __device__ TileClass classify(const FlashTile&) const { return TileClass::full; }
};

// j <= i + shift: 0 aligns at the top left, keys - queries at the bottom right.
struct CausalMask {
  std::int32_t shift = 0;

  __host__ __device__ bool open(std::int32_t i, std::int32_t j) const { return j <= i + shift; }
  __host__ __device__ KeyRange range(std::int64_t i) const { return {0, i + shift + 1}; }
  __host__ __device__ KeyRange keys_of(const FlashTile& tile) const {
    return {0, range(tile.last_query()).end};
  }
  __host__ __device__ TileClass classify(const FlashTile& tile) const {
    return classify_ranges(tile, range(tile.first_query), range(tile.last_query()));
  }
};

// j <= i, or both below `prefix`.
struct PrefixMask {
  std::int32_t prefix = 0;

  __host__ __device__ bool open(std::int32_t i, std::int32_t j) const {
    return j <= i || (i < prefix && j < prefix);
  }
  __host__ __device__ KeyRange range(std::int64_t i) const {
    return {0, i < prefix ? std::int64_t{prefix} : i + 1};
  }
  __host__ __device__ KeyRange keys_of(const FlashTile& tile) const {
    return {0, range(tile.last_query()).end};
  }
  __host__ __device__ TileClass classify(const FlashTile& tile) const {
    return classify_ranges(tile, range(tile.first_query), range(tile.last_query()));
  }
};

// i + shift - left <= j <= i + shift + right, left and right 0 and more.
struct WindowMask {
  std::int32_t shift = 0;
  std::int32_t left = 0, right = 0;

  // Differences of 32-bit positions are exact in 32 bits without a sign.
  __host__ __device__ bool open(std::int32_t i, std::int32_t j) const {
    const std::int32_t centre = i + shift;
    const bool before = j < centre;
    const auto apart = static_cast<std::uint32_t>(before ? centre : j) -
                       static_cast<std::uint32_t>(before ? j : centre);
    return apart <= static_cast<std::uint32_t>(before ? left : right);
  }
  __host__ __device__ KeyRange range(std::int64_t i) const {
    return {i + shift - left, i + shift + right + 1};
  }
  __host__ __device__ KeyRange keys_of(const FlashTile& tile) const {
    return {range(tile.first_query).begin, range(tile.last_query()).end};
  }
  __host__ __device__ TileClass classify(const FlashTile& tile) const {
    return classify_ranges(tile, range(tile.first_query), range(tile.last_query()));
  }
};

// The keys that a loop over tiles of kKeys keys visits for `rows` queries from row0 on: from key
// `begin`, a multiple of kKeys, on; tiles before it and from `end` on are skipped for all of them.
template <int kKeys, class Mask>
__host__ __device__ KeyRange key_tiles(const Mask& mask, std::int64_t row0, std::int64_t rows,
                                       std::int64_t keys) {
  const KeyRange seen = mask.keys_of(FlashTile{row0, rows, 0, keys});
  const std::int64_t begin = seen.begin > 0 ? seen.begin / kKeys * kKeys : 0;
  return {begin, seen.end < keys ? seen.end : keys};
}

// Calls body(mask) with the compiled mask that g.mask names; none where it is in memory.
template <class Body>
void with_key_mask(const FlashAttention& g, const Body& body) {
  const auto position = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
  const std::int32_t bottom_right = position(g.keys - g.queries);
  switch (g.mask) {
    case KeyMask::causal_top_left:
      return body(CausalMask{0});
    case KeyMask::causal_bottom_right:
      return body(CausalMask{bottom_right});
    case KeyMask::prefix_lm:
      return body(PrefixMask{position(g.prefix)});
    case KeyMask::window:
      return body(WindowMask{bottom_right, position(g.window_left), position(g.window_right)});
    case KeyMask::none:
    case KeyMask::additive:
    case KeyMask::documents:
      return body(NoMask{});
  }
}

}  // namespace halfulp::gpu::HALFULP_BUILD
