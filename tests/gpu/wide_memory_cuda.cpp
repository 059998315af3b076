// Addresses on a device, and calls on operands there.
#include <cuda_runtime.h>

#include <list>
#include <map>

#include "tests/gpu/wide_call.hpp"
#include "tests/gpu/wide_memory.hpp"

namespace halfulp::gpu::test {
namespace {

constexpr std::int64_t kAlignmentBytes = 256;

std::string text_of(cudaError_t error) {
  return error == cudaSuccess ? std::string() : cudaGetErrorString(error);
}

// One allocation, handed out from its begin.
class CudaMemory : public WideMemory {
 public:
  explicit CudaMemory(std::int64_t bytes) : bytes_(bytes) {
    const cudaError_t error = cudaMalloc(&data_, static_cast<std::size_t>(bytes));
    // Between rows there is NaN, not what a call before has left there.
    if (error == cudaSuccess) {
      keep(cudaMemset(data_, 0xff, static_cast<std::size_t>(bytes)));
      return;
    }
    cudaGetLastError();
    data_ = nullptr;
    bytes_ = 0;
    failure_ = "no " + std::to_string(bytes >> 30) + " GiB of device memory: " + text_of(error);
  }
  ~CudaMemory() override { cudaFree(data_); }
  CudaMemory(const CudaMemory&) = delete;
  CudaMemory& operator=(const CudaMemory&) = delete;

  std::byte* take(std::int64_t bytes) override {
    if (bytes > bytes_ - used_) {
      if (failure_.empty()) failure_ = "all device memory of the test is in use";
      return nullptr;
    }
    std::byte* range = static_cast<std::byte*>(data_) + used_;
    used_ += (bytes + 2 * kAlignmentBytes - 1) / kAlignmentBytes * kAlignmentBytes;
    return range;
  }
  void clear() override { used_ = 0; }
  void write(std::byte* to, std::span<const std::byte> from) override {
    keep(cudaMemcpy(to, from.data(), from.size(), cudaMemcpyHostToDevice));
  }
  void read(std::span<std::byte> to, const std::byte* from) override {
    keep(cudaMemcpy(to.data(), from, to.size(), cudaMemcpyDeviceToHost));
  }

 private:
  void keep(cudaError_t error) {
    if (failure_.empty()) failure_ = text_of(error);
  }
  void* data_ = nullptr;
  std::int64_t bytes_ = 0, used_ = 0;
};

// Allocated at every take, all bits set; locks are zero.
class CudaWorkspaces : public Workspaces {
 public:
  CudaWorkspaces() = default;
  CudaWorkspaces(const CudaWorkspaces&) = delete;
  CudaWorkspaces& operator=(const CudaWorkspaces&) = delete;
  ~CudaWorkspaces() override {
    for (void* block : blocks_) cudaFree(block);
  }

  void* take(std::string_view, std::int64_t bytes) override { return filled(bytes, 0xff); }
  std::uint32_t* locks(std::string_view name, std::int64_t count) override {
    void*& words = locks_[std::string(name)];
    if (words == nullptr) words = filled(4 * count, 0);
    return static_cast<std::uint32_t*>(words);
  }

 private:
  void* filled(std::int64_t bytes, int byte) {
    void* block = nullptr;
    if (cudaMalloc(&block, static_cast<std::size_t>(bytes)) != cudaSuccess) return nullptr;
    blocks_.push_back(block);
    cudaMemset(block, byte, static_cast<std::size_t>(bytes));
    return block;
  }
  std::list<void*> blocks_;
  std::map<std::string, void*> locks_;
};

}  // namespace

std::unique_ptr<WideMemory> wide_memory_cuda(std::int64_t bytes) {
  return std::make_unique<CudaMemory>(bytes);
}

std::string launch_on_device(EntryPoint entry, const Problem& problem,
                             std::span<const Argument> operands) {
  CudaWorkspaces workspaces;
  cudaStream_t stream = nullptr;
  cudaStreamCreate(&stream);
  const Status status =
      entry({operands, problem.epsilon, &workspaces, stream, problem.settings, problem.scale});
  const std::string failed = text_of(cudaStreamSynchronize(stream));
  const std::string unread = text_of(cudaGetLastError());
  cudaStreamDestroy(stream);
  for (const std::string& text : {status.refused, status.launch_error, failed}) {
    if (!text.empty()) return text;
  }
  return unread;
}

WideResult call_on_device(EntryPoint entry, const Problem& problem,
                          std::span<const WideLayout> layouts, WideMemory& memory) {
  const WideOperands operands(memory, problem, layouts);
  if (operands.arguments().empty()) return {.no_memory = memory.failure()};
  WideResult result{.wrong = launch_on_device(entry, problem, operands.arguments())};
  result.outputs = operands.outputs();
  if (result.wrong.empty()) result.wrong = memory.failure();
  return result;
}

}  // namespace halfulp::gpu::test
