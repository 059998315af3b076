// flash_attention, online softmax in fp32: a block takes some queries of a head past all keys, a
// tile of keys at a time, with a running maximum and a running sum of weights a query. When a
// query's maximum grows, its sum and its numerators shrink by exp(old - new); one division ends it.
//
// exp is 2^(x log2 e); products are fused into their sums. A thread has 4 x 4 scores of a tile, and
// the same rows of 4 x 4 elements of the output for every kKeys channels.
#include "gpu/kernels/flash_attention_access.hpp"
#include "gpu/kernels/launch.hpp"

namespace halfulp::gpu::HALFULP_BUILD {

inline constexpr std::int64_t kFlashOnlineTileDefault = 1;

template <int kQueries, int kKeys>
struct FlashOnline {
  static constexpr int kSide = 4;
  static constexpr int kColumnThreads = kKeys / kSide;  // neighbours that share a row
  static constexpr int kRowThreads = kQueries / kSide;
  static constexpr int kThreads = kRowThreads * kColumnThreads;
  static constexpr int kDepth = 32;  // channels of q and k in shared memory at a time
  static constexpr int kDepthPitch = kDepth + 1;
  static constexpr int kWeightPitch = kKeys + 1;
  static_assert(32 % kColumnThreads == 0 && kThreads % 32 == 0);

  // Shared memory, in floats. The weights of a tile take the place of its q and k.
  static constexpr int kOperands = (kQueries + kKeys) * kDepthPitch;
  static constexpr int kWeights = kQueries * kWeightPitch;
  static constexpr int kValuesAt = kOperands > kWeights ? kOperands : kWeights;
  static constexpr int kNumeratorsAt = kValuesAt + kKeys * kKeys;
  static std::int64_t shared_bytes(std::int64_t dim) {
    const std::int64_t channels = (dim + kKeys - 1) / kKeys * kKeys;
    return (kNumeratorsAt + channels * kQueries) * std::int64_t{4};
  }

