// Kernels that are wrong on purpose, one fault each, for the tests of the backends. They take the
// operands of vector_add or scatter_normalize in fp32 and do just enough to look alive.
#include "gpu/kernels/launch.hpp"
#include "gpu/kernels/scatter_normalize.hpp"
#include "gpu/kernels/slices.hpp"
#include "gpu/kernels/vector_add.hpp"

namespace halfulp::gpu::HALFULP_BUILD {

// Writes z = x + y over elements first .. first + count - 1, in range or not.
__global__ void planted_add_kernel(VectorAdd v, std::int64_t first, std::int64_t count) {
  const float* x = static_cast<const float*>(v.x.data);
  const float* y = static_cast<const float*>(v.y.data);
  float* z = static_cast<float*>(v.z.data);
  for (std::int64_t i = first + threadIdx.x; i < first + count; i += blockDim.x) {
    const bool inside = i >= 0 && i < v.n;
    z[i] = inside ? x[i] + y[i] : 1.0f;
  }
}

// Writes one value anywhere.
__global__ void planted_poke_kernel(float* to, float value) {
  if (threadIdx.x == 0) *to = value;
}

// Reads a neighbour's value from shared memory without a barrier.
__global__ void planted_race_kernel(VectorAdd v) {
  SIMT_SHARED(float, sums, [64]);
  const float* x = static_cast<const float*>(v.x.data);
  const float* y = static_cast<const float*>(v.y.data);
  float* z = static_cast<float*>(v.z.data);
  const int i = static_cast<int>(threadIdx.x);
  sums[i] = 0.0f;
  __syncthreads();
  sums[63 - i] = 63 - i < v.n ? x[63 - i] + y[63 - i] : 0.0f;
  if (i < v.n) z[i] = sums[i];
}

// Adds to what is in z already, which nobody wrote.
__global__ void planted_accumulate_kernel(VectorAdd v) {
  const float* x = static_cast<const float*>(v.x.data);
  float* z = static_cast<float*>(v.z.data);
  for (std::int64_t i = threadIdx.x; i < v.n; i += blockDim.x) z[i] += x[i];
}

// Waits for a flag that nobody raises.
__global__ void planted_wait_kernel(VectorAdd v, int* flag) {
  if (threadIdx.x == 0) atomicExch(flag, 0);
  while (atomicAdd(flag, 0) != 1) {
  }
  static_cast<float*>(v.z.data)[0] = 1.0f;
}

__global__ void planted_divergence_kernel(VectorAdd v) {
  if (threadIdx.x < 16) {
    __syncthreads();
  } else {
    static_cast<float*>(v.z.data)[0] = 1.0f;
    __syncthreads();
  }
}

// A 16-byte access at an address that is 4 bytes off.
__global__ void planted_misaligned_kernel(VectorAdd v) {
  const float* x = static_cast<const float*>(v.x.data);
  const float4 four = simt::load_vector<float4>(x + (aligned16(x) ? 1 : 0));
  float* z = static_cast<float*>(v.z.data);
  z[0] = four.x;
  z[1] = four.y;
  z[2] = four.z;
  z[3] = four.w;
}

// Every block takes a ticket; the order of the blocks is the answer.
__global__ void planted_clear_kernel(int* ticket) { *ticket = 0; }
__global__ void planted_order_kernel(VectorAdd v, int* ticket) {
  static_cast<float*>(v.z.data)[blockIdx.x] = static_cast<float>(atomicAdd(ticket, 1));
}

// Writes one element past the end of every row but the last: into gaps, if there are any.
__global__ void planted_gap_kernel(ScatterNormalize s) {
  const std::int64_t rows = s.nodes * s.heads;
  for (std::int64_t row = threadIdx.x; row < rows; row += blockDim.x) {
    const std::int64_t end = row + 1 < rows ? s.dim + 1 : s.dim;
    float* out = row_of<float>(s.out, row / s.heads, row % s.heads);
    for (std::int64_t d = 0; d < end; ++d) out[d] = 0.0f;
  }
}

Status planted_past_end(const Arguments& arguments) {
  VectorAdd v;
  Launcher launcher(arguments, bind(arguments, v));
  launcher.launch(planted_add_kernel, 1, 32, v, 0, v.n + 1);
  return launcher.status();
}
Status planted_before_begin(const Arguments& arguments) {
  VectorAdd v;
  Launcher launcher(arguments, bind(arguments, v));
  launcher.launch(planted_add_kernel, 1, 32, v, -2, v.n + 2);
  return launcher.status();
}
Status planted_lost_tail(const Arguments& arguments) {
  VectorAdd v;
  Launcher launcher(arguments, bind(arguments, v));
  launcher.launch(planted_add_kernel, 1, 32, v, 0, v.n - 1);
  return launcher.status();
}
// Right, but on cuda not on the stream of the call.
Status planted_other_stream(const Arguments& arguments) {
  Arguments elsewhere = arguments;
#if defined(__CUDACC__)
  elsewhere.stream = nullptr;
#endif
  VectorAdd v;
  Launcher launcher(elsewhere, bind(elsewhere, v));
  launcher.launch(planted_add_kernel, 1, 64, v, std::int64_t{0}, v.n);
  return launcher.status();
}
Status planted_input(const Arguments& arguments) {
  VectorAdd v;
  Launcher launcher(arguments, bind(arguments, v));
  launcher.launch(planted_add_kernel, 1, 32, v, 0, v.n);
  launcher.launch(planted_poke_kernel, 1, 32, static_cast<float*>(v.y.data) + 3, 77.0f);
  return launcher.status();
}
Status planted_workspace(const Arguments& arguments) {
  VectorAdd v;
  Launcher launcher(arguments, bind(arguments, v));
  float* sums = launcher.workspace<float>("sums", 5);
  launcher.launch(planted_add_kernel, 1, 32, v, 0, v.n);
  launcher.launch(planted_poke_kernel, 1, 32, sums + 5, 77.0f);
  return launcher.status();
}
Status planted_race(const Arguments& arguments) {
  VectorAdd v;
  Launcher launcher(arguments, bind(arguments, v));
  launcher.launch(planted_race_kernel, 1, 64, v);
  return launcher.status();
}
Status planted_accumulate(const Arguments& arguments) {
  VectorAdd v;
  Launcher launcher(arguments, bind(arguments, v));
  launcher.launch(planted_accumulate_kernel, 1, 32, v);
  return launcher.status();
}
Status planted_wait(const Arguments& arguments) {
  VectorAdd v;
  Launcher launcher(arguments, bind(arguments, v));
  launcher.launch(planted_wait_kernel, 1, 32, v, launcher.workspace<int>("flag", 1));
  return launcher.status();
}
Status planted_divergence(const Arguments& arguments) {
  VectorAdd v;
  Launcher launcher(arguments, bind(arguments, v));
  launcher.launch(planted_divergence_kernel, 1, 32, v);
  return launcher.status();
}
Status planted_misaligned(const Arguments& arguments) {
  VectorAdd v;
  Launcher launcher(arguments, bind(arguments, v));
  launcher.launch(planted_misaligned_kernel, 1, 1, v);
  return launcher.status();
}
Status planted_order(const Arguments& arguments) {
  VectorAdd v;
  Launcher launcher(arguments, bind(arguments, v));
  int* ticket = launcher.workspace<int>("ticket", 1);
  launcher.launch(planted_clear_kernel, 1, 1, ticket);
  launcher.launch(planted_order_kernel, v.n, 1, v, ticket);
  return launcher.status();
}
Status planted_launch_error(const Arguments& arguments) {
  VectorAdd v;
  Launcher launcher(arguments, bind(arguments, v));
  launcher.launch(planted_add_kernel, 1, 2048, v, 0, v.n);
  return launcher.status();
}
Status planted_nothing(const Arguments&) { return {}; }
Status planted_gap(const Arguments& arguments) {
  ScatterNormalize s;
  Launcher launcher(arguments, bind(arguments, s));
  launcher.launch(planted_gap_kernel, 1, 32, s);
  return launcher.status();
}

}  // namespace halfulp::gpu::HALFULP_BUILD
