// flash_attention on tensor cores: the kernel, for any mask functor of flash_attention_mask.hpp,
// and its launcher.
//
//   launch_flash_mma<kApart, Formats...>(launcher, arguments, g, mask);
//
// A block has kWarpRows rows of q a warp. Tiles of kKeys keys pass through shared memory: parts of
// k, then parts of v, in a ring of kStages stages that cp.async fills ahead. Tiles that the mask
// skips are not visited, and elements are masked one by one only in tiles that it calls partial or
// that stick out.
//
// Part of a kernel's translation unit, like access.hpp.
#pragma once
#include <type_traits>

#include "gpu/kernels/flash_attention_body_softmax.hpp"
#include "gpu/kernels/flash_attention_body_stages.hpp"
#include "gpu/kernels/launch.hpp"

namespace halfulp::gpu::HALFULP_BUILD {

// No mask, or one in memory.
struct MaskInMemory : NoMask {};

// What a warp keeps from tile to tile.
template <class Shape>
struct FlashWarp {
  std::int64_t row0 = 0;  // the warp's first row
  int row_in_block = 0;
  FlashQueries<Shape> queries;
  FlashScores<Shape> scores;
  FlashSoftmax<Shape> softmax;
  FlashSums<Shape> out;
};

// The keys of the tile, of which `keys` exist, that row i sees where the mask says so in one piece;
// else all.
template <class Mask>
__device__ inline KeyRange row_keys(const Mask& mask, int key0, int keys, std::int64_t i) {
  KeyRange open{0, keys};
  if constexpr (requires { mask.range(i); }) {
    const KeyRange seen = mask.range(i);
    open.begin = max(seen.begin - key0, std::int64_t{0});
    open.end = min(seen.end - key0, std::int64_t{keys});
  }
  return open;
}

// Closes keys to the rows that do not see them.
template <class Shape, class Mask>
__device__ inline void close_keys(const Mask& mask, int key0, int keys, std::int64_t row0,
                                  FlashScores<Shape>& scores) {
  constexpr bool kAsks = !requires { mask.range(row0); }
  &&!std::is_base_of_v<NoMask, Mask>;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const float closed = -__int_as_float(0x7f800000);
  SIMT_UNROLL
  for (int i = 0; i < Shape::kRowTiles; ++i) {
    SIMT_UNROLL
    for (int lower = 0; lower < 2; ++lower) {
      const std::int64_t row = row0 + lane / 4 + 16 * i + 8 * lower;
      const KeyRange seen = row_keys(mask, key0, keys, row);
      const auto begin = static_cast<int>(min(seen.begin, std::int64_t{Shape::kKeys}));
      const auto end = static_cast<int>(max(seen.end, std::int64_t{0}));
      SIMT_UNROLL
      for (int j = 0; j < Shape::kKeys / 8; ++j) {
        SIMT_UNROLL
        for (int e = 0; e < 2; ++e) {
          const int key = 8 * j + lane % 4 * 2 + e;
          bool open = key >= begin && key < end;
          if constexpr (kAsks) {
            open = open && mask.open(static_cast<std::int32_t>(row), key0 + key);
          }
          if (!open) scores.value[i][j][2 * lower + e] = closed;
        }
      }
    }
  }
}

// scale score + mask.
template <class Element, class Shape>
__device__ inline void add_mask(const typename Shape::MaskTile& tile, float scale,
                                FlashScores<Shape>& scores) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  for_each_pair(scores.value, [&](int i, int lower, int j, float& x, float& y) {
    const float2 added =
        tile.template pair<Element>(16 * i + 8 * lower + lane / 4, 8 * j + lane % 4 * 2);
    x = fmaf(x, scale, added.x);
    y = fmaf(y, scale, added.y);
  });
}

// The same for the tile that mask_tile holds, once it is there; then begins the copy of the next,
// the first of `left`, which lands with the copies that are issued from now on.
template <class Shape, class Tiles>
__device__ inline void add_mask(const typename Shape::MaskTile& mask_tile, const Tiles& left,
                                float scale, FlashScores<Shape>& scores) {
  using T = typename Shape::Element;
  // Its copy was committed with the first part that was used after it was begun; those of the other
  // parts came later.
  simt::cp_async_wait<2 * Shape::kParts - 1>();
  __syncwarp();
  if (mask_tile.single()) {
    add_mask<float, Shape>(mask_tile, scale, scores);
  } else if constexpr (sizeof(T) == 2) {
    add_mask<T, Shape>(mask_tile, scale, scores);
  }
  __syncwarp();
  if (!left.done()) mask_tile.copy(left.key0());
}

