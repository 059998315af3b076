// Device memory that grows and stays allocated until it is released: a block for each purpose
// serves call after call.
#pragma once
#include <cstddef>
#include <cstdint>

namespace halfulp::gpu {

class DeviceBlock {
 public:
  // nullptr: cudaGetLastError() says why.
  std::byte* at_least(std::int64_t bytes);
  const std::byte* data() const { return static_cast<const std::byte*>(data_); }
  void release();

 private:
  void* data_ = nullptr;
  std::int64_t capacity_ = 0;
};

}  // namespace halfulp::gpu
