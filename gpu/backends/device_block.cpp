// Device memory from plain cudaMalloc; see device_block.hpp.
#include "gpu/backends/device_block.hpp"

#include <cuda_runtime.h>

namespace halfulp::gpu {

std::byte* DeviceBlock::at_least(std::int64_t bytes) {
  if (bytes > capacity_) {
    release();
    if (cudaMalloc(&data_, static_cast<std::size_t>(bytes)) != cudaSuccess) return nullptr;
    capacity_ = bytes;
  }
  return static_cast<std::byte*>(data_);
}

void DeviceBlock::release() {
  cudaFree(data_);
  data_ = nullptr;
  capacity_ = 0;
}

}  // namespace halfulp::gpu
