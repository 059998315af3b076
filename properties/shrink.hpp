// Shrinking: from a case that fails to the smallest one that still does.
//
//   Shrunk s = shrink(pool, c, judgement, {.judgements = 2000, .seconds = 20});
//
// Walks RapidCheck's shrink tree over Operation::shrinks: the first simpler case that fails takes
// the place of the failing one, until none does or the budget is spent; then the best so far is the
// answer. A failing case may become a failing or a faulted one; a faulted one only one with the
// same kind of fault.
//
// Each case that hangs costs a watchdog. A hang is therefore shrunk under a short one of its own,
// far above what passing cases take, and the smallest case is then judged under the pool's, or four
// times the short one where that is longer: a kernel that is only slow then ends, and its case is
// left as it was found, whatever the speed of the machine.
//
// A case may fail only for what earlier cases left in its process, and its line would then pass
// when it is replayed. So the case is first judged in a process of its own, and is not shrunk where
// it passes there; and so is the smallest one, in whose place the search is else done again with a
// process for each case.
#pragma once
#include <csignal>
#include <cstdint>
#include <optional>

#include "properties/worker.hpp"

namespace halfulp::properties {

struct ShrinkBudget {
  std::int64_t judgements = 2000;
  double seconds = 20;
  double pass_s = 0;  // the longest that a passing case of this kernel took, as far as known
  const volatile std::sig_atomic_t* stop = nullptr;  // not 0: the search ends
};

struct Shrunk {
  Case smallest;
  Judgement judgement;          // of the smallest
  std::int64_t steps = 0;       // accepted simplifications
  std::int64_t judgements = 0;  // cases tried
  bool exhausted = false;       // the budget ended the search: a smaller case may exist
  bool alone = true;            // false: in a process of its own even the case found passed
};

// The same trouble in a process of its own, or nullopt. A fault that comes and goes has three
// chances. `judgement` itself where nothing is learned: stopped, or too slow for the pool's
// watchdog.
std::optional<Judgement> judged_alone(WorkerPool& pool, const Case& c, const Judgement& judgement,
                                      const ShrinkBudget& budget);

Shrunk shrink(WorkerPool& pool, const Case& c, const Judgement& judgement, ShrinkBudget budget);

}  // namespace halfulp::properties
