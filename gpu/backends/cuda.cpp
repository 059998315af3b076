// Real launches on device 0: the image of a call is copied to the device, kernels run on a stream
// of our own, and the image is copied back and inspected exactly as on the host.
//
// A stray write shows in a guard band; a stray read cannot be seen directly, but everything around
// an input is NaN or an index far out of range. Memory comes from plain cudaMalloc, so reads far
// past the end of the whole image fault and nearer ones do not. After a sticky error the process
// has lost its device: that call and all later ones report `crashed`, so run it in a worker that
// can be replaced.
#include "gpu/backends/cuda.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "gpu/assert.hpp"
#include "gpu/backends/device_block.hpp"
#include "gpu/backends/device_times.hpp"
#include "gpu/backends/image.hpp"
#include "gpu/backends/late_copy.hpp"
#include "gpu/backends/summary.hpp"

namespace halfulp::gpu {
namespace {

// Words between guard bands. Zero when first taken in a run, then as the last launch left them.
struct Locks {
  DeviceBlock block;
  std::int64_t bytes = 0;  // in use
};

// The stream and the memory of this process. One call at a time.
struct Device {
  cudaStream_t stream = nullptr;
  DeviceBlock image;
  DeviceBlock produced;  // what a slow producer copies to the image
  std::vector<DeviceBlock> workspaces;
  std::map<std::string, Locks, std::less<>> locks;
  DeviceBlock scratch;
};
Device& device() {
  static Device instance = [] {
    Device made;
    HALFULP_GPU_ASSERT(cudaStreamCreateWithFlags(&made.stream, cudaStreamNonBlocking) ==
                       cudaSuccess);
    return made;
  }();
  return instance;
}

// Copies on our stream: a plain cudaMemcpy from pageable memory may still be under way when it
// returns, and our stream would not wait for it.
cudaError_t copy_in(std::byte* to, std::span<const std::byte> from) {
  return cudaMemcpyAsync(to, from.data(), from.size(), cudaMemcpyHostToDevice, device().stream);
}
cudaError_t copy_out(std::span<std::byte> to, const std::byte* from) {
  const cudaError_t error =
      cudaMemcpyAsync(to.data(), from, to.size(), cudaMemcpyDeviceToHost, device().stream);
  return error != cudaSuccess ? error : cudaStreamSynchronize(device().stream);
}

// Repeats a 4-byte pattern over device memory: a piece from the host, then doubled in place.
void fill_device(std::byte* to, std::int64_t bytes, std::uint64_t pattern) {
  constexpr std::int64_t kPieceBytes = 1 << 14;  // a copy that does not wait for the stream
  std::vector<std::byte> piece(static_cast<std::size_t>(std::min(bytes, kPieceBytes)));
  fill_pattern(piece, pattern, 4);
  copy_in(to, piece);
  for (auto filled = static_cast<std::int64_t>(piece.size()); filled < bytes;) {
    const std::int64_t more = std::min(filled, bytes - filled);
    cudaMemcpyAsync(to + filled, to, static_cast<std::size_t>(more), cudaMemcpyDeviceToDevice,
                    device().stream);
    filled += more;
  }
}

// The guard bands around `bytes` of device memory, as inspect_workspace_guards takes a block: what
// lies between them is left out, but for the bytes by which the second one misses a word.
std::vector<std::byte> guards_around(const std::byte* memory, std::int64_t bytes) {
  const std::int64_t between = bytes % 4;
  std::vector<std::byte> block(static_cast<std::size_t>(2 * kGuardBytes + between));
  const auto first = static_cast<std::size_t>(kGuardBytes);
  copy_out(std::span(block).first(first), memory);
  copy_out(std::span(block).last(first), memory + kGuardBytes + bytes);
  return block;
}

// What memory holds when a launch begins. With `large` the image comes from a slow producer on the
// stream of the call. as_left: outputs, workspaces and locks as the launch before left them, like a
// caller who calls again.
enum class Memory : std::uint8_t { nan, large, as_left };

Fill fill_of(Memory memory) { return memory == Memory::nan ? Fill::nan : Fill::large; }

// Workspaces of one call. Guarded and poisoned, unless only time matters.
class CudaWorkspaces : public Workspaces {
 public:
  enum class Mode : std::uint8_t { inspected, timed };
  CudaWorkspaces(Mode mode, Memory memory) : mode_(mode), memory_(memory) {}

