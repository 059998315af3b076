// Runs kernels on the SIMT executor, under one schedule or all of them, and inspects memory after
// each.
#include "gpu/backends/host.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <map>
#include <span>
#include <utility>

#include "gpu/backends/image.hpp"
#include "gpu/backends/summary.hpp"
#include "gpu/simt/fenced_memory.hpp"
#include "gpu/simt/session.hpp"
#include "gpu/simt/stray_access.hpp"

namespace halfulp::gpu {
namespace {

// Blocks of memory between guard bands, which stay allocated between calls and are handed out in
// order.
class Blocks {
 public:
  void rewind() { used_ = 0; }
  // guard | data | guard: the guards hold their pattern, the data any.
  std::span<std::byte> take(std::string_view name, std::int64_t data_bytes) {
    if (used_ == blocks_.size()) blocks_.emplace_back();
    Block& block = blocks_[used_++];
    block.name = name;
    block.bytes = block.memory.take(static_cast<std::size_t>(data_bytes + 2 * kGuardBytes));
    const std::byte* const data = block.bytes.data() + kGuardBytes;
    block.memory.label({name, data}, {name, data + data_bytes});
    fill_pattern(block.bytes, guard_bits(Format::f32), 4);
    return block.bytes;
  }

  // The first write to a guard, or before it.
  Fault inspect() const {
    for (std::size_t i = 0; i < used_; ++i) {
      const Block& block = blocks_[i];
      if (Fault fault = inspect_workspace_guards(block.name, block.bytes)) return fault;
      if (const simt::FencedMemory::Stray stray = block.memory.spare_written(); stray.name) {
        return {FaultKind::out_of_bounds, "write at about " + std::to_string(stray.bytes) +
                                              " bytes before workspace " + stray.name};
      }
    }
    return {};
  }

 private:
  struct Block {
    std::string name;
    simt::FencedMemory memory;
    std::span<std::byte> bytes;
  };
  std::deque<Block> blocks_;
  std::size_t used_ = 0;
};

// The locks of one run, between guard bands: zero at first, then as the last launch left them. A
// launch that leaves one set ends the run, so that no later one waits for it in vain.
class Locks {
 public:
  Locks() { memory().rewind(); }
  // The words of this name; those that are new are zero.
  std::span<std::uint32_t> take(std::string_view name, std::int64_t count) {
    std::span<std::byte>& block = blocks_[std::string(name)];
    const std::int64_t held = block.empty() ? -1 : std::ssize(words(block));
    if (held < count) {
      const std::span<std::byte> larger = memory().take(name, count * kWordBytes);
      std::ranges::fill(words(larger), 0u);
      if (held > 0) std::ranges::copy(words(block), words(larger).begin());
      block = larger;
    }
    return words(block);
  }

  Fault inspect() {
    if (Fault fault = memory().inspect()) return fault;
    for (const auto& [name, block] : blocks_) {
      if (Fault fault = inspect_locks(name, words(block))) return fault;
    }
    return {};
  }

 private:
  static constexpr std::int64_t kWordBytes = sizeof(std::uint32_t);
  static std::span<std::uint32_t> words(std::span<std::byte> block) {
    const auto count = (std::ssize(block) - 2 * kGuardBytes) / kWordBytes;
    return {reinterpret_cast<std::uint32_t*>(block.data() + kGuardBytes),
            static_cast<std::size_t>(count)};
  }
  static Blocks& memory() {
    thread_local Blocks blocks;
    return blocks;
  }

  std::map<std::string, std::span<std::byte>, std::less<>> blocks_;
};

// Workspaces between guard bands, poisoned at every take.
class HostWorkspaces : public Workspaces {
 public:
  HostWorkspaces(simt::Session& session, Fill fill, Locks& locks)
      : session_(session), fill_(fill), locks_(locks) {
    blocks().rewind();
  }

