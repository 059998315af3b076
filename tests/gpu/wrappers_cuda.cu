// Runs the wrapper kernels on a GPU.
#include <cuda_runtime.h>

#include "tests/gpu/wrappers.cuh"

namespace halfulp::gpu::wrappers {
namespace {

struct DeviceWords {
  explicit DeviceWords(std::size_t words) { error = cudaMalloc(&data, 4 * words); }
  ~DeviceWords() { cudaFree(data); }
  unsigned* data = nullptr;
  cudaError_t error = cudaSuccess;
};

}  // namespace

std::string gpu_unavailable() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess) return cudaGetErrorString(error);
  return count > 0 ? "" : "no CUDA device";
}

int gpu_compute_capability() {
  int major = 0, minor = 0;
  cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0);
  cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0);
  return 10 * major + minor;
}

Result run_on_gpu(Wrapper wrapper, std::span<const std::uint32_t> input) {
  const Sizes words = sizes(wrapper, input.size());
  if (input.size() != words.input) return {{}, "wrong number of input words"};
  DeviceWords in(words.input);
  DeviceWords out(words.output);
  if (in.error != cudaSuccess) return {{}, cudaGetErrorString(in.error)};
  if (out.error != cudaSuccess) return {{}, cudaGetErrorString(out.error)};
  cudaMemcpy(in.data, input.data(), 4 * words.input, cudaMemcpyHostToDevice);
  cudaMemset(out.data, 0xdd, 4 * words.output);
  const simt::Status status =
      HALFULP_BUILD::launch_wrapper(wrapper, in.data, out.data, input.size(), nullptr);
  if (!status.ok()) return {{}, status.text};
  Result result;
  result.output.resize(words.output);
  const cudaError_t error =
      cudaMemcpy(result.output.data(), out.data, 4 * words.output, cudaMemcpyDeviceToHost);
  if (error != cudaSuccess) result.error = cudaGetErrorString(error);
  return result;
}

}  // namespace halfulp::gpu::wrappers