template <class Shape>
__device__ inline void negate_scores(FlashScores<Shape>& scores) {
  for_each_pair(scores.value, [](int, int, int, float& x, float& y) {
    x = -x;
    y = -y;
  });
}

// One part after another: scores += q k^T.
template <class Shape, class Stages>
__device__ inline void multiply_keys(Stages& stages, const unsigned char* query_tile,
                                     FlashWarp<Shape>& warp) {
  const auto multiply = [&](int part) {
    add_scores<Shape>(part, stages.next(), query_tile, warp.row_in_block, warp.queries,
                      warp.scores);
  };
  if constexpr (Shape::kQueriesKept) {
    SIMT_UNROLL
    for (int part = 0; part < Shape::kParts; ++part) multiply(part);
  } else {
#pragma unroll 1
    for (int part = 0; part < Shape::kParts; ++part) multiply(part);
  }
}
template <class Shape, int kPart, bool kApart, class Stages>
__device__ inline void multiply_values(Stages& stages, const FlashWeights<Shape>& weights,
                                       FlashWarp<Shape>& warp) {
  if constexpr (kPart < Shape::kParts) {
    add_values<Shape, kPart, kApart>(stages.next(), weights, warp.softmax.rescale, warp.out);
    multiply_values<Shape, kPart + 1, kApart>(stages, weights, warp);
  }
}

// out / sum, +0 where the sum is 0, rounded once to out's format.
template <class Shape>
__device__ inline void store_rows(const FlashAttention& g, const FlashHead& head,
                                  FlashWarp<Shape>& warp) {
  using T = typename Shape::Element;
  using Output = OutputOf<T>;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  float inverse[Shape::kRowTiles][2];
  SIMT_UNROLL
  for (int i = 0; i < Shape::kRowTiles; ++i) {
    SIMT_UNROLL
    for (int lower = 0; lower < 2; ++lower) {
      const float sum = warp.softmax.row_sum(i, lower);
      inverse[i][lower] = sum == 0.0f ? 0.0f : 1.0f / sum;
    }
  }
  Output* out = row_of<Output>(g.out, head, warp.row0 + lane / 4) + lane % 4 * 2;
  const auto rows = static_cast<int>(min(g.queries - warp.row0, std::int64_t{1024})) - lane / 4;
  const int channels = static_cast<int>(g.dim) - lane % 4 * 2;
  for_each_pair(warp.out.value, [&](int i, int lower, int j, float& x, float& y) {
    const int row = 16 * i + 8 * lower;
    const int channel = 8 * j;
    if (row >= rows || channel >= channels) return;
    const float factor = inverse[i][lower];
    const float a = factor == 0.0f ? 0.0f : x * factor;
    const float b = factor == 0.0f ? 0.0f : y * factor;
    Output* to = out + (row * g.out.stride[2] + channel);
    if (g.out.aligned && channel + 1 < channels) {
      store_pair(to, a, b);
    } else {
      to[0] = from_float<Output>(a);
      if (channel + 1 < channels) to[1] = from_float<Output>(b);
    }
  });
}

