// The body of a matmul tile for a storage type: what a block computes of a tile of C.
//
//   using Body = MatmulBody<T, 64, 64, 32>;         // T: __half, __nv_bfloat16, Tf32, float
//   typename Body::Accumulators sums;               // fp32, a part in each of kThreads threads
//   Body::clear(sums);
//   Body::accumulate(g, row0, column0, k_begin, k_end, sums);   // += A[., k_begin:k_end) B
//   store_tile<T, Body>(g, row0, column0, sums);                 // rounds once
//
// Body::for_each(sums, visit) calls visit(row in the tile, column in the tile, float&) for this
// thread's elements; where Body::kPairs, for_each_pair(sums, visit) calls visit(row, even column,
// float&, float&) for two neighbours of a row.
//
// A block has kThreads threads and kSharedBytes of dynamic shared memory, which accumulate uses
// from its beginning to its end; all threads of the block begin and end it together. k_begin is a
// multiple of kK. Sizes are in elements.
#pragma once
#include "gpu/kernels/access.hpp"
#include "gpu/kernels/launch.hpp"
#include "gpu/kernels/matmul_body_fma.hpp"
#include "gpu/kernels/matmul_body_mma.hpp"
#include "gpu/kernels/matmul_partition.hpp"

namespace halfulp::gpu::HALFULP_BUILD {

// kK: of 16-bit elements.
template <class T, int kM, int kN, int kK>
struct MatmulBody : MatmulBodyMma<T, kM, kN, matmul_tile_k(kK, sizeof(T))> {
  static constexpr int kTileM = kM, kTileN = kN, kTileK = matmul_tile_k(kK, sizeof(T));
};
template <int kM, int kN, int kK>
struct MatmulBody<float, kM, kN, kK> : MatmulBodyFma<kM, kN, matmul_tile_k(kK, sizeof(float))> {
  static constexpr int kTileM = kM, kTileN = kN, kTileK = matmul_tile_k(kK, sizeof(float));
};

// What lies inside of C of a tile of it.
template <class Output>
struct MatmulCorner {
  Output* c = nullptr;  // the tile's first element
  std::int64_t pitch = 0;
  int rows = 0, columns = 0;

  __device__ bool holds(int row, int column) const { return row < rows && column < columns; }
  __device__ Output* at(int row, int column) const { return c + (row * pitch + column); }
};
template <class Output, class Body>
__device__ inline MatmulCorner<Output> matmul_corner(const Matmul& g, std::int64_t row0,
                                                     std::int64_t column0) {
  return {static_cast<Output*>(g.c.data) + row0 * g.c.stride[0] + column0, g.c.stride[0],
          static_cast<int>(min(g.m - row0, std::int64_t{Body::kTileM})),
          static_cast<int>(min(g.n - column0, std::int64_t{Body::kTileN}))};
}

// A warp's part of a tile in shared memory, rounded: rows of fragments are too short to fill the
// sectors of global memory.
template <class Body, class Output>
struct MatmulStaged {
  static constexpr int kChunks = Body::kWarpN / kPack<Output>;  // of a row
  // Odd in chunks: neighbouring rows lie in different banks.
  static constexpr int kPitch = (kChunks | 1) * kPack<Output>;
  static_assert(Body::kThreads / 32 * Body::kWarpM * kPitch * sizeof(Output) <= Body::kSharedBytes);

  // By all threads of the warp.
  __device__ explicit MatmulStaged(typename Body::Accumulators& sums)
      : first(simt::dynamic_shared<Output>() + threadIdx.x / 32 * (Body::kWarpM * kPitch)) {
    const int row0 = Body::warp_row();
    const int column0 = Body::warp_column();
    Output* to = first;
    Body::for_each_pair(sums, [=](int row, int column, float x, float y) {
      store_pair(to + ((row - row0) * kPitch + column - column0), x, y);
    });
    __syncwarp();
  }

