// matmul by Stream-K: programs that share a tile leave their fp32 sums in a workspace and count
// themselves; the last to arrive adds all of them in order of k. Nobody waits, so any number of
// programs is safe, and the same input gives the same bits.
#include "gpu/kernels/matmul_streamk.hpp"

namespace halfulp::gpu::HALFULP_BUILD {

// A program shares at most two tiles: one that earlier programs began, and one that later programs
// go on with. Place 2 p holds its part of the first, 2 p + 1 its part of the second.
__device__ inline std::int64_t streamk_workspace_place(std::int64_t program, bool owns_first) {
  return 2 * program + (owns_first ? 1 : 0);
}

// Whether this block is the last of the tile's contributors, whose parts it may then read. In all
// threads of the block.
__device__ inline bool streamk_workspace_last(std::uint32_t* counter, std::int64_t contributors) {
  __syncthreads();
  bool last = false;
  if (threadIdx.x == 0) {
    __threadfence();
    last = atomicAdd(counter, 1u) == contributors - 1;
    __threadfence();
    if (last) *counter = 0;  // for the next call
  }
  return __syncthreads_or(last) != 0;
}

template <class T, class Body>
__global__ void __launch_bounds__(Body::kThreads)
    matmul_streamk_workspace_kernel(const __grid_constant__ MatmulStreamk work, float* parts,
                                    std::uint32_t* counters) {
  streamk_run<Body>(work, [&](const MatmulSegment& segment, typename Body::Accumulators& sums) {
    if (segment.shared()) {
      const std::int64_t place = streamk_workspace_place(blockIdx.x, segment.owns_first());
      float* mine = streamk_share<Body>(parts, place);
      streamk_visit<T, Body>(work, segment.tile, sums, [&](int index, MatmulOutput<T>*, float sum) {
        mine[index * Body::kThreads] = sum;
      });
      if (!streamk_workspace_last(counters + segment.tile, segment.contributors)) return;
      Body::clear(sums);
      for (std::int64_t i = 0; i < segment.contributors; ++i) {
        const std::int64_t other = streamk_workspace_place(segment.program_first + i, i == 0);
        const float* part = streamk_share<Body>(parts, other);
        streamk_visit<T, Body>(
            work, segment.tile, sums,
            [&](int index, MatmulOutput<T>*, float& sum) { sum += part[index * Body::kThreads]; });
      }
    }
    streamk_store<T, Body>(work, segment.tile, sums);
  });
}

Status matmul_streamk_workspace(const Arguments& arguments) {
  Matmul g;
  Launcher launcher(arguments, bind(arguments, g));
  const std::int64_t tile = matmul_tile_setting(arguments, launcher);
  with_matmul_body(g.storage, tile, [&]<class T, class Body>() {
    const auto kernel = matmul_streamk_workspace_kernel<T, Body>;
    const StreamkPlan plan = streamk_plan<Body>(arguments, launcher, g, kernel);
    const std::int64_t places = plan.tiles.blocks > 0 ? 2 * plan.programs.blocks : 0;
    auto* parts = launcher.workspace<float>("parts", places * Body::kTileM * Body::kTileN);
    std::uint32_t* counters = launcher.locks("counters", plan.tiles.blocks);
    launcher.launch(kernel, plan.programs, plan.work, parts, counters);
  });
  return launcher.status();
}

}  // namespace halfulp::gpu::HALFULP_BUILD