template <class Shape, bool kApart, class Mask>
__global__ void __launch_bounds__(Shape::kThreadsMost)
    flash_attention_mma_kernel(FlashAttention g, Mask mask) {
  constexpr bool kInMemory = std::is_same_v<Mask, MaskInMemory>;
  const int thread = static_cast<int>(threadIdx.x);
  const int block_rows = static_cast<int>(blockDim.x) / 32 * Shape::kWarpRows;
  // Of a head the last rows first: under causal masks those take longest.
  const std::int64_t row_tiles = (g.queries + block_rows - 1) / block_rows;
  const FlashHead head = flash_head(g, blockIdx.x / row_tiles);
  const std::int64_t row0 = (row_tiles - 1 - blockIdx.x % row_tiles) * block_rows;
  const auto rows = static_cast<int>(min(g.queries - row0, std::int64_t{block_rows}));

  auto* query_tile = simt::dynamic_shared<unsigned char>();
  unsigned char* stage_ring = query_tile + block_rows * Shape::Queries::kPitch;
  unsigned char* mask_tiles = stage_ring + Shape::kStages * Shape::kStageBytes;

  FlashWarp<Shape> warp;
  warp.row_in_block = thread / 32 * Shape::kWarpRows;
  warp.row0 = row0 + warp.row_in_block;
  typename FlashStages<Shape, Mask>::Tiles tiles(mask, row0, rows, g.keys);
  const bool additive = kInMemory && g.additive.data != nullptr;
  const typename Shape::MaskTile mask_tile(g, head, warp.row0, rows - warp.row_in_block,
                                           mask_tiles + thread / 32 * Shape::MaskTile::kBytes);
  FlashCopier<typename Shape::Element, Shape::kDim, Shape::kBatch>(g.q, head, g.dim)
      .copy(query_tile, row0, block_rows, rows, 0);
  if (additive && !tiles.done()) mask_tile.copy(tiles.key0());
  FlashStages<Shape, Mask> stages(g, head, mask, tiles, stage_ring);
  stages.start();
  if constexpr (Shape::kQueriesKept) {
    simt::cp_async_wait<Shape::kStages - 2>();
    __syncthreads();
    keep_queries<Shape>(query_tile, warp.row_in_block, warp.queries);
  }
  warp.softmax.clear();
  clear(warp.out);
  // Scores stay products until they are weighed, unless a mask is added to them.
  const float factor = additive ? kLog2E : fabsf(g.scale) * kLog2E;
  const bool negate = !additive && g.scale < 0.0f;

  while (!tiles.done()) {
    clear(warp.scores);
    multiply_keys<Shape>(stages, query_tile, warp);
    const int key0 = tiles.key0();
    const int keys = tiles.keys();
    const bool partial = tiles.partial();
    tiles.advance(mask);
    if constexpr (kInMemory) {
      if (additive) add_mask<Shape>(mask_tile, tiles, g.scale, warp.scores);
    }
    if (negate) negate_scores(warp.scores);
    if (partial) close_keys<Shape>(mask, key0, keys, warp.row0, warp.scores);
    warp.softmax.weigh(factor, warp.scores);
    if constexpr (!kApart) warp.softmax.rescale_sums(warp.out);
    FlashWeights<Shape> weights;
    make_operands<Shape>(warp.scores, weights);
    multiply_values<Shape, 0, kApart>(stages, weights, warp);
  }
  simt::cp_async_wait<0>();
  store_rows<Shape>(g, head, warp);
}

// Formats and channels that a build has: one with HALFULP_FEW_VARIANTS, f16 up to 64.
#if defined(HALFULP_FEW_VARIANTS)
inline constexpr bool kFlashFew = true;
#else
inline constexpr bool kFlashFew = false;
#endif

template <class T, bool kApart, class Mask>
void launch_flash_mma(Launcher& launcher, const Arguments& arguments, const FlashAttention& g,
                      const Mask& mask) {
  const std::int64_t tile = arguments.setting("tile", kFlashTileMma);
  const auto tiles = static_cast<std::int64_t>(kFlashTilesMma.size());
  if (tile < 0 || tile >= tiles) {
    return launcher.refuse(
        "tile", "is " + std::to_string(tile) + ", needs 0 to " + std::to_string(tiles - 1));
  }
  const std::int64_t rows = kFlashTilesMma[static_cast<std::size_t>(tile)].queries;
  const std::int64_t row_tiles = (g.queries + rows - 1) / rows;
  const std::int64_t blocks = launcher.blocks("q", g.batches * g.heads * row_tiles, 1);
  const auto launch = [&]<int kDim>() {
    using Shape = FlashShape<T, kDim>;
    LaunchShape shape{
        .blocks = blocks,
        .threads = static_cast<int>(rows) / Shape::kWarpRows * 32,
        .shared_bytes = rows * Shape::Queries::kPitch + Shape::kStages * Shape::kStageBytes};
    if (g.additive.data != nullptr) {
      shape.shared_bytes += rows / Shape::kWarpRows * Shape::MaskTile::kBytes;
    }
    launcher.launch(flash_attention_mma_kernel<Shape, kApart, Mask>, shape, g, mask);
  };
  if (g.dim <= 64) return launch.template operator()<64>();
  if constexpr (kFlashFew) {
    launcher.refuse("q", "more than 64 channels are not in this build");
  } else {
    if (g.dim <= 128) return launch.template operator()<128>();
    launch.template operator()<256>();
  }
}

// Of a kernel whose row has one storage format.
template <class T, bool kApart>
Status flash_attention_mma_entry(const Arguments& arguments, Format storage) {
  FlashAttention g;
  Launcher launcher(arguments, bind(arguments, g));
  if (g.storage != storage)
    launcher.refuse(
        "q", "format " + std::string(name(g.storage)) + ", needs " + std::string(name(storage)));
  launch_flash_mma<T, kApart>(launcher, arguments, g, MaskInMemory{});
  return launcher.status();
}

}  // namespace halfulp::gpu::HALFULP_BUILD