  // This thread's elements of a tile: rows row(0) ... row(3), columns column(0) ... column(3).
  __device__ static int row(int i) {
    return static_cast<int>(threadIdx.x) / kColumnThreads + i * kRowThreads;
  }
  __device__ static int column(int j) {
    return static_cast<int>(threadIdx.x) % kColumnThreads + j * kColumnThreads;
  }
  // Whether all of this thread's warp has no row(i) among the first `rows` of the tile.
  __device__ static bool warp_is_past(int i, int rows) {
    const int first = static_cast<int>(threadIdx.x) / 32 * 32;
    return first / kColumnThreads + i * kRowThreads >= rows;
  }
  // Reduces over the threads that share a row; all threads of a warp take part.
  template <class Reduce>
  __device__ static float over_row(float x, Reduce reduce) {
    for (int offset = kColumnThreads / 2; offset > 0; offset /= 2) {
      x = reduce(x, __shfl_xor_sync(0xffffffffu, x, offset));
    }
    return x;
  }
  // Element (i, j) of this thread's numerators, of which there are 4 x 4 for each part of the dim.
  __device__ static int numerator(int part, int i, int j) {
    const int slot = (part * kSide + i) * kSide + j;
    return kNumeratorsAt + slot * kThreads + static_cast<int>(threadIdx.x);
  }
};

// What a block works on.
struct FlashBlock {
  FlashHead at;
  std::int64_t row0 = 0;  // of the first query
  int rows = 0;           // queries that there are
};

// Copies a tile of kRows by kColumns elements to shared memory, zeros where it leaves the operand,
// of which rows_left rows and columns_left columns begin at `from`.
template <int kRows, int kColumns, int kPitch, int kThreads, class T>
__device__ inline void flash_online_copy(const T* from, const HeadRows& rows, int rows_left,
                                         int columns_left, float* to) {
  constexpr int kPacks = kColumns / kPack<T>;
  for (int k = static_cast<int>(threadIdx.x); k < kRows * kPacks; k += kThreads) {
    const int row = k / kPacks;
    const int column = k % kPacks * kPack<T>;
    const T* pack = from + (row * rows.stride[2] + column);
    float x[kPack<T>] = {};
    if (row < rows_left && rows.aligned && column + kPack<T> <= columns_left) {
      load_pack(pack, x);
    } else if (row < rows_left) {
      SIMT_UNROLL
      for (int e = 0; e < kPack<T>; ++e) {
        if (column + e < columns_left) x[e] = to_float(pack[e]);
      }
    }
    SIMT_UNROLL
    for (int e = 0; e < kPack<T>; ++e) to[row * kPitch + column + e] = x[e];
  }
}

// score = scale q k^T + mask of the tile of keys from key0 on; -inf past the last key.
template <class T, class Tile>
__device__ inline void flash_online_scores(const FlashAttention& g, const FlashBlock& block,
                                           std::int64_t key0, int keys, float* shared,
                                           float (&score)[4][4]) {
  constexpr int kPitch = Tile::kDepthPitch;
  constexpr int kQueries = Tile::kRowThreads * 4;
  constexpr int kKeys = Tile::kColumnThreads * 4;
  float* k_tile = shared + kQueries * kPitch;
  SIMT_UNROLL
  for (auto& row : score) {
    SIMT_UNROLL
    for (float& x : row) x = 0.0f;
  }
  const T* q = row_of<const T>(g.q, block.at, block.row0);
  const T* k = row_of<const T>(g.k, block.at, key0);
  const auto dim = static_cast<int>(g.dim);
  for (int d0 = 0; d0 < dim; d0 += Tile::kDepth) {
    __syncthreads();  // what was in shared memory has been read
    flash_online_copy<kQueries, Tile::kDepth, kPitch, Tile::kThreads>(q + d0, g.q, block.rows,
                                                                      dim - d0, shared);
    flash_online_copy<kKeys, Tile::kDepth, kPitch, Tile::kThreads>(k + d0, g.k, keys, dim - d0,
                                                                   k_tile);
    __syncthreads();
    const int depth = min(dim - d0, Tile::kDepth);
    for (int d = 0; d < depth; ++d) {
      float x[4];
      float y[4];
      SIMT_UNROLL
      for (int i = 0; i < 4; ++i) x[i] = shared[Tile::row(i) * kPitch + d];
      SIMT_UNROLL
      for (int j = 0; j < 4; ++j) y[j] = k_tile[Tile::column(j) * kPitch + d];
      SIMT_UNROLL
      for (int i = 0; i < 4; ++i) {
        SIMT_UNROLL
        for (int j = 0; j < 4; ++j) score[i][j] = fmaf(x[i], y[j], score[i][j]);
      }
    }
  }
  const bool additive = g.mask == KeyMask::additive;
  SIMT_UNROLL
  for (int i = 0; i < 4; ++i) {
    SIMT_UNROLL
    for (int j = 0; j < 4; ++j) {
      const bool exists = Tile::row(i) < block.rows && Tile::column(j) < keys;
      score[i][j] = exists ? score[i][j] * g.scale : closed_score();
      if (additive && exists) {
        score[i][j] +=
            additive_at<T>(g.additive, block.at, block.row0 + Tile::row(i), key0 + Tile::column(j));
      }
    }
  }
}

// The state of a thread's rows: the maximum, shared with its neighbours, and its part of the sum.
struct FlashOnlineRows {
  float maximum[4];
  float sum[4];
};

// From scores to weights in shared memory; shrink: by how much the rows' former sums shrink.
// A NaN among the scores is not a maximum, but its weight is NaN. The block has `count` rows.
template <class Tile>
__device__ inline void flash_online_weights(const float (&score)[4][4], int count,
                                            FlashOnlineRows& rows, float (&shrink)[4],
                                            float* weights) {
  SIMT_UNROLL
  for (int i = 0; i < 4; ++i) {
    float maximum = rows.maximum[i];
    SIMT_UNROLL
    for (int j = 0; j < 4; ++j) maximum = fmaxf(maximum, score[i][j]);
    if (!Tile::warp_is_past(i, count)) {
      maximum = Tile::over_row(maximum, [](float x, float y) { return fmaxf(x, y); });
    }
    const float subtracted = finite_maximum(maximum);
    shrink[i] = exp2f((rows.maximum[i] - subtracted) * kLog2E);
    rows.maximum[i] = maximum;
    rows.sum[i] *= shrink[i];
    SIMT_UNROLL
    for (int j = 0; j < 4; ++j) {
      const float weight = exp2f((score[i][j] - subtracted) * kLog2E);
      rows.sum[i] += weight;
      weights[Tile::row(i) * Tile::kWeightPitch + Tile::column(j)] = weight;
    }
  }
}

// numerators = shrink * numerators + weights v, for the tile of keys from key0 on.
template <class T, class Tile>
__device__ inline void flash_online_numerators(const FlashAttention& g, const FlashBlock& block,
                                               std::int64_t key0, int keys,
                                               const float (&shrink)[4], float* shared) {
  constexpr int kKeys = Tile::kColumnThreads * 4;
  float* values = shared + Tile::kValuesAt;
  const T* v = row_of<const T>(g.v, block.at, key0);
  const auto dim = static_cast<int>(g.dim);
  for (int part = 0; part * kKeys < dim; ++part) {
    __syncthreads();  // the values before have been read; the weights are there
    flash_online_copy<kKeys, kKeys, kKeys, Tile::kThreads>(v + part * kKeys, g.v, keys,
                                                           dim - part * kKeys, values);
    __syncthreads();
    float sum[4][4];
    SIMT_UNROLL
    for (int i = 0; i < 4; ++i) {
      SIMT_UNROLL
      for (int j = 0; j < 4; ++j) {
        sum[i][j] = key0 == 0 ? 0.0f : shrink[i] * shared[Tile::numerator(part, i, j)];
      }
    }
    for (int k = 0; k < keys; ++k) {
      float x[4];
      float y[4];
      SIMT_UNROLL
      for (int i = 0; i < 4; ++i) x[i] = shared[Tile::row(i) * Tile::kWeightPitch + k];
      SIMT_UNROLL
      for (int j = 0; j < 4; ++j) y[j] = values[k * kKeys + Tile::column(j)];
      SIMT_UNROLL
      for (int i = 0; i < 4; ++i) {
        SIMT_UNROLL
        for (int j = 0; j < 4; ++j) sum[i][j] = fmaf(x[i], y[j], sum[i][j]);
      }
    }
    SIMT_UNROLL
    for (int i = 0; i < 4; ++i) {
      SIMT_UNROLL
      for (int j = 0; j < 4; ++j) shared[Tile::numerator(part, i, j)] = sum[i][j];
    }
  }
}

// One division an element; +0 where no weight is above 0.
template <class T, class Tile>
__device__ inline void flash_online_store(const FlashAttention& g, const FlashBlock& block,
                                          FlashOnlineRows& rows, const float* shared) {
  constexpr int kKeys = Tile::kColumnThreads * 4;
  const auto dim = static_cast<int>(g.dim);
  SIMT_UNROLL
  for (int i = 0; i < 4; ++i) {
    if (Tile::warp_is_past(i, block.rows)) continue;
    const float sum = Tile::over_row(rows.sum[i], [](float x, float y) { return x + y; });
    if (Tile::row(i) >= block.rows) continue;
    T* out = row_of<T>(g.out, block.at, block.row0 + Tile::row(i));
    for (int part = 0; part * kKeys < dim; ++part) {
      SIMT_UNROLL
      for (int j = 0; j < 4; ++j) {
        const int d = part * kKeys + Tile::column(j);
        if (d >= dim) continue;
        float x = 0.0f;
        if (sum != 0.0f) x = shared[Tile::numerator(part, i, j)] / sum;
        out[d] = from_float<T>(x);
      }
    }
  }
}

template <class T, int kQueries, int kKeys>
__global__ void __launch_bounds__(FlashOnline<kQueries, kKeys>::kThreads)
    flash_attention_online_f32_kernel(FlashAttention g, std::int64_t tiles) {
  using Tile = FlashOnline<kQueries, kKeys>;
  auto* shared = simt::dynamic_shared<float>();
  FlashBlock block;
  block.at = flash_head(g, blockIdx.x / tiles);
  block.row0 = blockIdx.x % tiles * kQueries;
  block.rows = static_cast<int>(min(g.queries - block.row0, std::int64_t{kQueries}));
  FlashOnlineRows rows;
  SIMT_UNROLL
  for (int i = 0; i < 4; ++i) {
    rows.maximum[i] = closed_score();
    rows.sum[i] = 0.0f;
  }
  for (std::int64_t key0 = 0; key0 < g.keys; key0 += kKeys) {
    const auto keys = static_cast<int>(min(g.keys - key0, std::int64_t{kKeys}));
    float score[4][4];
    float shrink[4];
    flash_online_scores<T, Tile>(g, block, key0, keys, shared, score);
    __syncthreads();  // q and k have been read: weights take their place
    flash_online_weights<Tile>(score, block.rows, rows, shrink, shared);
    flash_online_numerators<T, Tile>(g, block, key0, keys, shrink, shared);
  }
  flash_online_store<T, Tile>(g, block, rows, shared);
}

// Formats and tiles that a build has. One with HALFULP_FEW_VARIANTS has f16 and f32 and the first
// two tiles, and refuses the rest.
#if defined(HALFULP_FEW_VARIANTS)
inline constexpr bool kFlashOnlineFew = true;
#else
inline constexpr bool kFlashOnlineFew = false;
#endif

template <class T, int kTile>
void flash_attention_online_f32_launch(const FlashAttention& g, Launcher& launcher) {
  constexpr FlashTileSize kSize = kFlashTilesF32[kTile];
  using Tile = FlashOnline<kSize.queries, kSize.keys>;
  const std::int64_t tiles = (g.queries + kSize.queries - 1) / kSize.queries;
  const std::int64_t blocks = launcher.blocks("q", g.batches * g.heads * tiles, 1);
  launcher.launch(flash_attention_online_f32_kernel<T, kSize.queries, kSize.keys>,
                  LaunchShape{blocks, Tile::kThreads, Tile::shared_bytes(g.dim)}, g, tiles);
}

Status flash_attention_online_f32(const Arguments& arguments) {
  FlashAttention g;
  Launcher launcher(arguments, bind(arguments, g));
  if (g.storage == Format::tf32) launcher.refuse("q", "format tf32, needs f32, f16 or bf16");
  const std::int64_t tile = arguments.setting("tile", kFlashOnlineTileDefault);
  constexpr std::int64_t kTiles = std::ssize(kFlashTilesF32);
  if (tile < 0 || tile >= kTiles) {
    launcher.refuse("tile",
                    "is " + std::to_string(tile) + ", needs 0 to " + std::to_string(kTiles - 1));
  }
  const auto with_type = [&]<class T>() {
    if (tile == 0) return flash_attention_online_f32_launch<T, 0>(g, launcher);
    if (tile == 1) return flash_attention_online_f32_launch<T, 1>(g, launcher);
    if constexpr (kFlashOnlineFew) {
      launcher.refuse("tile", "not in this build");
    } else {
      flash_attention_online_f32_launch<T, 2>(g, launcher);
    }
  };
  if (g.storage == Format::f16) {
    with_type.template operator()<__half>();
  } else if (g.storage == Format::f32) {
    with_type.template operator()<float>();
  } else if constexpr (kFlashOnlineFew) {
    launcher.refuse("q", "format not in this build");
  } else {
    with_type.template operator()<__nv_bfloat16>();
  }
  return launcher.status();
}

}  // namespace halfulp::gpu::HALFULP_BUILD
