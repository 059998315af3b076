// matmul by Stream-K: a tile that several programs share is zeroed first, and every program adds
// its fp32 sums by atomics: to C itself where C is f32, else to a workspace, which a last pass
// rounds to C.
#include "gpu/kernels/matmul_streamk.hpp"

namespace halfulp::gpu::HALFULP_BUILD {

// sums = 0: block b does tile b of those whose iterations are split.
template <class Body>
__global__ void __launch_bounds__(Body::kThreads) matmul_streamk_atomic_zero_kernel(float* sums) {
  float* share = streamk_share<Body>(sums, blockIdx.x);
  for (int i = 0; i < Body::kTileM * Body::kTileN; i += Body::kThreads) share[i] = 0.0f;
}

template <class T, class Body>
__global__ void __launch_bounds__(Body::kThreads)
    matmul_streamk_atomic_kernel(const __grid_constant__ MatmulStreamk work, float* workspace) {
  streamk_run<Body>(work, [&](const MatmulSegment& segment, typename Body::Accumulators& sums) {
    if (!segment.shared()) {
      streamk_store<T, Body>(work, segment.tile, sums);
    } else if constexpr (sizeof(MatmulOutput<T>) == 4) {
      streamk_add<T, Body>(work, segment.tile, sums);
    } else {
      float* share = streamk_share<Body>(workspace, segment.tile);
      streamk_visit<T, Body>(work, segment.tile, sums, [&](int index, MatmulOutput<T>*, float sum) {
        atomicAdd(share + index * Body::kThreads, sum);
      });
    }
  });
}

// C = sums, rounded: block b does tile b, where it is shared.
template <class T, class Body>
__global__ void __launch_bounds__(Body::kThreads)
    matmul_streamk_atomic_round_kernel(const __grid_constant__ MatmulStreamk work,
                                       float* workspace) {
  if (work.partition.contributors(blockIdx.x) == 1) return;
  const float* share = streamk_share<Body>(workspace, blockIdx.x);
  typename Body::Accumulators unused;
  Body::clear(unused);
  streamk_visit<T, Body>(work, blockIdx.x, unused, [&](int index, MatmulOutput<T>* c, float) {
    *c = from_float<MatmulOutput<T>>(share[index * Body::kThreads]);
  });
}

Status matmul_streamk_atomic(const Arguments& arguments) {
  Matmul g;
  Launcher launcher(arguments, bind(arguments, g));
  const std::int64_t tile = matmul_tile_setting(arguments, launcher);
  with_matmul_body(g.storage, tile, [&]<class T, class Body>() {
    const auto kernel = matmul_streamk_atomic_kernel<T, Body>;
    const StreamkPlan plan = streamk_plan<Body>(arguments, launcher, g, kernel);
    if constexpr (sizeof(MatmulOutput<T>) == 4) {
      launcher.launch(matmul_streamk_zero_kernel<T, Body>, plan.tiles, plan.work);
      launcher.launch(kernel, plan.programs, plan.work, nullptr);
    } else {
      auto* sums =
          launcher.workspace<float>("sums", plan.tiles.blocks * Body::kTileM * Body::kTileN);
      launcher.launch(matmul_streamk_atomic_zero_kernel<Body>, plan.tiles, sums);
      launcher.launch(kernel, plan.programs, plan.work, sums);
      launcher.launch(matmul_streamk_atomic_round_kernel<T, Body>, plan.tiles, plan.work, sums);
    }
  });
  return launcher.status();
}

}  // namespace halfulp::gpu::HALFULP_BUILD
