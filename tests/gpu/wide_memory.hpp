// Memory of more bytes than a machine has, of which a test touches a few: each operand of a call
// lies in a range of addresses of its own.
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

// On device 0, plain allocations: up to `ranges` at a time of up to `bytes` each, made now and used
// by call after call. failure(): where there is less memory.
std::unique_ptr<WideMemory> wide_memory_cuda(int ranges, std::int64_t bytes);

}  // namespace halfulp::gpu::test
