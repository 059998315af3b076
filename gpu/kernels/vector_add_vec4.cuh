// vector_add, 16 bytes a thread between a scalar head and a scalar tail. The head ends where z is
// aligned; when x or y is not aligned there too, no position serves all three and every element is
// done alone.
#include "gpu/kernels/access.hpp"
#include "gpu/kernels/launch.hpp"
#include "gpu/kernels/vector_add.hpp"

namespace halfulp::gpu::HALFULP_BUILD {

inline constexpr int kVectorAddVec4Block = 128;

// Elements before the first 16-byte boundary, at most n.
template <class T>
__device__ inline std::int64_t elements_to_boundary(const T* address, std::int64_t n) {
  const std::uintptr_t past = reinterpret_cast<std::uintptr_t>(address) % 16;
  const std::int64_t head = static_cast<std::int64_t>((16 - past) % 16 / sizeof(T));
  return head < n ? head : n;
}

template <class T>
__global__ void vector_add_vec4_kernel(VectorAdd v) {
  const T* x = static_cast<const T*>(v.x.data);
  const T* y = static_cast<const T*>(v.y.data);
  T* z = static_cast<T*>(v.z.data);
  const std::int64_t thread = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  const std::int64_t head = elements_to_boundary(z, v.n);
  const bool together = aligned16(x + head) && aligned16(y + head);
  const std::int64_t packs = together ? (v.n - head) / kPack<T> : 0;
  const std::int64_t tail = head + packs * kPack<T>;

  for (std::int64_t pack = thread; pack < packs; pack += step) {
    const std::int64_t i = head + pack * kPack<T>;
    float a[kPack<T>];
    float b[kPack<T>];
    load_pack(x + i, a);
    load_pack(y + i, b);
    SIMT_UNROLL
    for (int j = 0; j < kPack<T>; ++j) a[j] += b[j];
    store_pack(z + i, a);
  }
  for (std::int64_t i = thread; i < head; i += step) {
    z[i] = from_float<T>(to_float(x[i]) + to_float(y[i]));
  }
  for (std::int64_t i = tail + thread; i < v.n; i += step) {
    z[i] = from_float<T>(to_float(x[i]) + to_float(y[i]));
  }
}

Status vector_add_vec4(const Arguments& arguments) {
  VectorAdd v;
  Launcher launcher(arguments, bind(arguments, v));
  with_storage(v.storage, [&]<class T>() {
    const std::int64_t packs = (v.n + kPack<T> - 1) / kPack<T>;
    const std::int64_t blocks = launcher.blocks_striding(packs, kVectorAddVec4Block);
    launcher.launch(vector_add_vec4_kernel<T>, blocks, kVectorAddVec4Block, v);
  });
  return launcher.status();
}

}  // namespace halfulp::gpu::HALFULP_BUILD
