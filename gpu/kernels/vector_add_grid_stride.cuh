// vector_add, a bounded number of blocks that stride over the elements.
#include "gpu/kernels/access.hpp"
#include "gpu/kernels/launch.hpp"
#include "gpu/kernels/vector_add.hpp"

namespace halfulp::gpu::HALFULP_BUILD {

inline constexpr int kVectorAddGridStrideBlock = 128;

template <class T>
__global__ void vector_add_grid_stride_kernel(VectorAdd v) {
  const T* x = static_cast<const T*>(v.x.data);
  const T* y = static_cast<const T*>(v.y.data);
  T* z = static_cast<T*>(v.z.data);
  const std::int64_t first = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = first; i < v.n; i += step) {
    z[i] = from_float<T>(to_float(x[i]) + to_float(y[i]));
  }
}

Status vector_add_grid_stride(const Arguments& arguments) {
  VectorAdd v;
  Launcher launcher(arguments, bind(arguments, v));
  with_storage(v.storage, [&]<class T>() {
    const std::int64_t blocks = launcher.blocks_striding(v.n, kVectorAddGridStrideBlock);
    launcher.launch(vector_add_grid_stride_kernel<T>, blocks, kVectorAddGridStrideBlock, v);
  });
  return launcher.status();
}

}  // namespace halfulp::gpu::HALFULP_BUILD
