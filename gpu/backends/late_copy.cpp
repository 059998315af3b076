// A function of the host holds the stream up; see late_copy.hpp.
#include "gpu/backends/late_copy.hpp"

#include <cuda_runtime.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace halfulp::gpu {

struct LateCopy::Gate {
  std::atomic<bool> open = false;
};

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kPatience = std::chrono::milliseconds(20);
// What the call launched elsewhere has this long to run.
constexpr auto kAfterRelease = std::chrono::microseconds(200);
constexpr auto kPoll = std::chrono::microseconds(20);

template <class Gate>
void CUDART_CB hold(void* held) {
  const std::unique_ptr<std::shared_ptr<Gate>> gate(static_cast<std::shared_ptr<Gate>*>(held));
  const Clock::time_point last = Clock::now() + kPatience;
  while (!(*gate)->open && Clock::now() < last) std::this_thread::sleep_for(kPoll);
  std::this_thread::sleep_for(kAfterRelease);
}

}  // namespace

LateCopy::LateCopy(void* stream, std::byte* to, const std::byte* from, std::int64_t bytes)
    : gate_(std::make_shared<Gate>()) {
  auto* queue = static_cast<cudaStream_t>(stream);
  // The function may run after this object has gone: it holds the gate itself.
  auto held = std::make_unique<std::shared_ptr<Gate>>(gate_);
  if (cudaLaunchHostFunc(queue, hold<Gate>, held.get()) == cudaSuccess) held.release();
  cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToDevice, queue);
}

LateCopy::~LateCopy() { release(); }

void LateCopy::release() { gate_->open = true; }

}  // namespace halfulp::gpu
