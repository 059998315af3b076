// Fibers on Boost.Context's raw contexts; the annotations tell AddressSanitizer which stack is in
// use.
#include "gpu/simt/fiber.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <boost/context/detail/fcontext.hpp>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace halfulp::gpu::simt {
namespace {

namespace context = boost::context::detail;

#if defined(__SANITIZE_ADDRESS__)
constexpr std::size_t kStackBytes = 256 * 1024;
#else
constexpr std::size_t kStackBytes = 64 * 1024;
#endif
constexpr std::size_t kFenceBytes = std::size_t{1} << 20;
const auto kGuardBytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
// Stacks lie a multiple of a page apart: without an offset of their own, the busy ends of all
// of them would share a few cache sets.
constexpr std::size_t kColours = 31;
constexpr std::size_t kColourBytes = 128;

// What travels through a jump: who left, and (for a fiber that starts) who arrives and its body.
struct Passage {
  Fiber* from;
  Fiber* to;
};

void before_switch([[maybe_unused]] Fiber& from, [[maybe_unused]] const Fiber& to) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&from.fake_stack, to.stack, to.stack_bytes);
#endif
}

void after_switch([[maybe_unused]] Fiber& self, [[maybe_unused]] Fiber& previous) {
#if defined(__SANITIZE_ADDRESS__)
  const void* stack = nullptr;
  std::size_t stack_bytes = 0;
  __sanitizer_finish_switch_fiber(self.fake_stack, &stack, &stack_bytes);
  if (previous.stack == nullptr) {  // the thread's own stack, known only now
    previous.stack = static_cast<char*>(const_cast<void*>(stack));
    previous.stack_bytes = stack_bytes;
  }
#endif
}

// One body serves every fiber of an OS thread; the pool sets it before a fiber can start.
constinit thread_local FiberPool::Body body_of_thread = nullptr;
constinit thread_local const FiberPool* pool_of_thread = nullptr;

void begin(context::transfer_t transfer) {
  const Passage passage = *static_cast<const Passage*>(transfer.data);
  passage.from->context = transfer.fctx;
  after_switch(*passage.to, *passage.from);
  body_of_thread(*passage.to);
}

void prepare(Fiber& fiber) {
  fiber.context = context::make_fcontext(fiber.stack + fiber.stack_bytes - fiber.colour,
                                         fiber.stack_bytes - fiber.colour, begin);
  fiber.fake_stack = nullptr;
}

}  // namespace

void switch_fiber(Fiber& from, Fiber& to) {
  Passage passage{&from, &to};
  before_switch(from, to);
  const context::transfer_t transfer = context::jump_fcontext(to.context, &passage);
  Fiber& previous = *static_cast<const Passage*>(transfer.data)->from;
  previous.context = transfer.fctx;
  after_switch(from, previous);
}

FiberPool::~FiberPool() {
  if (pool_of_thread == this) pool_of_thread = nullptr;
  for (const Mapping& mapping : mappings_) munmap(mapping.start, mapping.bytes);
}

// fence | guard, stack, guard, stack, ... guard | fence: what strays from a stack is likely to end
// in another one or in a fence, and not in memory of the process that judges.
bool FiberPool::add_stacks() {
  const std::size_t count = std::clamp<std::size_t>(all_.size(), 16, 256);
  const std::size_t step = kStackBytes + kGuardBytes;
  const std::size_t bytes = 2 * kFenceBytes + count * step + kGuardBytes;
  void* const memory =
      mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  mappings_.push_back({static_cast<char*>(memory), bytes});
  char* stack = static_cast<char*>(memory) + kFenceBytes + kGuardBytes;
  for (std::size_t i = 0; i < count; ++i, stack += step) {
    if (mprotect(stack, kStackBytes, PROT_READ | PROT_WRITE) != 0) return i > 0;
    auto fiber = std::make_unique<Fiber>();
    fiber->stack = stack;
    fiber->stack_bytes = kStackBytes;
    fiber->colour = all_.size() % kColours * kColourBytes;
    prepare(*fiber);
    free_.push_back(fiber.get());
    all_.push_back(std::move(fiber));
  }
  return true;
}

Fiber* FiberPool::take() {
  body_of_thread = body_;
  pool_of_thread = this;
  if (free_.empty() && !add_stacks()) return nullptr;
  Fiber* fiber = free_.back();
  free_.pop_back();
  fiber->in_use = true;
  return fiber;
}

void FiberPool::give(Fiber* fiber) {
  fiber->in_use = false;
  free_.push_back(fiber);
}

std::size_t FiberPool::overflowed_bytes(const void* address) {
  if (pool_of_thread == nullptr) return 0;
  const auto* at = static_cast<const char*>(address);
  const bool below_a_stack = std::ranges::any_of(pool_of_thread->all_, [at](const auto& fiber) {
    return at < fiber->stack && at >= fiber->stack - kGuardBytes;
  });
  return below_a_stack ? kStackBytes : 0;
}

void FiberPool::abandon_all() {
  for (const auto& fiber : all_) {
    if (!fiber->in_use) continue;
#if defined(__SANITIZE_ADDRESS__)
    __asan_unpoison_memory_region(fiber->stack, fiber->stack_bytes);
#endif
    prepare(*fiber);
    give(fiber.get());
  }
}

}  // namespace halfulp::gpu::simt
