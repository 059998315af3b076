// Times on a device.
#include "gpu/backends/device_times.hpp"

#include <cuda_runtime.h>

namespace halfulp::gpu {
namespace {

// After so many launches, or so long, code is loaded and clocks have risen.
constexpr int kWarmLaunches = 5;
constexpr float kWarmMs = 100;

// Writing twice the size of the L2 cache evicts what is in it.
std::int64_t flush_bytes() {
  int bytes = 0;
  cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, 0);
  return 2 * std::int64_t{bytes};
}

}  // namespace

std::vector<double> device_times_us(cudaStream_t stream, DeviceBlock& scratch, int repeats,
                                    const std::function<void()>& work) {
  const std::int64_t bytes = flush_bytes();
  std::byte* flush = scratch.at_least(bytes);
  cudaEvent_t start = nullptr;
  cudaEvent_t stop = nullptr;
  cudaEventCreate(&start);
  cudaEventCreate(&stop);
  std::vector<double> times;
  int warm = 0;
  float warm_ms = 0;
  while (static_cast<int>(times.size()) < repeats) {
    cudaMemsetAsync(flush, 0, static_cast<std::size_t>(bytes), stream);
    cudaEventRecord(start, stream);
    work();
    cudaEventRecord(stop, stream);
    cudaEventSynchronize(stop);
    float elapsed_ms = 0;
    cudaEventElapsedTime(&elapsed_ms, start, stop);
    if (warm < kWarmLaunches && warm_ms < kWarmMs) {
      ++warm;
      warm_ms += elapsed_ms;
    } else {
      times.push_back(1e3 * static_cast<double>(elapsed_ms));
    }
  }
  cudaEventDestroy(start);
  cudaEventDestroy(stop);
  return times;
}

}  // namespace halfulp::gpu
