// The walk down the shrink tree; see shrink.hpp.
#include "properties/shrink.hpp"

#include <rapidcheck/Seq.h>
#include <rapidcheck/Shrinkable.h>
#include <rapidcheck/seq/Create.h>
#include <rapidcheck/shrinkable/Create.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "properties/assert.hpp"
#include "properties/deadline.hpp"
#include "properties/graph_simplify.hpp"
#include "properties/operation.hpp"

namespace halfulp::properties {

namespace {

rc::Shrinkable<Case> shrink_tree(const Case& c) {
  const Operation* operation = find_operation(c.operation);
  HALFULP_ASSERT(operation != nullptr, c.operation);
  const Shrinks shrinks = operation->shrinks;
  return rc::shrinkable::shrinkRecur(
      Case(c), [shrinks](const Case& from) { return rc::seq::fromContainer(shrinks(from)); });
}

bool same_trouble(const Judgement& first, const Judgement& now) {
  if (first.verdict == Verdict::fail && now.verdict == Verdict::fail) return true;
  if (now.verdict != Verdict::faulted) return false;
  if (first.verdict == Verdict::faulted) return first.fault.kind == now.fault.kind;
  switch (now.fault.kind) {
    case gpu::FaultKind::none:     // a bug of the reference
    case gpu::FaultKind::refused:  // another trouble than wrong numbers
    case gpu::FaultKind::timed_out:
      return false;
    default:
      return true;
  }
}

bool stopped(const ShrinkBudget& budget) { return budget.stop != nullptr && *budget.stop != 0; }

using Judge = std::function<Judgement(const Case&)>;

// Says the smallest case more shortly, if it then still fails.
Shrunk folded(const Judge& judge, Shrunk best) {
  const Case shorter = with_folded_edges(best.smallest);
  if (best.steps == 0 || shorter == best.smallest) return best;
  const Judgement now = judge(shorter);
  ++best.judgements;
  if (!same_trouble(best.judgement, now)) return best;
  best.smallest = shorter;
  best.judgement = now;
  return best;
}

Shrunk walk(const Judge& judge, const Case& c, const Judgement& judgement,
            const ShrinkBudget& budget) {
  const Clock::time_point deadline = Clock::now() + limit(budget.seconds);
  Shrunk best{c, judgement, 0, 0, false};
  rc::Shrinkable<Case> node = shrink_tree(c);
  for (bool simpler = true; simpler;) {
    simpler = false;
    rc::Seq<rc::Shrinkable<Case>> children = node.shrinks();
    for (auto child = children.next(); child; child = children.next()) {
      if (best.judgements >= budget.judgements || Clock::now() >= deadline || stopped(budget)) {
        best.exhausted = true;
        return folded(judge, std::move(best));
      }
      const Case candidate = child->value();
      const Judgement now = judge(candidate);
      ++best.judgements;
      if (!same_trouble(best.judgement, now)) continue;
      best.smallest = candidate;
      best.judgement = now;
      ++best.steps;
      node = *child;
      simpler = true;
      break;
    }
  }
  return folded(judge, std::move(best));
}

Shrunk walk_confirmed(WorkerPool& pool, const Case& c, const Judgement& judgement,
                      const ShrinkBudget& budget) {
  const std::optional<Judgement> first = judged_alone(pool, c, judgement, budget);
  if (!first) return {.smallest = c, .judgement = judgement, .alone = false};
  Shrunk best = walk([&](const Case& each) { return pool.judge(each); }, c, *first, budget);
  if (best.steps == 0) return best;
  const std::optional<Judgement> last = judged_alone(pool, best.smallest, best.judgement, budget);
  if (last) {
    best.judgement = *last;
    return best;
  }
  const std::int64_t tried = best.judgements;
  best = walk([&](const Case& each) { return pool.judge_fresh(each); }, c, *first, budget);
  best.judgements += tried;
  return best;
}

Shrunk walk_hangs(WorkerPool& pool, const Case& c, const Judgement& judgement,
                  const ShrinkBudget& budget) {
  constexpr double kLeast_s = 1;
  constexpr double kPasses = 20;
  const double patience_s =
      std::min(pool.options().watchdog_s, std::max(kLeast_s, kPasses * budget.pass_s));
  WorkerPool hasty({1, patience_s});
  Shrunk best = walk([&](const Case& each) { return hasty.judge(each); }, c, judgement, budget);
  if (stopped(budget)) return best;
  if (best.steps == 0) {
    best.alone = judged_alone(pool, c, judgement, budget).has_value();
    return best;
  }
  constexpr double kConfirm = 4;
  const bool long_enough = pool.options().watchdog_s >= kConfirm * patience_s;
  WorkerPool patient({1, kConfirm * patience_s});
  const Judgement confirmed = (long_enough ? pool : patient).judge_fresh(best.smallest);
  ++best.judgements;
  if (same_trouble(judgement, confirmed)) {
    best.judgement = confirmed;
    return best;
  }
  // It was only slow, or hung for what came before it.
  const bool alone = judged_alone(pool, c, judgement, budget).has_value();
  return {c, judgement, 0, best.judgements, true, alone};
}

}  // namespace

std::optional<Judgement> judged_alone(WorkerPool& pool, const Case& c, const Judgement& judgement,
                                      const ShrinkBudget& budget) {
  constexpr int kChances = 3;
  for (int i = 0; i < kChances; ++i) {
    if (stopped(budget)) return judgement;
    Judgement now = pool.judge_fresh(c);
    if (same_trouble(judgement, now)) return now;
    const bool too_slow = now.fault.kind == gpu::FaultKind::timed_out;
    if (now.verdict == Verdict::skipped || too_slow) return judgement;
  }
  return std::nullopt;
}

Shrunk shrink(WorkerPool& pool, const Case& c, const Judgement& judgement, ShrinkBudget budget) {
  return judgement.fault.kind == gpu::FaultKind::timed_out
             ? walk_hangs(pool, c, judgement, budget)
             : walk_confirmed(pool, c, judgement, budget);
}

}  // namespace halfulp::properties
