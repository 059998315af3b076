// Addresses on a device, in a build without CUDA: none.
#include "tests/gpu/wide_call.hpp"
#include "tests/gpu/wide_memory.hpp"

namespace halfulp::gpu::test {
namespace {

class NoMemory : public WideMemory {
 public:
  NoMemory() { failure_ = "this build has no cuda backend"; }
  std::byte* take(std::int64_t) override { return nullptr; }
  void clear() override {}
  void write(std::byte*, std::span<const std::byte>) override {}
  void read(std::span<std::byte>, const std::byte*) override {}
};

}  // namespace

std::unique_ptr<WideMemory> wide_memory_cuda(std::int64_t) { return std::make_unique<NoMemory>(); }

WideResult call_on_device(EntryPoint, const Problem&, std::span<const WideLayout>,
                          WideMemory& memory) {
  return {.no_memory = memory.failure()};
}

std::string launch_on_device(EntryPoint, const Problem&, std::span<const Argument>) { return {}; }

}  // namespace halfulp::gpu::test