  void* take(std::string_view name, std::int64_t bytes) override {
    const std::span<std::byte> block = blocks().take(name, bytes);
    const auto data = block.subspan(kGuardBytes, static_cast<std::size_t>(bytes));
    fill_pattern(data, poison_bits(Format::f32, fill_), 4);
    session_.watch(data.data(), data.size(), std::string(name), simt::Contents::uninitialised, 4);
    return data.data();
  }

  std::uint32_t* locks(std::string_view name, std::int64_t count) override {
    const std::span<std::uint32_t> words = locks_.take(name, count);
    const bool watched = std::ranges::find(locks_taken_, name) != locks_taken_.end();
    if (count > 0 && !watched) {
      locks_taken_.emplace_back(name);
      session_.watch(words.data(), words.size_bytes(), std::string(name),
                     simt::Contents::initialised, sizeof words[0]);
    }
    return words.data();
  }

  Fault inspect() const {
    if (Fault fault = blocks().inspect()) return fault;
    return locks_.inspect();
  }

 private:
  static Blocks& blocks() {
    thread_local Blocks blocks;
    return blocks;
  }

  simt::Session& session_;
  Fill fill_;
  Locks& locks_;
  std::vector<std::string> locks_taken_;
};

FaultKind translate(simt::FaultKind kind) {
  switch (kind) {
    case simt::FaultKind::none:
      return FaultKind::none;
    case simt::FaultKind::launch_error:
      return FaultKind::launch_error;
    case simt::FaultKind::out_of_bounds:
      return FaultKind::out_of_bounds;
    case simt::FaultKind::misaligned:
      return FaultKind::crashed;  // what a device makes of it
    case simt::FaultKind::uninitialised:
      return FaultKind::uninitialised;
    case simt::FaultKind::input_written:
      return FaultKind::input_overwritten;
    case simt::FaultKind::race:
      return FaultKind::race;
    case simt::FaultKind::deadlock:
      return FaultKind::deadlock;
    case simt::FaultKind::divergence:
      return FaultKind::divergence;
    case simt::FaultKind::async_copy:
      return FaultKind::race;
    case simt::FaultKind::budget:
      return FaultKind::timed_out;
    case simt::FaultKind::no_memory:
      return FaultKind::no_memory;
  }
  return FaultKind::crashed;
}

simt::Order translate(Order order) {
  switch (order) {
    case Order::round_robin:
      return simt::Order::round_robin;
    case Order::reverse:
      return simt::Order::reverse;
    case Order::burst:
      return simt::Order::burst;
    case Order::exhaustive:
      return simt::Order::exhaustive;
  }
  return simt::Order::round_robin;
}

// When a cp.async lands differs from order to order, so that a missing wait and a buffer reused
// too early both show.
simt::Landing landing_in(simt::Order order) {
  if (order == simt::Order::reverse) return simt::Landing::at_issue;
  return order == simt::Order::burst ? simt::Landing::random : simt::Landing::at_wait;
}

void set_order(simt::Config& config, simt::Order order) {
  config.order = order;
  config.landing = landing_in(order);
}

Fault verdict_of(const Status& status, const simt::Session& session) {
  if (const simt::Fault& fault = session.fault()) return {translate(fault.kind), fault.text};
  if (!status.refused.empty()) return {FaultKind::refused, status.refused};
  if (!status.launch_error.empty()) return {FaultKind::launch_error, status.launch_error};
  return {};
}

void watch_operands(simt::Session& session, const Image& image, const Problem& problem) {
  for (std::size_t i = 0; i < problem.operands.size(); ++i) {
    const Operand& operand = problem.operands[i];
    const auto bytes = static_cast<std::size_t>(image.span_bytes(i));
    if (bytes == 0) continue;
    const auto contents =
        operand.role == Role::input ? simt::Contents::read_only : simt::Contents::uninitialised;
    session.watch(image.bytes().data() + image.data_offset(i), bytes, operand.name, contents,
                  static_cast<std::size_t>(size_bytes(operand.format)));
  }
}

// One call of the entry point and what it did to memory.
Fault call(const EntryCall& call, const Problem& problem, Image& image, Fill fill,
           const simt::Config& config, Locks& locks) {
  image.poison(fill);
  simt::Session session(config);
  watch_operands(session, image, problem);
  HostWorkspaces workspaces(session, fill, locks);
  const std::vector<Argument> operands = image.arguments(image.bytes().data());
  const Status status = call.entry(
      {operands, problem.epsilon, &workspaces, session.stream(), call.settings, problem.scale});
  if (Fault fault = verdict_of(status, session)) return fault;
  if (Fault fault = image.inspect()) return fault;
  return workspaces.inspect();
}

simt::Config config_of(Backend backend) {
  simt::Config config;
  config.checked = backend == Backend::host_checked;
  config.tensor_core = simt::kTensorCoreHopper;  // as numerics_on declares
  return config;
}

}  // namespace

Outcome host_run(EntryPoint entry, Backend backend, const Problem& problem,
                 const Schedule& schedule) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  const auto out_of_time = [&] {
    const std::chrono::duration<double> taken = Clock::now() - start;
    return schedule.time_max_s > 0 && taken.count() >= schedule.time_max_s;
  };
  Image image(problem);
  Outcome outcome;
  simt::Explorer explorer(schedule.preemption_bound);
  simt::Config config = config_of(backend);
  set_order(config, translate(schedule.order));
  config.seed = schedule.seed;
  config.resident = schedule.resident;
  if (schedule.order == Order::exhaustive) config.explorer = &explorer;

