// Happens-before between the threads of a launch: vector clocks.
//
// A thread has its own time, which advances when it releases something, and knowledge: for each
// other thread the time up to which its accesses are ordered before whatever this thread does next.
// Knowledge is shared and immutable, so that a barrier makes one vector for the whole block. What
// orders:
//   the launch itself       everything earlier, before everything in it
//   __syncthreads           the block's threads with each other
//   __syncwarp              the lanes of its mask
//   __threadfence + atomic  C++'s fences: fence, atomic ... atomic on the same address, fence
//   store_release, load_acquire on the same address
// __threadfence_block does so within a block only. Shuffles and votes order nothing.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "gpu/simt/runtime.hpp"

namespace halfulp::gpu::simt {

using Time = std::uint32_t;
using ThreadId = std::uint32_t;  // slot * threads of a block + linear thread index

class Clocks {
 public:
  // All times of earlier launches are ordered before the new launch.
  void begin_launch(ThreadId threads, unsigned threads_per_block);
  // New threads in this slot: they know what the launch knew, and nothing of the slot's earlier
  // blocks. Returns the time at which the block starts.
  Time start_block(int slot);

  Time now(ThreadId self) const { return threads_[self].now; }
  // Whether an access of `other` at `time` is ordered before self's next one.
  bool ordered(ThreadId self, ThreadId other, Time time) const {
    if (time <= base_) return true;
    const Thread& thread = threads_[self];
    if (other == self && time >= thread.start) return true;
    return time <= (*thread.known)[other];
  }

  void sync_block(int slot);
  void sync_warp(int slot, unsigned warp, std::uint32_t lanes);
  void fence(ThreadId self, runtime::Scope scope);
  void atomic(ThreadId self, const void* address);
  void load_acquire(ThreadId self, const void* address);
  void store_release(ThreadId self, const void* address);
  // Memory that goes out of use takes what was released through it along.
  void forget(const void* begin, const void* end);

 private:
  using Knowledge = std::vector<Time>;
  using Shared = std::shared_ptr<const Knowledge>;
  struct Release {  // what a later atomic of this thread publishes
    Shared known;   // nullptr: nothing
    Time now = 0;
  };
  struct Thread {
    Shared known;
    Time now = 0;
    Time start = 0;
    Shared acquired_block, acquired_gpu;  // seen by atomics, in force at the next fence
    Release release_block, release_gpu;
  };
  // Address, and 0 for GPU scope or slot + 1 for the scope of that slot's block.
  using Key = std::pair<const void*, int>;

  int slot_of(ThreadId id) const { return static_cast<int>(id / threads_per_block_); }
  void sync(ThreadId first, unsigned count, std::uint32_t lanes);
  static void join(Shared& into, const Shared& other);
  void publish(const Key& key, ThreadId self, const Release& release);
  Shared released(const Key& key) const;

  unsigned threads_per_block_ = 1;
  Time base_ = 0;
  Time latest_ = 0;
  Shared nothing_;  // base_ for everyone
  std::vector<Thread> threads_;
  std::map<Key, Shared> released_;
};

}  // namespace halfulp::gpu::simt
