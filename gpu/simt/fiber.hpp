// Stacks that a kernel thread can be suspended on, and the switch between them.
//
// A pool hands out fibers that all run the same endless body; a fiber that is given back keeps its
// stack and waits inside the body to be switched to again. Kernel code on an abandoned fiber is
// never unwound: kernels own nothing that a destructor would have to release.
#pragma once
#include <cstddef>
#include <memory>
#include <vector>

namespace halfulp::gpu::simt {

struct Fiber {
  void* context = nullptr;  // where it was suspended
  char* stack = nullptr;    // lowest address; a page that no access survives lies on either side
  std::size_t stack_bytes = 0;
  void* fake_stack = nullptr;  // AddressSanitizer's
  bool in_use = false;
  std::size_t colour = 0;  // bytes left unused at the top, see fiber.cpp
};

// Suspends `from`, which must be running, and continues `to`. Returns when something switches to
// `from`.
void switch_fiber(Fiber& from, Fiber& to);

class FiberPool {
 public:
  using Body = void (*)(Fiber& self);  // never returns
  explicit FiberPool(Body body) : body_(body) {}
  ~FiberPool();
  FiberPool(const FiberPool&) = delete;
  FiberPool& operator=(const FiberPool&) = delete;

  // nullptr when the system has no memory or mappings left.
  Fiber* take();
  // From within the body, before it switches away.
  void give(Fiber* fiber);
  // Every fiber in use is suspended in the middle of something that will not go on: each gets a
  // fresh context and goes back to the pool.
  void abandon_all();
  // The size of this thread's stacks when the address lies below one of them, in its guard page;
  // else 0. A handler of signals may ask.
  static std::size_t overflowed_bytes(const void* address);

 private:
  bool add_stacks();

  struct Mapping {
    char* start;
    std::size_t bytes;
  };
  Body body_;
  std::vector<Mapping> mappings_;
  std::vector<std::unique_ptr<Fiber>> all_;
  std::vector<Fiber*> free_;
};

}  // namespace halfulp::gpu::simt