  void* take(std::string_view name, std::int64_t bytes) override {
    std::vector<DeviceBlock>& blocks = device().workspaces;
    if (taken_.size() == blocks.size()) blocks.emplace_back();
    std::byte* memory = blocks[taken_.size()].at_least(bytes + 2 * kGuardBytes);
    if (memory == nullptr) return fail();
    taken_.push_back({std::string(name), memory, bytes});
    if (mode_ == Mode::inspected && memory_ != Memory::as_left) {
      fill_device(memory, kGuardBytes, guard_bits(Format::f32));
      fill_device(memory + kGuardBytes, bytes, poison_bits(Format::f32, fill_of(memory_)));
      // The pattern goes on where the words of the data end.
      const std::int64_t rest = bytes % 4;
      fill_device(memory + kGuardBytes + bytes - rest, kGuardBytes + rest, guard_bits(Format::f32));
    }
    return memory + kGuardBytes;
  }

  std::uint32_t* locks(std::string_view name, std::int64_t count) override {
    Locks& held = device().locks[std::string(name)];
    const auto bytes = count * static_cast<std::int64_t>(sizeof(std::uint32_t));
    std::byte* memory = held.block.at_least(bytes + 2 * kGuardBytes);
    if (memory == nullptr) return static_cast<std::uint32_t*>(fail());
    if (bytes > held.bytes) {
      fill_device(memory, kGuardBytes, guard_bits(Format::f32));
      cudaMemsetAsync(memory + kGuardBytes, 0, static_cast<std::size_t>(bytes), device().stream);
      fill_device(memory + kGuardBytes + bytes, kGuardBytes, guard_bits(Format::f32));
      held.bytes = bytes;
    }
    return reinterpret_cast<std::uint32_t*>(memory + kGuardBytes);
  }

  void rewind() { taken_.clear(); }
  // Of an allocation, if one failed.
  cudaError_t failure() const { return failure_; }

  Fault inspect() const {
    for (const Taken& taken : taken_) {
      const std::vector<std::byte> guards = guards_around(taken.memory, taken.bytes);
      if (Fault fault = inspect_workspace_guards(taken.name, guards)) return fault;
    }
    for (const auto& [name, held] : device().locks) {
      if (held.bytes == 0) continue;
      const std::vector<std::byte> guards = guards_around(held.block.data(), held.bytes);
      if (Fault fault = inspect_workspace_guards(name, guards)) return fault;
      std::vector<std::uint32_t> words(static_cast<std::size_t>(held.bytes) /
                                       sizeof(std::uint32_t));
      copy_out(std::as_writable_bytes(std::span(words)), held.block.data() + kGuardBytes);
      if (Fault fault = inspect_locks(name, words)) return fault;
    }
    return {};
  }

 private:
  struct Taken {
    std::string name;
    std::byte* memory;   // of the guard before it
    std::int64_t bytes;  // without the guards
  };
  void* fail() {
    failure_ = cudaGetLastError();
    return nullptr;
  }