  Output* first;
};

// Stores whole chunks of 16 bytes.
template <class Body, class Output>
__device__ inline void store_tile_chunks(const MatmulCorner<Output>& to,
                                         typename Body::Accumulators& sums) {
  using Staged = MatmulStaged<Body, Output>;
  constexpr int kChunk = kPack<Output>;
  constexpr int kLanes = matmul_power_of_two(Staged::kChunks);  // of a row
  const Staged staged(sums);
  const int row0 = Body::warp_row();
  const int chunk = static_cast<int>(threadIdx.x) % kLanes * kChunk;
  const int column = Body::warp_column() + chunk;
  const int rows = chunk < Body::kWarpN ? min(to.rows - row0, Body::kWarpM) : 0;
#pragma unroll 4
  for (int row = static_cast<int>(threadIdx.x) % 32 / kLanes; row < rows; row += 32 / kLanes) {
    const Output* from = staged.first + (row * Staged::kPitch + chunk);
    Output* c = to.at(row0 + row, column);
    if (column + kChunk <= to.columns) {
      simt::store_vector(c, simt::load_vector<uint4>(from));
    } else {
      for (int i = 0; column + i < to.columns; ++i) c[i] = from[i];
    }
  }
}

// Rounds the tile once to C's format and stores what lies inside of C. All threads of the block
// begin it after a barrier; what shared memory held is lost, and another use of it needs a barrier.
template <class T, class Body>
__device__ inline void store_tile(const Matmul& g, std::int64_t row0, std::int64_t column0,
                                  typename Body::Accumulators& sums) {
  using Output = OutputOf<T>;
  const auto to = matmul_corner<Output, Body>(g, row0, column0);
  if constexpr (Body::kPairs) {
    if (g.c.aligned) return store_tile_chunks<Body>(to, sums);
  }
  Body::for_each(sums, [=](int row, int column, float x) {
    if (to.holds(row, column)) *to.at(row, column) = from_float<Output>(x);
  });
}

// The value of a launch parameter, refused outside of low to high.
inline std::int64_t matmul_setting(const Arguments& arguments, Launcher& launcher,
                                   std::string_view name, std::int64_t fallback, std::int64_t low,
                                   std::int64_t high) {
  const std::int64_t value = arguments.setting(name, fallback);
  if (value >= low && value <= high) return value;
  launcher.refuse(name, "is " + std::to_string(value) + ", needs " + std::to_string(low) + " to " +
                            std::to_string(high));
  return low;
}
inline std::int64_t matmul_tile_setting(const Arguments& arguments, Launcher& launcher,
                                        std::int64_t tiles) {
  return matmul_setting(arguments, launcher, "tile", kMatmulTileDefault, 0, tiles - 1);
}

// C's tiles in the order that the setting `group` asks for.
template <class Body>
MatmulTiles matmul_tiles(const Matmul& g, const Arguments& arguments, Launcher& launcher) {
  const std::int64_t group = matmul_setting(arguments, launcher, "group", 1, 1, kMatmulGroupMost);
  return {(g.m + Body::kTileM - 1) / Body::kTileM, (g.n + Body::kTileN - 1) / Body::kTileN, group};
}
// Blocks of k in a tile.
template <class Body>
std::int64_t matmul_iterations(const Matmul& g) {
  return (g.k + Body::kTileK - 1) / Body::kTileK;
}

// Formats and tiles that a build has. One with HALFULP_FEW_VARIANTS has f16 and f32 and the two
// smallest tiles, and refuses the rest: every pair costs seconds to compile.
#if defined(HALFULP_FEW_VARIANTS)
inline constexpr bool kMatmulFew = true;
#else
inline constexpr bool kMatmulFew = false;
#endif

// Calls body.operator()<T, MatmulBody<T, kM, kN, kK>>() for the storage format and the tile of
// index `tile`, one of the first kTiles of kMatmulTileSizes.
template <int kTiles, class Call>
void with_matmul_body(Launcher& launcher, Format storage, std::int64_t tile, const Call& call) {
  constexpr int kBuilt = kMatmulFew ? 2 : kTiles;
  if (tile >= kBuilt) return launcher.refuse("tile", "not in this build");
  const auto with_type = [&]<class T>() {
    const auto with_tile = [&]<int kTile>(const auto& next) {
      constexpr MatmulTileSize kSize = kMatmulTileSizes[kTile];
      if (tile == kTile) {
        call.template operator()<T, MatmulBody<T, kSize.m, kSize.n, kSize.k>>();
      } else if constexpr (kTile + 1 < kBuilt) {
        next.template operator()<kTile + 1>(next);
      }
    };
    with_tile.template operator()<0>(with_tile);
  };
  if (storage == Format::f16) return with_type.template operator()<__half>();
  if (storage == Format::f32) return with_type.template operator()<float>();
  if constexpr (kMatmulFew) {
    launcher.refuse("a", "format not in this build");
  } else {
    if (storage == Format::bf16) return with_type.template operator()<__nv_bfloat16>();
    with_type.template operator()<Tf32>();
  }
}

}  // namespace halfulp::gpu::HALFULP_BUILD
