// matmul by Stream-K: of a tile that several programs share, the first program to arrive claims the
// tile's lock (0 to 1), stores, and says so (2); the others wait for that, then add atomically.
// Only a program that runs can have claimed, and it waits for nobody: any number of programs is
// safe. Partial sums are rounded to C's format.
#include "gpu/kernels/matmul_streamk.hpp"

namespace halfulp::gpu::HALFULP_BUILD {

// Whether this block claimed the tile; where not, returns once the tile is stored. In all threads
// of the block. A lock counts on from 2 those that have seen the tile stored; the last of them
// lowers it for the next call.
__device__ inline bool streamk_lock3_claim(std::uint32_t* lock, std::int64_t contributors) {
  bool claimed = false;
  if (threadIdx.x == 0) {
    claimed = atomicCAS(lock, 0u, 1u) == 0;
    if (!claimed) {
      while (simt::load_acquire(lock) < 2) __nanosleep(20);
      const std::uint32_t seen = atomicAdd(lock, 1u);  // 2, and those before this one
      if (seen == contributors) atomicExch(lock, 0u);
    }
  }
  return __syncthreads_or(claimed) != 0;
}

template <class T, class Body>
__global__ void __launch_bounds__(Body::kThreads)
    matmul_streamk_lock3_kernel(const __grid_constant__ MatmulStreamk work, std::uint32_t* locks) {
  streamk_run<Body>(work, [&](const MatmulSegment& segment, typename Body::Accumulators& sums) {
    std::uint32_t* lock = locks + segment.tile;
    if (!segment.shared()) {
      streamk_store<T, Body>(work, segment.tile, sums);
    } else if (streamk_lock3_claim(lock, segment.contributors)) {
      streamk_store<T, Body>(work, segment.tile, sums);
      __syncthreads();
      if (threadIdx.x == 0) simt::store_release(lock, 2u);
    } else {
      streamk_add<T, Body>(work, segment.tile, sums);
    }
  });
}

Status matmul_streamk_lock3(const Arguments& arguments) {
  Matmul g;
  Launcher launcher(arguments, bind(arguments, g));
  const std::int64_t tile = matmul_tile_setting(arguments, launcher);
  with_matmul_body(g.storage, tile, [&]<class T, class Body>() {
    const auto kernel = matmul_streamk_lock3_kernel<T, Body>;
    const StreamkPlan plan = streamk_plan<Body>(arguments, launcher, g, kernel);
    std::uint32_t* locks = launcher.locks("locks", plan.tiles.blocks);
    launcher.launch(kernel, plan.programs, plan.work, locks);
  });
  return launcher.status();
}

}  // namespace halfulp::gpu::HALFULP_BUILD
