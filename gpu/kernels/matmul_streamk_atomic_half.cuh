// matmul by Stream-K: a tile that several programs share is zeroed first, and every program adds
// its sums to C by atomics of C's format, f16 or bf16: partial sums are rounded to it, and so is
// every addition.
#include "gpu/kernels/matmul_streamk.hpp"

namespace halfulp::gpu::HALFULP_BUILD {

template <class T, class Body>
__global__ void __launch_bounds__(Body::kThreads)
    matmul_streamk_atomic_half_kernel(const __grid_constant__ MatmulStreamk work) {
  streamk_run<Body>(work, [&](const MatmulSegment& segment, typename Body::Accumulators& sums) {
    if (segment.shared()) {
      streamk_add<T, Body>(work, segment.tile, sums);
    } else {
      streamk_store<T, Body>(work, segment.tile, sums);
    }
  });
}

Status matmul_streamk_atomic_half(const Arguments& arguments) {
  Matmul g;
  Launcher launcher(arguments, bind(arguments, g));
  const std::int64_t tile = matmul_tile_setting(arguments, launcher);
  with_matmul_body(g.storage, tile, [&]<class T, class Body>() {
    if constexpr (sizeof(MatmulOutput<T>) == 2) {
      const auto kernel = matmul_streamk_atomic_half_kernel<T, Body>;
      const StreamkPlan plan = streamk_plan<Body>(arguments, launcher, g, kernel);
      launcher.launch(matmul_streamk_zero_kernel<T, Body>, plan.tiles, plan.work);
      launcher.launch(kernel, plan.programs, plan.work);
    } else {
      launcher.refuse("c", "format " + std::string(name(g.storage)) + ", needs f16 or bf16");
    }
  });
  return launcher.status();
}

}  // namespace halfulp::gpu::HALFULP_BUILD
