// Runs one kernel on one problem and says what happened, without judging the numbers.
//
//   Outcome outcome = run(kernel, Backend::host_checked, problem, schedule);
//
// Each call launches at least twice: outputs and workspaces are filled first with NaN, then with a
// large finite value. On the host backends the schedule may mean many launches (exhaustive).
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gpu/kernel.hpp"

namespace halfulp::gpu {

enum class Order : std::uint8_t { round_robin, reverse, burst, exhaustive };
std::string_view name(Order order);

// How the host executor interleaves blocks and warps. The cuda backend ignores it.
struct Schedule {
  Order order = Order::round_robin;
  int resident = 4;                   // blocks resident at once
  int preemption_bound = 2;           // exhaustive: involuntary switches per schedule
  std::int64_t schedules_max = 2000;  // exhaustive: stop after that many, and say so
  double time_max_s = 0;              // exhaustive: begin no schedule after that; 0: no limit
  std::uint64_t seed = 1;             // burst
};

enum class FaultKind : std::uint8_t {
  none,
  refused,        // the entry point refused legal arguments
  launch_error,   // launch or sticky error
  out_of_bounds,  // host-checked, or a guard band changed
  input_overwritten,
  never_written,  // an output element still holds the poison of both fills
  uninitialised,  // a read of memory nothing wrote
  race,
  deadlock,        // also a wait on a block that can never become resident
  divergence,      // barrier or warp operation reached by the wrong threads
  locks_left_set,  // a word of Workspaces::locks that is not zero after the call
  timed_out,       // the watchdog ended the call
  no_memory,       // the backend itself lacks memory: says nothing of the kernel
  crashed,         // a signal, or a sticky CUDA error
};
std::string_view name(FaultKind kind);

struct Fault {
  FaultKind kind = FaultKind::none;
  std::string text;  // what, where (operand, element or file:line), which threads
  explicit operator bool() const { return kind != FaultKind::none; }
};

// The outputs of one launch: one entry per output operand, laid out like Operand::storage.
using Outputs = std::vector<std::vector<std::byte>>;

struct Outcome {
  Fault fault;  // the first one
  // Distinct results over fills and schedules, in order of appearance.
  std::vector<Outputs> outputs;
  std::int64_t launches = 0;
  bool schedules_exhausted = false;
};

bool available(Backend backend);                  // compiled in and usable here
std::string unavailable_reason(Backend backend);  // empty when available
std::string device_name(Backend backend);
// What the kernel declares, with the tensor-core model of the backend's device filled in.
Numerics numerics_on(const Kernel& kernel, Backend backend);
Outcome run(const Kernel& kernel, Backend backend, const Problem& problem,
            const Schedule& schedule);

// For a process that only runs kernels: before an access far out of bounds ends it, stderr says how
// far from which operand or workspace that was. Host backends.
void report_stray_accesses();

// Median time of one call over `repeats` warm launches, with device events on cuda.
struct Timing {
  double median_us = 0;
  double minimum_us = 0;
  int repeats = 0;      // 0: not launched
  std::string failure;  // why not
};
Timing time_kernel(const Kernel& kernel, Backend backend, const Problem& problem, int repeats);
// The same for several calls on the operands of one problem, which are placed once; settings are
// the call's own.
struct TimedCall {
  const Kernel* kernel = nullptr;
  std::vector<Setting> settings;
};
std::vector<Timing> time_calls(std::span<const TimedCall> calls, Backend backend,
                               const Problem& problem, int repeats);
// Device-to-device copy of `bytes`, read plus written bytes per second.
double copy_bandwidth_bytes_per_s(Backend backend, std::int64_t bytes);

}  // namespace halfulp::gpu
