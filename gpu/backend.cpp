// Sends a call to the backend that runs it, and the names of orders and faults.
#include "gpu/backend.hpp"

#include <array>

#include "gpu/assert.hpp"
#include "gpu/backends/cuda.hpp"
#include "gpu/backends/host.hpp"
#include "gpu/problem_check.hpp"

namespace halfulp::gpu {

std::string_view name(Order order) {
  constexpr std::array<std::string_view, 4> kNames{"round_robin", "reverse", "burst", "exhaustive"};
  return kNames.at(static_cast<std::size_t>(order));
}

std::string_view name(FaultKind kind) {
  constexpr std::array<std::string_view, 14> kNames{
      "none",           "refused",       "launch_error", "out_of_bounds", "input_overwritten",
      "never_written",  "uninitialised", "race",         "deadlock",      "divergence",
      "locks_left_set", "timed_out",     "no_memory",    "crashed"};
  return kNames.at(static_cast<std::size_t>(kind));
}

bool available(Backend backend) { return unavailable_reason(backend).empty(); }

std::string unavailable_reason(Backend backend) {
  return backend == Backend::cuda ? cuda_unavailable_reason() : std::string();
}

std::string device_name(Backend backend) {
  if (backend == Backend::cuda) return cuda_device_name();
  return backend == Backend::host ? "host executor" : "host executor, checked";
}

Numerics numerics_on(const Kernel& kernel, Backend backend) {
  Numerics numerics = kernel.numerics;
  if (numerics.tensor_cores) {
    numerics.tensor_core = backend == Backend::cuda ? cuda_tensor_core() : kTensorCoreHopper;
  }
  return numerics;
}

Outcome run(const Kernel& kernel, Backend backend, const Problem& problem,
            const Schedule& schedule) {
  const EntryPoint entry = kernel.entry.at(static_cast<std::size_t>(backend));
  HALFULP_GPU_ASSERT(kernel.operation == problem.operation);
  Outcome outcome;
  if (entry == nullptr) {
    outcome.fault = {FaultKind::refused, std::string(kernel.name) + " is not built for backend " +
                                             std::string(name(backend))};
    return outcome;
  }
  if (std::string reason = unavailable_reason(backend); !reason.empty()) {
    outcome.fault = {FaultKind::refused, std::move(reason)};
    return outcome;
  }
  if (std::string error = check_problem(problem); !error.empty()) {
    outcome.fault = {FaultKind::refused, std::move(error)};
    return outcome;
  }
  return backend == Backend::cuda ? cuda_run(entry, problem)
                                  : host_run(entry, backend, problem, schedule);
}

Timing time_kernel(const Kernel& kernel, Backend backend, const Problem& problem, int repeats) {
  const TimedCall call{&kernel, problem.settings};
  return time_calls({&call, 1}, backend, problem, repeats).front();
}

std::vector<Timing> time_calls(std::span<const TimedCall> calls, Backend backend,
                               const Problem& problem, int repeats) {
  HALFULP_GPU_ASSERT(available(backend) && check_problem(problem).empty());
  std::vector<EntryCall> entries;
  for (const TimedCall& call : calls) {
    HALFULP_GPU_ASSERT(call.kernel->operation == problem.operation);
    entries.push_back({call.kernel->entry.at(static_cast<std::size_t>(backend)), call.settings});
    HALFULP_GPU_ASSERT(entries.back().entry != nullptr);
  }
  return backend == Backend::cuda ? cuda_time(entries, problem, repeats)
                                  : host_time(entries, backend, problem, repeats);
}

double copy_bandwidth_bytes_per_s(Backend backend, std::int64_t bytes) {
  return backend == Backend::cuda ? cuda_copy_bandwidth(bytes) : host_copy_bandwidth(bytes);
}

}  // namespace halfulp::gpu
