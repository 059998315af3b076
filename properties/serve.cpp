// The worker's side of the socket; see serve.hpp.
#include "properties/serve.hpp"

#include <fmt/format.h>

#include <memory>
#include <new>
#include <stdexcept>

#include "properties/assert.hpp"
#include "properties/check.hpp"
#include "properties/deadline.hpp"
#include "properties/process.hpp"
#include "properties/record.hpp"
#include "properties/setup.hpp"

namespace halfulp::properties {

namespace {

constexpr std::string_view kSecond = "again ";

// Bytes the backend and the judgement take for one byte of the operands: their image, every set of
// outputs, a law's related problem, and the checker's memory of each access. Generous: where memory
// is that short, a case that is skipped costs less than a kernel that is blamed.
std::size_t held_bytes(const Setup& setup, const gpu::Problem& problem) {
  constexpr std::size_t kHost = 8;
  constexpr std::size_t kChecked = 32;
  std::size_t bytes = 0;
  for (const gpu::Operand& operand : problem.operands) {
    bytes += static_cast<std::size_t>(operand.count()) *
                 static_cast<std::size_t>(gpu::size_bytes(operand.format)) +
             operand.storage.size();
  }
  return bytes * (setup.backend == gpu::Backend::host_checked ? kChecked : kHost);
}

// All that judging takes but the kernel.
void rehearse(const Case& c) {
  const Setup setup = set_up(c);
  if (!setup.skip.empty()) return;
  const gpu::Problem problem = setup.operation->materialise(c);
  const std::size_t held = held_bytes(setup, problem);
  // Not a new-expression: the compiler would leave out one that nobody uses.
  const auto free = [](void* memory) { ::operator delete(memory); };
  const std::unique_ptr<void, decltype(free)> ballast(::operator new(held), free);
  setup.operation->evaluate(problem, setup.numerics, [](const reference::Rows&) {});
}

Judgement faulted(std::string text) {
  Judgement judgement;
  judgement.verdict = Verdict::faulted;
  judgement.fault = {gpu::FaultKind::crashed, std::move(text)};
  judgement.reason = fmt::format("{}: {}", gpu::name(judgement.fault.kind), judgement.fault.text);
  return judgement;
}

Judgement lacking() {
  Judgement judgement;
  judgement.verdict = Verdict::skipped;
  judgement.reason = "not enough memory for this case here";
  judgement.fault.kind = gpu::FaultKind::no_memory;
  return judgement;
}

// Rehearses in a process of its own: the heap it leaves behind, full of free memory, would serve a
// kernel after which no more can be had.
bool has_memory_for(const Case& c) {
  constexpr double kForever_s = kLimitMax_s;  // the pool's watchdog ends this process, and that one
  const auto rehearsed = [&]() -> std::string {
    try {
      rehearse(c);
      return {};
    } catch (const std::bad_alloc&) {
      return std::string(kNoMemory);
    }
  };
  std::string error;  // whatever else went wrong goes wrong again when the case is judged
  try {
    return run_apart(rehearsed, kForever_s, error) != kNoMemory;
  } catch (const std::runtime_error&) {  // not even for a process
    return false;
  }
}

Judgement judge_again(const Case& c, const JudgeOptions& options) {
  if (!has_memory_for(c)) return lacking();
  try {
    return judge(c, options);
  } catch (const std::bad_alloc&) {
    return faulted("an allocation failed, though there is memory for the case without the kernel");
  }
}

std::string answer(std::string_view line, const JudgeOptions& options) try {
  const bool again = line.starts_with(kSecond);
  if (again) line.remove_prefix(kSecond.size());
  const Parsed parsed = parse(line);
  HALFULP_ASSERT(!parsed.error, parsed.error.what);
  return to_record(again ? judge_again(parsed.value, options) : judge(parsed.value, options));
} catch (const std::bad_alloc&) {
  return std::string(kNoMemory);
} catch (const std::exception& error) {
  return to_record(faulted(fmt::format("exception: {}", error.what())));
}

}  // namespace

std::string request(const Case& c, Attempt attempt) {
  return (attempt == Attempt::second ? std::string(kSecond) : std::string()) + print(c);
}

void serve(int socket, const JudgeOptions& options) {
  gpu::report_stray_accesses();
  LineReader reader;
  std::string line;
  for (;;) {
    const LineReader::State state = reader.read(socket, line);
    if (state == LineReader::State::closed) return;
    if (state == LineReader::State::pending) continue;
    if (!send_line(socket, answer(line, options))) return;
  }
}

}  // namespace halfulp::properties
