// What the Stream-K variants share: launch parameters, a program's walk over its segments, and the
// ways in which a tile of sums reaches C. A variant adds the fix-up of tiles that several programs
// share; it keeps to these rules of CUDA's memory model:
//   what a block has written is released by one thread after a barrier, and acquired by one thread
//   before a barrier; locks and counters are only touched by thread 0 of a block.
#pragma once
#include <algorithm>
#include <cstdint>

#include "gpu/kernels/access.hpp"
#include "gpu/kernels/launch.hpp"
#include "gpu/kernels/matmul_body.hpp"
#include "gpu/kernels/matmul_partition.hpp"

namespace halfulp::gpu::HALFULP_BUILD {

inline constexpr std::int64_t kStreamkProgramsMost = 65536;

// What every program is told.
struct MatmulStreamk {
  Matmul matmul;
  MatmulTiles tiles;
  MatmulPartition partition;
};

// C = sums, rounded once.
template <class T, class Body>
__device__ inline void streamk_store(const MatmulStreamk& work, std::int64_t tile,
                                     typename Body::Accumulators& sums) {
  const MatmulTile at = work.tiles.at(tile);
  store_tile<T, Body>(work.matmul, at.row * Body::kTileM, at.column * Body::kTileN, sums);
}

// One or two neighbours of C by one atomic of their format.
__device__ inline void streamk_add_word(float* c, const float* sum) { atomicAdd(c, *sum); }
__device__ inline void streamk_add_word(__half* c, const __half* sum) {
  atomicAdd(reinterpret_cast<__half2*>(c), *reinterpret_cast<const __half2*>(sum));
}
__device__ inline void streamk_add_word(__nv_bfloat16* c, const __nv_bfloat16* sum) {
  atomicAdd(reinterpret_cast<__nv_bfloat162*>(c), *reinterpret_cast<const __nv_bfloat162*>(sum));
}

// The same as streamk_add of an aligned C: lanes take neighbouring words of 4 bytes.
template <class Body, class Output>
__device__ inline void streamk_add_words(const MatmulCorner<Output>& to,
                                         typename Body::Accumulators& sums) {
  using Staged = MatmulStaged<Body, Output>;
  constexpr int kWord = 4 / static_cast<int>(sizeof(Output));
  constexpr int kWords = Body::kWarpN / kWord;  // of a row
  const Staged staged(sums);
  const int row0 = Body::warp_row();
  const int column0 = Body::warp_column();
#pragma unroll 4
  for (int i = static_cast<int>(threadIdx.x) % 32; i < Body::kWarpM * kWords; i += 32) {
    const int row = i / kWords;
    const int within = i % kWords * kWord;
    const int column = column0 + within;
    const Output* from = staged.first + (row * Staged::kPitch + within);
    if (to.holds(row0 + row, column + kWord - 1)) {
      streamk_add_word(to.at(row0 + row, column), from);
    } else if (to.holds(row0 + row, column)) {
      atomicAdd(to.at(row0 + row, column), *from);
    }
  }
}

// C += sums rounded to C's format, each element by an atomic of that format. Shared
// memory as for store_tile.
template <class T, class Body>
__device__ inline void streamk_add(const MatmulStreamk& work, std::int64_t tile,
                                   typename Body::Accumulators& sums) {
  using Output = OutputOf<T>;
  const MatmulTile at = work.tiles.at(tile);
  const auto to =
      matmul_corner<Output, Body>(work.matmul, at.row * Body::kTileM, at.column * Body::kTileN);
  if constexpr (Body::kPairs) {
    if (work.matmul.c.aligned) return streamk_add_words<Body>(to, sums);
  }
  Body::for_each(sums, [=](int row, int column, float sum) {
    if (to.holds(row, column)) atomicAdd(to.at(row, column), from_float<Output>(sum));
  });
}

// This thread's first place of tile `index` of a workspace of whole tiles; its others follow
// kThreads apart.
template <class Body>
__device__ inline float* streamk_share(float* workspace, std::int64_t index) {
  return workspace + index * Body::kTileM * Body::kTileN + threadIdx.x;
}

// Visits this thread's sums beside their places: visit(address, sum). What lies outside of C is
// among them: sums of zeros, and no test that would keep accesses from being under way together.
template <class Body, class Visit>
__device__ inline void streamk_visit_share(float* workspace, std::int64_t index,
                                           typename Body::Accumulators& sums, Visit visit) {
  float* share = streamk_share<Body>(workspace, index);
  Body::for_each(sums, [&](int, int, float& sum) {
    visit(share, sum);
    share += Body::kThreads;
  });
}

// Adds the tile's fp32 sums to its place in a workspace by atomics, those inside of C.
template <class T, class Body>
__device__ inline void streamk_add_sums(const MatmulStreamk& work, float* workspace,
                                        std::int64_t tile, typename Body::Accumulators& sums) {
  const MatmulTile at = work.tiles.at(tile);
  const auto c = matmul_corner<OutputOf<T>, Body>(work.matmul, at.row * Body::kTileM,
                                                  at.column * Body::kTileN);
  float* share = streamk_share<Body>(workspace, tile);
  Body::for_each(sums, [&](int row, int column, float& sum) {
    if (c.holds(row, column)) atomicAdd(share, sum);
    share += Body::kThreads;
  });
}

// The work of program blockIdx.x: finish(segment, sums) for each of its segments in turn, by all
// threads of the block.
template <class Body, class Finish>
__device__ inline void streamk_run(const MatmulStreamk& work, Finish finish) {
  // The segment lies in shared memory: nothing of it takes a register during accumulate.
  SIMT_SHARED(MatmulSegment, segment);
  const auto segments = static_cast<int>(work.partition.segments(blockIdx.x));
#pragma unroll 1
  for (int i = 0; i < segments; ++i) {
    if (threadIdx.x == 0) {
      const MatmulSegment own = work.partition.segment(blockIdx.x, i);
      segment = own;
    }
    __syncthreads();
    typename Body::Accumulators sums;
    Body::clear(sums);
    const MatmulTile tile = work.tiles.at(segment.tile);
    const std::int64_t k_end = segment.end * Body::kTileK;
    Body::accumulate(work.matmul, tile.row * Body::kTileM, tile.column * Body::kTileN,
                     segment.begin * Body::kTileK, k_end < work.matmul.k ? k_end : work.matmul.k,
                     sums);
    finish(segment, sums);
    __syncthreads();
  }
}

// C = 0 where a tile is shared: block b does tile b of those whose iterations are split.
template <class T, class Body>
__global__ void __launch_bounds__(Body::kThreads)
    matmul_streamk_zero_kernel(const __grid_constant__ MatmulStreamk work) {
  if (work.partition.contributors(blockIdx.x) == 1) return;
  typename Body::Accumulators zeros;
  Body::clear(zeros);
  streamk_store<T, Body>(work, blockIdx.x, zeros);
}

// sums = 0: block b does tile b of those whose iterations are split.
template <class Body>
__global__ void __launch_bounds__(Body::kThreads) matmul_streamk_zero_sums_kernel(float* sums) {
  typename Body::Accumulators unused;
  streamk_visit_share<Body>(sums, blockIdx.x, unused, [](float* share, float) { *share = 0.0f; });
}

// C = sums, rounded: block b does tile b, where it is shared.
template <class T, class Body>
__global__ void __launch_bounds__(Body::kThreads)
    matmul_streamk_round_kernel(const __grid_constant__ MatmulStreamk work, float* sums) {
  if (work.partition.contributors(blockIdx.x) == 1) return;
  typename Body::Accumulators tile;
  streamk_visit_share<Body>(sums, blockIdx.x, tile, [](float* share, float& sum) { sum = *share; });
  streamk_store<T, Body>(work, blockIdx.x, tile);
}

// What a variant launches.
struct StreamkPlan {
  MatmulStreamk work;
  LaunchShape programs;       // those that have something to do
  LaunchShape tiles;          // a block for each tile that programs may share
  std::int64_t asked = 0;     // programs
  std::int64_t resident = 0;  // of them, at once
};

template <class Body, class... Parameters>
StreamkPlan streamk_plan(const Arguments& arguments, Launcher& launcher, const Matmul& g,
                         void (*kernel)(Parameters...)) {
  const std::int64_t resident =
      launcher.resident_blocks(kernel, Body::kThreads, Body::kSharedBytes);
  std::int64_t programs =
      matmul_setting(arguments, launcher, "programs", 0, 0, kStreamkProgramsMost);
  if (programs == 0) programs = std::max<std::int64_t>(resident, 1);
  const bool two_tile = matmul_setting(arguments, launcher, "two_tile", 0, 0, 1) == 1;
  const MatmulTiles tiles = matmul_tiles<Body>(g, arguments, launcher);
  // K = 0 has one iteration, over no k: the zeros are somebody's.
  const std::int64_t iterations = std::max<std::int64_t>(matmul_iterations<Body>(g), 1);
  const MatmulPartition partition(tiles.count(), iterations, programs, two_tile);
  return {{g, tiles, partition},
          {partition.programs_used(), Body::kThreads, Body::kSharedBytes},
          {partition.streamk_tiles(), Body::kThreads, Body::kSharedBytes},
          programs,
          resident};
}

}  // namespace halfulp::gpu::HALFULP_BUILD
