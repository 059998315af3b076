// Scheduling: which block, which thread, and when nobody can run any more.
//
// Polls. A loop that spins on a flag changes nothing: each of its atomics leaves memory as it was.
// A thread that keeps polling the same one or two addresses while nothing happens anywhere (no
// `event`) is spinning in vain; when every thread that could run has done so Config::polls_max
// times, the launch is deadlocked.
#include "gpu/simt/scheduler.hpp"

#include <bit>
#include <utility>
#include <vector>

#include "gpu/simt/checker.hpp"
#include "gpu/simt/report.hpp"

extern __thread uint3 halfulp_simt_thread_index;
extern __thread uint3 halfulp_simt_block_index;

namespace halfulp::gpu::simt {
namespace {

constexpr unsigned kBurstStay = 8;  // a burst goes on with probability 7/8

// Lowest set lane at or after `from`, cyclically over the block.
unsigned next_ready(const Block& block, unsigned from) {
  const unsigned warp = from / kWarpLanes % kBlockWarpsMax;
  const Mask here = block.warps[warp].ready & (~Mask{0} << from % kWarpLanes);
  if (here != 0) return warp * kWarpLanes + static_cast<unsigned>(std::countr_zero(here));
  const Mask after = block.warps_ready & (~Mask{1} << warp);
  const auto other =
      static_cast<unsigned>(std::countr_zero(after != 0 ? after : block.warps_ready));
  return other * kWarpLanes + static_cast<unsigned>(std::countr_zero(block.warps[other].ready));
}

// Highest set lane before `from`, cyclically over the block.
unsigned previous_ready(const Block& block, unsigned from) {
  const unsigned warp = from / kWarpLanes % kBlockWarpsMax;
  const auto highest = [](Mask mask) {
    return 31u - static_cast<unsigned>(std::countl_zero(mask));
  };
  const Mask here = block.warps[warp].ready & ((Mask{1} << from % kWarpLanes) - 1);
  if (here != 0) return warp * kWarpLanes + highest(here);
  const Mask before = block.warps_ready & ((Mask{1} << warp) - 1);
  const unsigned other = highest(before != 0 ? before : block.warps_ready);
  return other * kWarpLanes + highest(block.warps[other].ready);
}

// A set bit: the next one, cyclically, after a random place. Not uniform, but quick.
unsigned random_bit(Random& random, Mask mask) {
  const unsigned place = random.below(kWarpLanes);
  const auto turned = std::rotr(mask, static_cast<int>(place));
  return (place + static_cast<unsigned>(std::countr_zero(turned))) % kWarpLanes;
}

// The next block with a ready thread after (or, descending, before) the last one that ran.
Block* neighbour(const Launch& launch, int step) {
  const int start = launch.last != nullptr ? launch.last->slot : (step > 0 ? -1 : 0);
  for (int i = 1; i <= launch.slots; ++i) {
    Block& block = launch.slot(((start + i * step) % launch.slots + launch.slots) % launch.slots);
    if (block.warps_ready != 0) return &block;
  }
  return nullptr;
}

Block* random_block(Launch& launch) {
  unsigned count = 0;
  for (int i = 0; i < launch.slots; ++i) count += launch.slot(i).warps_ready != 0;
  if (count == 0) return nullptr;
  unsigned skip = launch.random.below(count);
  for (int i = 0;; ++i) {
    if (launch.slot(i).warps_ready != 0 && skip-- == 0) return &launch.slot(i);
  }
}

bool polls_in_vain(const Launch& launch, const Thread& thread, int polls) {
  return thread.polls >= polls && thread.poll_event == launch.events;
}

// Whether each ready thread of the block has polled in vain at least `polls` times.
bool spins(const Launch& launch, const Block& block, int polls) {
  for (Mask warps = block.warps_ready; warps != 0; warps &= warps - 1) {
    const auto w = static_cast<unsigned>(std::countr_zero(warps));
    const Warp& warp = block.warps[w];
    if ((warp.ready & ~warp.started) != 0) return false;
    for (Mask lanes = warp.ready; lanes != 0; lanes &= lanes - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
      if (!polls_in_vain(launch, block.threads[w * kWarpLanes + lane], polls)) return false;
    }
  }
  return true;
}

Block* explored_block(Launch& launch) {
  if (launch.last != nullptr && !launch.leave_block && launch.last->warps_ready != 0) {
    return launch.last;
  }
  // A block that only polled in vain since the last event would do so again: no choice worth
  // having.
  std::vector<Block*> candidates;
  std::vector<Block*> spinning;
  for (int i = 0; i < launch.slots; ++i) {
    Block& block = launch.slot(i);
    if (block.warps_ready == 0) continue;
    (spins(launch, block, 1) ? spinning : candidates).push_back(&block);
  }
  if (candidates.empty()) return spinning.empty() ? nullptr : neighbour(launch, 1);
  bool stay = false;
  for (Block*& block : candidates) {
    if (block != launch.last) continue;
    std::swap(block, candidates.front());
    stay = true;
    break;
  }
  if (candidates.size() == 1) return candidates.front();
  return candidates[launch.config.explorer->choose(candidates.size(), stay)];
}

Block* choose_block(Launch& launch) {
  const bool may_stay =
      launch.last != nullptr && !launch.leave_block && launch.last->warps_ready != 0;
  switch (launch.config.order) {
    case Order::round_robin:
      return may_stay ? launch.last : neighbour(launch, 1);
    case Order::reverse:
      return may_stay ? launch.last : neighbour(launch, -1);
    case Order::burst: {
      if (launch.last != nullptr && launch.random.below(kBurstStay) != 0 &&
          launch.last->warps[launch.last->cursor / kWarpLanes].ready != 0) {
        return launch.last;
      }
      launch.leave_block = true;
      return random_block(launch);
    }
    case Order::exhaustive:
      return explored_block(launch);
  }
  return nullptr;
}

unsigned choose_thread(Launch& launch, const Block& block) {
  switch (launch.config.order) {
    case Order::round_robin:
    case Order::exhaustive:
      return next_ready(block, block.cursor + 1);
    case Order::reverse:
      return previous_ready(block, block.cursor);
    case Order::burst:
      break;
  }
  unsigned warp = block.cursor / kWarpLanes;
  if (launch.leave_block || block.warps[warp].ready == 0) {
    warp = random_bit(launch.random, block.warps_ready);
  }
  return warp * kWarpLanes + random_bit(launch.random, block.warps[warp].ready);
}

void start_thread(const Launch& launch, Block& block, Thread& thread, unsigned linear) {
  const uint3 extent = launch.block_extent;
  thread.block = &block;
  thread.linear = linear;
  thread.index = {linear, 0, 0};
  if (extent.y > 1 || extent.z > 1) {
    thread.index = {linear % extent.x, linear / extent.x % extent.y, linear / extent.x / extent.y};
  }
  thread.wait = Wait::none;
  thread.polls = 0;
  thread.unproductive = 0;
  thread.poll_addresses = {};
}

}  // namespace

void make_ready(Block& block, unsigned warp, Mask lanes) {
  block.warps[warp].ready |= lanes;
  block.warps_ready |= Mask{1} << warp;
}

Thread* pick(Launch& launch) {
  Block* block = choose_block(launch);
  if (block == nullptr) return nullptr;
  const unsigned linear = choose_thread(launch, *block);
  const unsigned w = linear / kWarpLanes;
  Warp& warp = block->warps[w];
  Thread& thread = block->threads[linear];
  const Mask bit = Mask{1} << linear % kWarpLanes;
  if ((warp.started & bit) == 0) {
    warp.started |= bit;
    start_thread(launch, *block, thread, linear);
  }
  warp.ready &= ~bit;
  if (warp.ready == 0) block->warps_ready &= ~(Mask{1} << w);
  block->cursor = linear;
  launch.last = block;
  launch.leave_block = false;
  launch.current = &thread;
  if (++launch.switches > launch.config.switches_max) {
    fail(launch, FaultKind::budget, [&] {
      return "over " + std::to_string(launch.config.switches_max) + " thread switches" +
             describe_stuck(launch);
    });
  }
  halfulp_simt_thread_index = thread.index;
  halfulp_simt_block_index = block->index;
  return &thread;
}

void dispatch(Launch& launch, Fiber& self, Thread* next) {
  if (next == nullptr) {  // all done, or nobody can go on: launch.cpp sees which
    switch_fiber(self, launch.main);
    return;
  }
  if (next->fiber == nullptr) {
    next->fiber = launch.pool.fibers.take();
    if (next->fiber == nullptr) {
      fail(launch, FaultKind::no_memory, [&] {
        return "no memory for another stack; lower the resident limit of " +
               std::to_string(launch.config.resident) + " blocks";
      });
    }
  }
  if (launch.checker != nullptr) {
    launch.checker->enter(*next);
  }
  if (next->fiber != &self) switch_fiber(self, *next->fiber);
}

void suspend(Launch& launch) {
  Fiber& self = *launch.current->fiber;
  dispatch(launch, self, pick(launch));
}

void yield(Launch& launch) {
  make_ready(*launch.current->block, launch.current->warp(), launch.current->bit());
  suspend(launch);
}

void after_atomic(Launch& launch, const void* address, bool changed, Site site) {
  Thread& thread = *launch.current;
  thread.site = site;
  if (changed) {
    ++launch.events;
    thread.polls = 0;
    thread.unproductive = 0;
    if (launch.config.order == Order::round_robin) return;
    launch.leave_block = true;
    yield(launch);
    return;
  }
  if (thread.poll_event != launch.events) {
    thread.poll_event = launch.events;
    thread.poll_addresses = {};
    thread.polls = 0;
    thread.unproductive = 0;
  }
  ++thread.unproductive;
  if (address == thread.poll_addresses[0] || address == thread.poll_addresses[1]) {
    ++thread.polls;
  } else {
    thread.poll_addresses = {address, thread.poll_addresses[0]};
  }
  // A single atomic that happens to change nothing is no reason to switch stacks.
  if (thread.unproductive < 2 && launch.config.order == Order::round_robin) return;
  make_ready(*thread.block, thread.warp(), thread.bit());
  if (thread.polls >= launch.config.polls_max && thread.polls % 64 == 0) {
    bool deadlocked = true;
    for (int i = 0; i < launch.slots && deadlocked; ++i) {
      deadlocked = spins(launch, launch.slot(i), launch.config.polls_max);
    }
    if (deadlocked) {
      fail(launch, FaultKind::deadlock, [&] {
        return "every thread that could run spins and nothing changes" + describe_stuck(launch);
      });
    }
  }
  launch.leave_block = true;
  suspend(launch);
}

void abandon(Launch& launch) {
  t_kernel_checker = nullptr;
  Fiber abandoned;  // nothing ever switches back to here
  switch_fiber(abandoned, launch.main);
  __builtin_unreachable();
}

}  // namespace halfulp::gpu::simt
