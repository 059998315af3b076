// A slow producer: device memory that gets its contents on a stream only after a call has been made
// on that stream, as when a caller's operands come from a long kernel just before.
//
//   LateCopy late(stream, to, from, bytes);   // queued: waits, then copies on the device
//   ... make the call on `stream` ...
//   late.release();
//
// Work on the stream finds what was copied; work that a call puts on any other stream runs before
// the copy. The copy does not wait for a call that waits for the stream: it goes on after 20 ms.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>

namespace halfulp::gpu {

class LateCopy {
 public:
  // `stream` is a cudaStream_t, both pointers are device memory.
  LateCopy(void* stream, std::byte* to, const std::byte* from, std::int64_t bytes);
  ~LateCopy();
  LateCopy(const LateCopy&) = delete;
  LateCopy& operator=(const LateCopy&) = delete;

  void release();

 private:
  struct Gate;
  std::shared_ptr<Gate> gate_;
};

}  // namespace halfulp::gpu
