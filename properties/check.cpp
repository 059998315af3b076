// The pipeline from a case to its verdict; see check.hpp.
#include "properties/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "properties/assert.hpp"
#include "properties/judging.hpp"
#include "properties/kept_problem.hpp"
#include "properties/law.hpp"
#include "properties/layout.hpp"
#include "properties/outputs.hpp"
#include "properties/setup.hpp"

namespace halfulp::properties {

namespace {

Judgement skipped(std::string reason) {
  Judgement judgement;
  judgement.verdict = Verdict::skipped;
  judgement.reason = std::move(reason);
  return judgement;
}

void set_fault(Judgement& judgement, const gpu::Fault& fault, std::string_view where) {
  if (fault.kind == gpu::FaultKind::no_memory) {  // ours, not the kernel's
    judgement = skipped(fmt::format("not enough memory for this case here: {}", fault.text));
    judgement.fault = fault;
    return;
  }
  judgement.verdict = Verdict::faulted;
  judgement.fault = fault;
  judgement.reason = fmt::format("{}{}: {}", where, gpu::name(fault.kind), fault.text);
}

void enter(const JudgeOptions& options, Stage stage) {
  if (options.board != nullptr) options.board->enter(stage);
}

gpu::Outcome run_timed(const Setup& setup, const gpu::Problem& problem, const JudgeOptions& options,
                       Judgement& judgement) {
  enter(options, Stage::kernel);
  const auto start = std::chrono::steady_clock::now();
  gpu::Outcome outcome = gpu::run(*setup.kernel, setup.backend, problem, setup.schedule);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  enter(options, Stage::ours);
  judgement.kernel_seconds += taken.count();
  judgement.launches += outcome.launches;
  return outcome;
}

// The result that holds the worst element as it was reported.
const gpu::Outputs& outputs_of(const Suspect& worst, const gpu::Operand& operand,
                               std::int64_t index, const std::vector<gpu::Outputs>& results) {
  const auto holds = [&](const gpu::Outputs& result) {
    return get(operand, result[static_cast<std::size_t>(worst.output)].data(),
               gpu::storage_index(operand, index)) == worst.bits;
  };
  const auto found = std::ranges::find_if(results, holds);
  HALFULP_ASSERT(found != results.end(), "the worst element is in none of the results");
  return *found;
}

void diagnose(const Setup& setup, const gpu::Problem& problem,
              const std::vector<gpu::Outputs>& results, Judgement& judgement) {
  if (setup.operation->diagnose == nullptr || judgement.failed == 0 || judgement.worst.empty()) {
    return;
  }
  const Suspect& worst = judgement.worst.front();
  const gpu::Operand& operand = *output_operands(problem)[static_cast<std::size_t>(worst.output)];
  std::int64_t index = 0;
  for (std::size_t axis = 0; axis < operand.extent.size(); ++axis) {
    index = index * operand.extent[axis] + worst.index[axis];
  }
  judgement.notes = setup.operation->diagnose(
      problem, setup.numerics, outputs_of(worst, operand, index, results), {worst.output, index});
}

void add_reason(Judgement& judgement, const std::string& text) {
  judgement.reason += (judgement.reason.empty() || text.empty() ? "" : "; ") + text;
}

// What a verdict does not cover.
void note_unfinished_search(const Setup& setup, const gpu::Outcome& outcome, Judgement& judgement) {
  if (setup.schedule.order != gpu::Order::exhaustive || outcome.schedules_exhausted) return;
  if (judgement.verdict != Verdict::pass && judgement.verdict != Verdict::powerless) return;
  add_reason(judgement, fmt::format("not every schedule: the search ended after {} launches",
                                    outcome.launches));
}

// Judges every element, the quickest way there is. What the outer check says of it.
OuterCheck see_all(const Case& c, const Setup& setup, const gpu::Problem& problem,
                   const std::vector<gpu::Outputs>& results, Judging& judging) {
  constexpr Effort kLarge{.audited_one_in = 10'000, .failing_most = 1 << 14};
  const Operation& operation = *setup.operation;
  const reference::Sink see = [&](const reference::Rows& rows) { judging.see(rows); };
  if (operation.exact_check != nullptr &&
      operation.exact_check(c, problem, setup.numerics, results, see)) {
    return {};
  }
  OuterCheck outer;
  if (operation.outer != nullptr) {
    judging.set_effort(kLarge);
    outer = operation.outer(c, problem, setup.numerics, see);
  }
  if (!outer.streamed) {
    judging.set_effort({});
    operation.evaluate(problem, setup.numerics, see);
  }
  return outer;
}

// Runs the related problem of the case's law and compares. Leaves a judgement that already failed
// alone.
void check_law(const Case& c, const Setup& setup, const gpu::Problem& problem,
               const gpu::Outputs& outputs, const JudgeOptions& options, Judgement& judgement) {
  const Law* law = find_law(*setup.operation, c.text("law"));
  if (law == nullptr || judgement.verdict == Verdict::fail) return;
  const Relation relation = law->relate(c, problem);
  if (!relation.applies()) {
    if (judgement.verdict == Verdict::pass) {
      judgement = skipped(fmt::format("law {} does not apply to this case", law->name));
    }
    return;
  }
  const gpu::Outcome related = run_timed(setup, relation.problem, options, judgement);
  if (related.fault) {
    set_fault(judgement, related.fault, fmt::format("in the related problem of {}: ", law->name));
    return;
  }
  for (const gpu::Outputs& related_outputs : related.outputs) {
    const std::string what =
        disagreement(*setup.operation, setup.numerics, problem, outputs, relation, related_outputs);
    if (what.empty()) continue;
    judgement.verdict = Verdict::fail;
    judgement.reason = fmt::format("law {}: {}", law->name, what);
    return;
  }
}

// Costs as much as the answer itself.
bool wants_advice(const Case& c, const JudgeOptions& options) {
  constexpr std::uint64_t kEvery = 8;
  constexpr std::uint64_t kMix = 0x9e3779b97f4a7c15u;  // seeds of one file may be alike
  return options.advise_always || ((c.seed() * kMix) >> 32) % kEvery == 0;
}

}  // namespace

std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::pass:
      return "pass";
    case Verdict::fail:
      return "fail";
    case Verdict::faulted:
      return "faulted";
    case Verdict::skipped:
      return "skipped";
    case Verdict::powerless:
      return "powerless";
  }
  return "?";
}

