// Memory of which a test touches a few bytes, more on the host than a machine has: each operand of
// a call lies in a range of addresses of its own.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace halfulp::gpu::test {

class WideMemory {
 public:
  virtual ~WideMemory() = default;
  // A range of that many bytes, 256-byte aligned, valid until clear(). nullptr: failure() says why
  // there is none.
  virtual std::byte* take(std::int64_t bytes) = 0;
  virtual void clear() = 0;
  virtual void write(std::byte* to, std::span<const std::byte> from) = 0;
  virtual void read(std::span<std::byte> to, const std::byte* from) = 0;
  const std::string& failure() const { return failure_; }

 protected:
  std::string failure_;
};

// Addresses without memory; a page gets some when it is touched.
std::unique_ptr<WideMemory> wide_memory_host();

// On device 0: one plain allocation of that many bytes, made now, of which take() hands out parts.
// failure(): where there is less memory, or no device.
std::unique_ptr<WideMemory> wide_memory_cuda(std::int64_t bytes);

}  // namespace halfulp::gpu::test