  Mode mode_;
  Memory memory_;
  cudaError_t failure_ = cudaSuccess;
  std::vector<Taken> taken_;
};

Fault crashed(const char* when, cudaError_t error) {
  return {FaultKind::crashed, std::string(when) + ": " + cudaGetErrorString(error)};
}

// Of an allocation: too little memory says nothing of the kernel, all else is a device gone wrong.
Fault allocation_failure(cudaError_t error, const std::string& wanted) {
  if (error == cudaErrorMemoryAllocation) {
    return {FaultKind::no_memory, "no device memory for " + wanted};
  }
  return crashed("the device failed before this call", error);
}

// What the launches themselves and the runtime say after a call.
Fault verdict_of(const Status& status, const CudaWorkspaces& workspaces) {
  cudaError_t error = cudaStreamSynchronize(device().stream);
  if (error != cudaSuccess) return crashed("the kernel failed", error);
  error = cudaDeviceSynchronize();
  if (error != cudaSuccess) return crashed("work outside the stream failed", error);
  if (workspaces.failure() != cudaSuccess) {
    return allocation_failure(workspaces.failure(), status.refused);
  }
  if (!status.refused.empty()) return {FaultKind::refused, status.refused};
  if (!status.launch_error.empty()) return {FaultKind::launch_error, status.launch_error};
  error = cudaGetLastError();
  if (error == cudaSuccess) return {};
  return {FaultKind::launch_error,
          std::string("an error the entry point left unread: ") + cudaGetErrorString(error)};
}

// The image on its way to `base`, which is all NaN (indices: -1) until the call has been made. No
// memory for a second image: nullptr, and nothing is on its way.
std::unique_ptr<LateCopy> produce_late(std::byte* base, std::span<const std::byte> bytes) {
  Device& here = device();
  std::byte* produced = here.produced.at_least(static_cast<std::int64_t>(bytes.size()));
  if (produced == nullptr) {
    cudaGetLastError();
    return nullptr;
  }
  copy_in(produced, bytes);
  cudaMemsetAsync(base, 0xff, bytes.size(), here.stream);
  cudaStreamSynchronize(here.stream);
  return std::make_unique<LateCopy>(here.stream, base, produced,
                                    static_cast<std::int64_t>(bytes.size()));
}

Fault call(EntryPoint entry, const Problem& problem, Image& image, Memory memory) {
  Device& here = device();
  const std::span<std::byte> bytes = image.bytes();
  std::byte* base = here.image.at_least(static_cast<std::int64_t>(bytes.size()));
  if (base == nullptr) {
    return allocation_failure(cudaGetLastError(), std::to_string(bytes.size()) + " bytes");
  }
  cudaError_t error = cudaSuccess;
  std::unique_ptr<LateCopy> late;
  if (memory != Memory::as_left) {
    image.poison(fill_of(memory));
    if (memory == Memory::large) late = produce_late(base, bytes);
    error = late != nullptr ? cudaGetLastError() : copy_in(base, bytes);
    if (error != cudaSuccess) return crashed("the device failed before this call", error);
  }
  CudaWorkspaces workspaces(CudaWorkspaces::Mode::inspected, memory);
  const std::vector<Argument> operands = image.arguments(base);
  const Status status =
      entry({operands, problem.epsilon, &workspaces, here.stream, problem.settings, problem.scale});
  late.reset();
  if (Fault fault = verdict_of(status, workspaces)) return fault;
  error = copy_out(bytes, base);
  if (error != cudaSuccess) return crashed("the device failed after this call", error);
  if (Fault fault = image.inspect()) return fault;
  return workspaces.inspect();
}

template <class Work>
Timing time(int repeats, const Work& work) {
  return timing_of(device_times_us(device().stream, device().scratch, repeats, work));
}

}  // namespace

std::string cuda_unavailable_reason() {
  static const std::string reason = [] {
    int count = 0;
    const cudaError_t error = cudaGetDeviceCount(&count);
    cudaGetLastError();
    if (error != cudaSuccess) return std::string("no device: ") + cudaGetErrorString(error);
    return count > 0 ? std::string() : std::string("no device: none is visible");
  }();
  return reason;
}

std::string cuda_device_name() {
  cudaDeviceProp properties{};
  if (cudaGetDeviceProperties(&properties, 0) != cudaSuccess) return {};
  return properties.name;
}

TensorCore cuda_tensor_core() {
  int major = 0;
  if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0) != cudaSuccess) {
    return kTensorCoreAny;
  }
  if (major == 8) return kTensorCoreAmpere;
  return major == 9 ? kTensorCoreHopper : kTensorCoreAny;
}