  Locks locks;
  Outputs after_nan;
  do {
    outcome.fault = call({entry, problem.settings}, problem, image, Fill::nan, config, locks);
    if (outcome.fault.kind != FaultKind::refused) ++outcome.launches;
    if (outcome.fault) return outcome;
    after_nan = image.outputs();
    add_distinct(outcome.outputs, after_nan);
    if (schedule.order != Order::exhaustive) break;
    outcome.schedules_exhausted = !explorer.next();
  } while (!outcome.schedules_exhausted && explorer.schedules() < schedule.schedules_max &&
           !out_of_time());

  // The second fill runs under one schedule, another one than the first: neither what was in memory
  // nor who came first may matter to a kernel that declares itself repeatable.
  config.explorer = nullptr;
  set_order(config,
            schedule.order == Order::round_robin ? simt::Order::reverse : simt::Order::round_robin);
  outcome.fault = call({entry, problem.settings}, problem, image, Fill::large, config, locks);
  ++outcome.launches;
  if (outcome.fault) return outcome;
  Outputs after_large = image.outputs();
  outcome.fault = image.never_written(after_nan, after_large);
  add_distinct(outcome.outputs, std::move(after_large));
  return outcome;
}

std::vector<Timing> host_time(std::span<const EntryCall> calls, Backend backend,
                              const Problem& problem, int repeats) {
  Image image(problem);
  const simt::Config config = config_of(backend);
  std::vector<Timing> timings;
  for (const EntryCall& timed : calls) {
    Locks locks;
    std::vector<double> times_us;
    for (int i = 0; i <= repeats; ++i) {
      const auto start = std::chrono::steady_clock::now();
      call(timed, problem, image, Fill::nan, config, locks);
      const std::chrono::duration<double, std::micro> elapsed =
          std::chrono::steady_clock::now() - start;
      if (i > 0) times_us.push_back(elapsed.count());
    }
    timings.push_back(timing_of(std::move(times_us)));
  }
  return timings;
}

void report_stray_accesses() { simt::report_stray_accesses(); }

double host_copy_bandwidth(std::int64_t bytes) {
  const auto size = static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1));
  std::vector<std::byte> from(size, std::byte{1});
  std::vector<std::byte> to(size);
  double best_s = 1e30;
  for (int i = 0; i < 5; ++i) {
    const auto start = std::chrono::steady_clock::now();
    std::memcpy(to.data(), from.data(), size);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    best_s = std::min(best_s, elapsed.count());
  }
  return to.back() == std::byte{1} ? 2.0 * static_cast<double>(size) / best_s : 0;
}

}  // namespace halfulp::gpu
