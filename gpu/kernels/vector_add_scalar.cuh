// vector_add, one element a thread; the last block is partial.
#include "gpu/kernels/access.hpp"
#include "gpu/kernels/launch.hpp"
#include "gpu/kernels/vector_add.hpp"

namespace halfulp::gpu::HALFULP_BUILD {

inline constexpr int kVectorAddScalarBlock = 128;

template <class T>
__global__ void vector_add_scalar_kernel(VectorAdd v) {
  const T* x = static_cast<const T*>(v.x.data);
  const T* y = static_cast<const T*>(v.y.data);
  T* z = static_cast<T*>(v.z.data);
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < v.n) {
    z[i] = from_float<T>(to_float(x[i]) + to_float(y[i]));
  }
}

Status vector_add_scalar(const Arguments& arguments) {
  VectorAdd v;
  Launcher launcher(arguments, bind(arguments, v));
  with_storage(v.storage, [&]<class T>() {
    const std::int64_t blocks = launcher.blocks("x", v.n, kVectorAddScalarBlock);
    launcher.launch(vector_add_scalar_kernel<T>, blocks, kVectorAddScalarBlock, v);
  });
  return launcher.status();
}

}  // namespace halfulp::gpu::HALFULP_BUILD