// Nothing but the poison, where the launch before gave something else: what this one wrote was
// there before its operands were.
Fault written_early(Image& image, const Outputs& after_nan, const Outputs& outputs) {
  if (outputs == after_nan) return {};
  image.poison(Fill::large);
  if (outputs != image.outputs()) return {};
  return {
      FaultKind::never_written,
      "no output was written when the operands came late on the stream of the call: it launches "
      "on another stream"};
}

// The third launch is a caller's second one: everything is as the last launch left it.
Outcome cuda_run(EntryPoint entry, const Problem& problem) {
  Image image(problem);
  Outcome outcome;
  for (auto& [name, held] : device().locks) held.bytes = 0;
  Outputs after_nan;
  for (const Memory memory : {Memory::nan, Memory::large, Memory::as_left}) {
    outcome.fault = call(entry, problem, image, memory);
    if (outcome.fault.kind != FaultKind::refused) ++outcome.launches;
    if (outcome.fault) return outcome;
    Outputs outputs = image.outputs();
    if (memory == Memory::nan) after_nan = outputs;
    if (memory == Memory::large) {
      outcome.fault = image.never_written(after_nan, outputs);
      if (!outcome.fault) outcome.fault = written_early(image, after_nan, outputs);
    }
    add_distinct(outcome.outputs, std::move(outputs));
    if (outcome.fault) return outcome;
  }
  return outcome;
}

namespace {

// The image of the call lies at `base`.
Timing time_one(const EntryCall& call, const Problem& problem, const Image& image, std::byte* base,
                int repeats) {
  for (auto& [name, held] : device().locks) held.bytes = 0;
  CudaWorkspaces workspaces(CudaWorkspaces::Mode::timed, Memory::nan);
  const std::vector<Argument> operands = image.arguments(base);
  Status status;
  const Timing timing = time(repeats, [&] {
    workspaces.rewind();
    if (!status.ok()) return;
    status = call.entry(
        {operands, problem.epsilon, &workspaces, device().stream, call.settings, problem.scale});
  });
  if (status.ok()) return timing;
  cudaGetLastError();  // of memory that a workspace lacked
  return {.failure = status.refused.empty() ? status.launch_error : status.refused};
}

}  // namespace

std::vector<Timing> cuda_time(std::span<const EntryCall> calls, const Problem& problem,
                              int repeats) {
  Image image(problem);
  image.poison(Fill::nan);
  const std::span<std::byte> bytes = image.bytes();
  std::byte* base = device().image.at_least(static_cast<std::int64_t>(bytes.size()));
  if (base == nullptr) {
    const Timing failed{.failure = cudaGetErrorString(cudaGetLastError())};
    return std::vector<Timing>(calls.size(), failed);
  }
  copy_in(base, bytes);
  std::vector<Timing> timings;
  for (const EntryCall& call : calls) {
    timings.push_back(time_one(call, problem, image, base, repeats));
  }
  return timings;
}

double cuda_copy_bandwidth(std::int64_t bytes) {
  DeviceBlock from;
  DeviceBlock to;
  std::byte* source = from.at_least(bytes);
  std::byte* target = to.at_least(bytes);
  if (source == nullptr || target == nullptr) {
    cudaGetLastError();
    return 0;
  }
  const auto size = static_cast<std::size_t>(bytes);
  const Timing timing = time(20, [&] {
    cudaMemcpyAsync(target, source, size, cudaMemcpyDeviceToDevice, device().stream);
  });
  from.release();
  to.release();
  return 2.0 * static_cast<double>(bytes) / (timing.median_us * 1e-6);
}

}  // namespace halfulp::gpu
