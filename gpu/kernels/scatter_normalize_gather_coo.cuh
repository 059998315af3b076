// scatter_normalize, one block a node that walks ALL edges in groups of a block: every thread looks
// at one destination of the group, then owns one element of the output and adds the edges that
// match.
#include "gpu/kernels/access.hpp"
#include "gpu/kernels/launch.hpp"
#include "gpu/kernels/scatter_normalize.hpp"
#include "gpu/kernels/slices.hpp"

namespace halfulp::gpu::HALFULP_BUILD {

inline constexpr int kScatterGatherCooBlock = 128;

template <class T>
__global__ void __launch_bounds__(kScatterGatherCooBlock)
    scatter_normalize_gather_coo_kernel(ScatterNormalize s) {
  SIMT_SHARED(int, matches, [kScatterGatherCooBlock]);
  const std::int64_t node = blockIdx.x;
  const std::int64_t columns = s.heads * s.dim;
  for (std::int64_t column0 = 0; column0 < columns; column0 += kScatterGatherCooBlock) {
    const std::int64_t column = column0 + threadIdx.x;
    const bool active = column < columns;
    const std::int64_t head = active ? column / s.dim : 0;
    const std::int64_t d = active ? column % s.dim : 0;
    float numerator = 0.0f;
    float denominator = 0.0f;
    for (std::int64_t edge0 = 0; edge0 < s.edges; edge0 += kScatterGatherCooBlock) {
      const std::int64_t mine = edge0 + threadIdx.x;
      const bool match = mine < s.edges && s.destination[mine] == node;
      matches[threadIdx.x] = match ? 1 : 0;
      __syncthreads();
      for (int j = 0; active && j < kScatterGatherCooBlock; ++j) {
        if (matches[j] == 0) continue;
        const std::int64_t edge = edge0 + j;
        numerator += to_float(row_of<const T>(s.values, edge, head)[d]);
        denominator += to_float(row_of<const T>(s.scores, edge, 0)[head]);
      }
      __syncthreads();
    }
    if (active) {
      row_of<T>(s.out, node, head)[d] = from_float<T>(numerator / (denominator + s.epsilon));
    }
  }
}

Status scatter_normalize_gather_coo(const Arguments& arguments) {
  ScatterNormalize s;
  Launcher launcher(arguments, bind(arguments, s));
  if (s.nodes * s.heads * s.dim == 0) return launcher.status();
  with_storage(s.storage, [&]<class T>() {
    launcher.launch(scatter_normalize_gather_coo_kernel<T>, s.nodes, kScatterGatherCooBlock, s);
  });
  return launcher.status();
}

}  // namespace halfulp::gpu::HALFULP_BUILD
