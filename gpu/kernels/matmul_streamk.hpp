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

// Visits this thread's elements of a tile that lie inside of C: visit(index, address in C, sum).
// Thread t keeps element `index` at index * kThreads + t of a workspace's kTileM * kTileN floats.
template <class T, class Body, class Visit>
__device__ inline void streamk_visit(const MatmulStreamk& work, std::int64_t tile,
                                     typename Body::Accumulators& sums, Visit visit) {
  const Matmul& g = work.matmul;
  const MatmulTile at = work.tiles.at(tile);
  const std::int64_t row0 = at.row * Body::kTileM;
  const std::int64_t column0 = at.column * Body::kTileN;
  auto* corner = static_cast<OutputOf<T>*>(g.c.data) + row0 * g.c.stride[0] + column0;
  const auto rows = static_cast<int>(min(g.m - row0, std::int64_t{Body::kTileM}));
  const auto columns = static_cast<int>(min(g.n - column0, std::int64_t{Body::kTileN}));
  int index = 0;
  Body::for_each(sums, [&](int row, int column, float& sum) {
    if (row < rows && column < columns) visit(index, corner + row * g.c.stride[0] + column, sum);
    ++index;
  });
}

// C = sums, rounded once.
template <class T, class Body>
__device__ inline void streamk_store(const MatmulStreamk& work, std::int64_t tile,
                                     typename Body::Accumulators& sums) {
  const MatmulTile at = work.tiles.at(tile);
  store_tile<T, Body>(work.matmul, at.row * Body::kTileM, at.column * Body::kTileN, sums);
}

// C += sums rounded to C's format, each element by an atomic of that format.
template <class T, class Body>
__device__ inline void streamk_add(const MatmulStreamk& work, std::int64_t tile,
                                   typename Body::Accumulators& sums) {
  streamk_visit<T, Body>(work, tile, sums, [](int, OutputOf<T>* c, float sum) {
    atomicAdd(c, from_float<OutputOf<T>>(sum));
  });
}

// This thread's share of place `index` of a workspace of whole tiles.
template <class Body>
__device__ inline float* streamk_share(float* workspace, std::int64_t index) {
  return workspace + index * Body::kTileM * Body::kTileN + threadIdx.x;
}

// Adds the tile's fp32 sums to its place in a workspace.
template <class T, class Body>
__device__ inline void streamk_add_sums(const MatmulStreamk& work, float* workspace,
                                        std::int64_t tile, typename Body::Accumulators& sums) {
  float* share = streamk_share<Body>(workspace, tile);
  streamk_visit<T, Body>(work, tile, sums, [&](int index, OutputOf<T>*, float sum) {
    atomicAdd(share + index * Body::kThreads, sum);
  });
}

// The work of program blockIdx.x: finish(segment, sums) for each of its segments in turn, by all
// threads of the block.
template <class Body, class Finish>
__device__ inline void streamk_run(const MatmulStreamk& work, Finish finish) {
  const std::int64_t program = blockIdx.x;
  const std::int64_t segments = work.partition.segments(program);
  for (std::int64_t i = 0; i < segments; ++i) {
    const MatmulSegment segment = work.partition.segment(program, i);
    const MatmulTile tile = work.tiles.at(segment.tile);
    const std::int64_t k_end = segment.end * Body::kTileK;
    typename Body::Accumulators sums;
    Body::clear(sums);
    Body::accumulate(work.matmul, tile.row * Body::kTileM, tile.column * Body::kTileN,
                     segment.begin * Body::kTileK, k_end < work.matmul.k ? k_end : work.matmul.k,
                     sums);
    finish(segment, sums);
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
  float* share = streamk_share<Body>(sums, blockIdx.x);
  for (int i = 0; i < Body::kTileM * Body::kTileN; i += Body::kThreads) share[i] = 0.0f;
}

// C = sums, rounded: block b does tile b, where it is shared.
template <class T, class Body>
__global__ void __launch_bounds__(Body::kThreads)
    matmul_streamk_round_kernel(const __grid_constant__ MatmulStreamk work, float* sums) {
  if (work.partition.contributors(blockIdx.x) == 1) return;
  const float* share = streamk_share<Body>(sums, blockIdx.x);
  typename Body::Accumulators unused;
  Body::clear(unused);
  streamk_visit<T, Body>(work, blockIdx.x, unused, [&](int index, OutputOf<T>* c, float) {
    *c = from_float<OutputOf<T>>(share[index * Body::kThreads]);
  });
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
