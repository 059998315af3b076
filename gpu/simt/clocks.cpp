// Vector clocks.
#include "gpu/simt/clocks.hpp"

#include <algorithm>

namespace halfulp::gpu::simt {
namespace {

constexpr std::uint32_t kAllLanes = ~std::uint32_t{0};

}  // namespace

void Clocks::begin_launch(ThreadId threads, unsigned threads_per_block) {
  for (const Thread& thread : threads_) latest_ = std::max(latest_, thread.now);
  base_ = latest_;
  threads_per_block_ = threads_per_block;
  nothing_ = std::make_shared<const Knowledge>(threads, base_);
  threads_.assign(threads, Thread{nothing_, base_ + 1, base_ + 1, {}, {}, {}, {}});
  released_.clear();
}

Time Clocks::start_block(int slot) {
  const auto begin = threads_.begin() + slot * static_cast<std::ptrdiff_t>(threads_per_block_);
  const auto end = begin + static_cast<std::ptrdiff_t>(threads_per_block_);
  Time start = 0;
  for (auto thread = begin; thread != end; ++thread) start = std::max(start, thread->now + 1);
  std::fill(begin, end, Thread{nothing_, start, start, {}, {}, {}, {}});
  return start;
}

void Clocks::join(Shared& into, const Shared& other) {
  if (other == nullptr || into == other) return;
  if (into == nullptr) {
    into = other;
    return;
  }
  const auto adds = [&into, &other] {
    for (std::size_t i = 0; i < into->size(); ++i) {
      if ((*other)[i] > (*into)[i]) return true;
    }
    return false;
  };
  if (!adds()) return;
  auto joined = std::make_shared<Knowledge>(*into);
  std::transform(other->begin(), other->end(), joined->begin(), joined->begin(),
                 [](Time a, Time b) { return std::max(a, b); });
  into = std::move(joined);
}

void Clocks::sync(ThreadId first, unsigned count, std::uint32_t lanes) {
  const auto takes_part = [count, lanes](unsigned i) {
    return count > 32 || lanes == kAllLanes || (lanes >> i & 1) != 0;
  };
  std::shared_ptr<Knowledge> joined;
  const Knowledge* previous = nullptr;
  for (unsigned i = 0; i < count; ++i) {
    if (!takes_part(i)) continue;
    const Knowledge& known = *threads_[first + i].known;
    if (joined == nullptr) {
      joined = std::make_shared<Knowledge>(known);
    } else if (&known != previous) {
      std::transform(known.begin(), known.end(), joined->begin(), joined->begin(),
                     [](Time a, Time b) { return std::max(a, b); });
    }
    previous = &known;
  }
  if (joined == nullptr) return;
  for (unsigned i = 0; i < count; ++i) {
    if (takes_part(i)) (*joined)[first + i] = threads_[first + i].now++;
  }
  for (unsigned i = 0; i < count; ++i) {
    if (takes_part(i)) threads_[first + i].known = joined;
  }
}

void Clocks::sync_block(int slot) {
  sync(static_cast<ThreadId>(slot) * threads_per_block_, threads_per_block_, kAllLanes);
}

void Clocks::sync_warp(int slot, unsigned warp, std::uint32_t lanes) {
  const unsigned first = warp * 32;
  sync(static_cast<ThreadId>(slot) * threads_per_block_ + first,
       std::min(threads_per_block_ - first, 32u), lanes);
}

void Clocks::fence(ThreadId self, runtime::Scope scope) {
  Thread& thread = threads_[self];
  join(thread.known, thread.acquired_block);
  thread.acquired_block = nullptr;
  if (scope == runtime::Scope::gpu) {
    join(thread.known, thread.acquired_gpu);
    thread.acquired_gpu = nullptr;
  }
  thread.release_block = {thread.known, thread.now};
  if (scope == runtime::Scope::gpu) thread.release_gpu = thread.release_block;
  ++thread.now;
}

void Clocks::publish(const Key& key, ThreadId self, const Release& release) {
  Shared& shared = released_[key];
  // Who knows self at that time knows all that self knew then: published before.
  if (shared != nullptr && (*shared)[self] >= release.now) return;
  auto joined = std::make_shared<Knowledge>(*release.known);
  (*joined)[self] = std::max((*joined)[self], release.now);
  join(shared, std::move(joined));
}

Clocks::Shared Clocks::released(const Key& key) const {
  const auto found = released_.find(key);
  return found == released_.end() ? nullptr : found->second;
}

void Clocks::atomic(ThreadId self, const void* address) {
  Thread& thread = threads_[self];
  const Key block{address, slot_of(self) + 1};
  const Key gpu{address, 0};
  if (!released_.empty()) {
    join(thread.acquired_block, released(block));
    join(thread.acquired_gpu, released(gpu));
  }
  if (thread.release_block.known != nullptr) publish(block, self, thread.release_block);
  if (thread.release_gpu.known != nullptr) publish(gpu, self, thread.release_gpu);
}

void Clocks::load_acquire(ThreadId self, const void* address) {
  Thread& thread = threads_[self];
  join(thread.known, released({address, slot_of(self) + 1}));
  join(thread.known, released({address, 0}));
}

void Clocks::store_release(ThreadId self, const void* address) {
  Thread& thread = threads_[self];
  const Release release{thread.known, thread.now++};
  for (const int scope : {slot_of(self) + 1, 0}) {
    released_.erase({address, scope});  // a plain store: nobody acquires what was there before
    publish({address, scope}, self, release);
  }
}

void Clocks::forget(const void* begin, const void* end) {
  if (released_.empty()) return;
  released_.erase(released_.lower_bound({begin, 0}), released_.lower_bound({end, 0}));
}

}  // namespace halfulp::gpu::simt
