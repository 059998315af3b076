// The walk down the shrink tree; see shrink.hpp.
#include "properties/shrink.hpp"

#include <rapidcheck/Seq.h>
#include <rapidcheck/Shrinkable.h>
#include <rapidcheck/seq/Create.h>
#include <rapidcheck/shrinkable/Create.h>

#include <algorithm>
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

// Says the smallest case more shortly, if it then still fails.
Shrunk folded(WorkerPool& pool, Shrunk best) {
  const Case shorter = with_folded_edges(best.smallest);
  if (best.steps == 0 || shorter == best.smallest) return best;
  const Judgement now = pool.judge(shorter);
  ++best.judgements;
  if (!same_trouble(best.judgement, now)) return best;
  best.smallest = shorter;
  best.judgement = now;
  return best;
}

Shrunk walk(WorkerPool& pool, const Case& c, const Judgement& judgement,
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
        return folded(pool, std::move(best));
      }
      const Case candidate = child->value();
      const Judgement now = pool.judge(candidate);
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
  return folded(pool, std::move(best));
}

Shrunk walk_hangs(WorkerPool& pool, const Case& c, const Judgement& judgement,
                  const ShrinkBudget& budget) {
  constexpr double kLeast_s = 1;
  constexpr double kPasses = 20;
  const double patience_s =
      std::min(pool.options().watchdog_s, std::max(kLeast_s, kPasses * budget.pass_s));
  WorkerPool hasty({1, patience_s});
  Shrunk best = walk(hasty, c, judgement, budget);
  if (best.steps == 0 || stopped(budget)) return best;
  constexpr double kConfirm = 4;
  const bool long_enough = pool.options().watchdog_s >= kConfirm * patience_s;
  WorkerPool patient({1, kConfirm * patience_s});
  const Judgement confirmed = (long_enough ? pool : patient).judge(best.smallest);
  ++best.judgements;
  if (same_trouble(judgement, confirmed)) {
    best.judgement = confirmed;
    return best;
  }
  return {c, judgement, 0, best.judgements, true};  // it was only slow
}

}  // namespace

Shrunk shrink(WorkerPool& pool, const Case& c, const Judgement& judgement, ShrinkBudget budget) {
  return judgement.fault.kind == gpu::FaultKind::timed_out ? walk_hangs(pool, c, judgement, budget)
                                                           : walk(pool, c, judgement, budget);
}

}  // namespace halfulp::properties