Judgement judge(const Case& c, const JudgeOptions& options) {
  enter(options, Stage::ours);
  Setup setup = set_up(c);
  setup.schedule.time_max_s = options.search_s;
  if (!setup.skip.empty()) return skipped(setup.skip);
  Judgement judgement;
  static KeptProblem kept;
  if (setup.backend != gpu::Backend::cuda) kept.forget();
  const gpu::Problem& problem = kept.problem(*setup.operation, c);
  const gpu::Numerics& numerics = setup.numerics;
  const gpu::Outcome outcome = run_timed(setup, problem, options, judgement);
  if (outcome.fault) {
    set_fault(judgement, outcome.fault, "");
    return judgement;
  }
  Judging judging(*setup.operation, numerics, problem, outcome.outputs, c.seed());
  const OuterCheck outer = see_all(c, setup, problem, outcome.outputs, judging);
  judging.finish(judgement);
  diagnose(setup, problem, outcome.outputs, judgement);
  if (judgement.verdict == Verdict::faulted) return judgement;
  if (numerics.repeatable && outcome.outputs.size() > 1 && judgement.verdict != Verdict::fail) {
    judgement.verdict = Verdict::fail;
    judgement.reason =
        fmt::format("declared repeatable, but gave {} distinct results", outcome.outputs.size());
    return judgement;
  }
  if (!outcome.outputs.empty()) {
    check_law(c, setup, problem, outcome.outputs.front(), options, judgement);
  }
  note_unfinished_search(setup, outcome, judgement);
  add_reason(judgement, outer.note);
  if (judgement.verdict == Verdict::pass && !outer.streamed && setup.operation->advise != nullptr &&
      wants_advice(c, options)) {
    judgement.advice = advice(*setup.operation, numerics, problem, outcome.outputs);
  }
  return judgement;
}

}  // namespace halfulp::properties
