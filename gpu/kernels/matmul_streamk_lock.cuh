// matmul by Stream-K: of a tile that several programs share, the program with its last iteration
// stores, and raises the tile's flag; the others spin on the flag, then add atomically. A program
// computes the end of a tile before anything else, so whoever is waited for does not wait itself;
// but it has the higher number, and all programs must be resident. Partial sums are rounded to C's
// format.
#include "gpu/kernels/matmul_streamk.hpp"

namespace halfulp::gpu::HALFULP_BUILD {

// Returns, in all threads of the block, once the tile is stored. The last to see it lowers the flag
// for the next call.
__device__ inline void streamk_lock_wait(std::uint32_t* flag, std::int64_t contributors) {
  if (threadIdx.x == 0) {
    while (simt::load_acquire(flag) == 0) __nanosleep(20);
    const std::uint32_t seen = atomicAdd(flag, 1u);  // 1, and those before this one
    if (seen == contributors - 1) atomicExch(flag, 0u);
  }
  __syncthreads();
}

template <class T, class Body>
__global__ void __launch_bounds__(Body::kThreads)
    matmul_streamk_lock_kernel(const __grid_constant__ MatmulStreamk work, std::uint32_t* flags) {
  streamk_run<Body>(work, [&](const MatmulSegment& segment, typename Body::Accumulators& sums) {
    if (segment.owns_last()) {
      streamk_store<T, Body>(work, segment.tile, sums);
      if (!segment.shared()) return;
      __syncthreads();
      if (threadIdx.x == 0) simt::store_release(flags + segment.tile, 1u);
    } else {
      streamk_lock_wait(flags + segment.tile, segment.contributors);
      streamk_add<T, Body>(work, segment.tile, sums);
    }
  });
}

Status matmul_streamk_lock(const Arguments& arguments) {
  Matmul g;
  Launcher launcher(arguments, bind(arguments, g));
  const std::int64_t tile = matmul_tile_setting(arguments, launcher);
  with_matmul_body(g.storage, tile, [&]<class T, class Body>() {
    const auto kernel = matmul_streamk_lock_kernel<T, Body>;
    const StreamkPlan plan = streamk_plan<Body>(arguments, launcher, g, kernel);
    if (plan.asked > plan.resident) {
      launcher.refuse("programs", std::to_string(plan.asked) + " programs wait for each other, " +
                                      std::to_string(plan.resident) + " can be resident");
    }
    std::uint32_t* flags = launcher.locks("flags", plan.tiles.blocks);
    launcher.launch(kernel, plan.programs, plan.work, flags);
  });
  return launcher.status();
}

}  // namespace halfulp::gpu::HALFULP_BUILD
