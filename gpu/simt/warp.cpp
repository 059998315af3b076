// Warp operations: lanes gather in a Collective; whoever arrives last computes every lane's result.
#include <bit>

#include "gpu/simt/checker.hpp"
#include "gpu/simt/report.hpp"
#include "gpu/simt/scheduler.hpp"

namespace halfulp::gpu::simt {
namespace {

Mask outstanding(const Warp& warp, const Collective& collective) {
  return collective.mask & warp.live & ~collective.arrived;
}

template <class Use>  // void(Thread&)
void for_each_lane(Block& block, unsigned warp, Mask lanes, Use use) {
  for (; lanes != 0; lanes &= lanes - 1) {
    use(block.threads[warp * kWarpLanes + static_cast<unsigned>(std::countr_zero(lanes))]);
  }
}

// Takes the collective off the warp's list and lets its lanes go, all of them ready but `except`.
void finish(Launch& launch, Block& block, unsigned w, std::size_t position, const Thread* except) {
  Warp& warp = block.warps[w];
  const Collective collective = warp.pending[position];
  warp.pending[position] = warp.pending.back();
  warp.pending.pop_back();
  collective.complete(launch, block, w, collective);
  ++launch.events;
  for_each_lane(block, w, collective.arrived, [](Thread& lane) { lane.wait = Wait::none; });
  Mask lanes = collective.arrived;
  if (except != nullptr) lanes &= ~except->bit();
  if (lanes != 0) make_ready(block, w, lanes);
}

// The lane a shuffle reads from, its own where the source lies outside the segment (PTX shfl).
unsigned source_lane(unsigned lane, runtime::Shuffle kind, int argument, int width) {
  const int me = static_cast<int>(lane);
  const int first = me & ~(width - 1);
  const int last = first + width - 1;
  int source = me;
  switch (kind) {
    case runtime::Shuffle::index:
      source = first + (argument & (width - 1));
      break;
    case runtime::Shuffle::up:
      source = me - argument < first ? me : me - argument;
      break;
    case runtime::Shuffle::down:
      source = me + argument > last ? me : me + argument;
      break;
    case runtime::Shuffle::exclusive_or:
      source = (me ^ argument) > last ? me : me ^ argument;
      break;
  }
  return static_cast<unsigned>(source) % kWarpLanes;
}

void complete_shuffle(Launch& launch, Block& block, unsigned w, const Collective& self) {
  for_each_lane(block, w, self.arrived, [&](Thread& lane) {
    const auto source = static_cast<unsigned>(lane.argument);
    if ((self.arrived >> source & 1) == 0) {
      fail(launch, FaultKind::divergence, [&] {
        return std::string(self.operation) + " at " + print(lane.site) + ": " + print(lane) +
               " reads lane " + std::to_string(source) +
               ((self.mask >> source & 1) == 0 ? ", which is not in the mask"
                                               : ", which has exited");
      });
    }
    lane.result = block.threads[w * kWarpLanes + source].value;
  });
}

void complete_vote(Launch&, Block& block, unsigned w, const Collective& self) {
  Mask held = 0;
  for_each_lane(block, w, self.arrived, [&held](Thread& lane) {
    if (lane.value != 0) held |= lane.bit();
  });
  for_each_lane(block, w, self.arrived, [held, &self](Thread& lane) {
    switch (static_cast<runtime::Vote>(lane.argument)) {
      case runtime::Vote::ballot:
        lane.result = held;
        break;
      case runtime::Vote::any:
        lane.result = held != 0;
        break;
      case runtime::Vote::all:
        lane.result = held == self.arrived;
        break;
    }
  });
}

void complete_sync(Launch& launch, Block& block, unsigned w, const Collective& self) {
  if (launch.checker != nullptr) launch.checker->sync_warp(block.slot, w, self.arrived);
}

}  // namespace

void complete_without(Launch& launch, Block& block, unsigned w) {
  Warp& warp = block.warps[w];
  for (std::size_t i = warp.pending.size(); i-- > 0;) {
    if (outstanding(warp, warp.pending[i]) == 0) finish(launch, block, w, i, nullptr);
  }
}

void join_collective(Launch& launch, Mask mask, const char* operation,
                     Collective::Complete complete, Site site) {
  Thread& thread = *launch.current;
  Block& block = *thread.block;
  const unsigned w = thread.warp();
  Warp& warp = block.warps[w];
  ++launch.session.counters().collectives;
  thread.site = site;
  if ((mask & thread.bit()) == 0) {
    fail(launch, FaultKind::divergence, [&] {
      return std::string(operation) + " at " + print(site) + ": " + print(thread) + " is lane " +
             std::to_string(thread.lane()) + ", which is not in its own mask";
    });
  }
  std::size_t position = warp.pending.size();
  for (std::size_t i = 0; i < warp.pending.size(); ++i) {
    const Collective& other = warp.pending[i];
    if (other.mask == mask && other.operation == operation) {
      position = i;
    } else if ((other.mask & thread.bit()) != 0 && (other.arrived & mask) != 0) {
      // They wait for this lane, and this lane would wait for them.
      fail(launch, FaultKind::divergence, [&] {
        return "divergent warp operation: " + print(thread) + " reached " + operation + " at " +
               print(site) + " while lanes in its mask wait in " + other.operation + " at " +
               print(other.site);
      });
    }
  }
  if (position == warp.pending.size()) {
    warp.pending.push_back({mask, 0, operation, complete, site});
  }
  Collective& mine = warp.pending[position];
  mine.arrived |= thread.bit();
  thread.wait = Wait::collective;
  thread.operation = operation;
  if (outstanding(warp, mine) != 0) {
    suspend(launch);
  } else if (launch.config.order == Order::round_robin ||
             launch.config.order == Order::exhaustive) {
    finish(launch, block, w, position, &thread);
  } else {
    finish(launch, block, w, position, nullptr);
    suspend(launch);
  }
}

namespace runtime {

std::uint64_t shuffle(unsigned mask, Shuffle kind, std::uint64_t value, int argument, int width,
                      Site site) {
  static constexpr const char* kNames[] = {"__shfl_sync", "__shfl_up_sync", "__shfl_down_sync",
                                           "__shfl_xor_sync"};
  const OutsideKernel outside;
  Launch& launch = *t_launch;
  Thread& thread = *launch.current;
  if (width < 1 || width > 32 || (width & (width - 1)) != 0) {
    fail(launch, FaultKind::divergence, [&] {
      return "shuffle at " + print(site) + ": width " + std::to_string(width) +
             " is not a power of two up to 32";
    });
  }
  thread.value = value;
  thread.argument = static_cast<int>(source_lane(thread.lane(), kind, argument, width));
  join_collective(launch, mask, kNames[static_cast<int>(kind)], complete_shuffle, site);
  return thread.result;
}

unsigned vote(unsigned mask, Vote kind, int predicate, Site site) {
  static constexpr const char* kNames[] = {"__ballot_sync", "__any_sync", "__all_sync"};
  const OutsideKernel outside;
  Launch& launch = *t_launch;
  Thread& thread = *launch.current;
  thread.value = predicate != 0;
  thread.argument = static_cast<int>(kind);
  join_collective(launch, mask, kNames[static_cast<int>(kind)], complete_vote, site);
  return static_cast<unsigned>(thread.result);
}

void sync_warp(unsigned mask, Site site) {
  static constexpr const char* kName = "__syncwarp";
  const OutsideKernel outside;
  join_collective(*t_launch, mask, kName, complete_sync, site);
}

}  // namespace runtime
}  // namespace halfulp::gpu::simt
