// Which thread runs next. Internal to halfulp_simt.
#pragma once
#include <string>

#include "gpu/simt/executor.hpp"

namespace halfulp::gpu::simt {

// Marks lanes of a warp as able to run.
void make_ready(Block& block, unsigned warp, Mask lanes);

// Takes the next ready thread and makes it current; nullptr when none is ready.
Thread* pick(Launch& launch);
// Continues `next`, which has just been picked, and suspends the running fiber `self`.
void dispatch(Launch& launch, Fiber& self, Thread* next);

// The current thread waits (it has recorded for what): others run until something has made it
// ready.
void suspend(Launch& launch);
// The current thread stays ready, but others may run first.
void yield(Launch& launch);
// After an atomic or an acquire load at `address`: a scheduling point, and the place where
// deadlocks of spinning threads are found.
void after_atomic(Launch& launch, const void* address, bool changed, Site site);

// The launch ends here: control goes back to its main fiber, and nothing on this one is unwound.
[[noreturn]] void abandon(Launch& launch);

// The launch ends here with this fault. `text` returns a std::string; it is a function so that none
// of the strings it is made from is still alive when the fiber is abandoned.
template <class Text>
[[noreturn]] void fail(Launch& launch, FaultKind kind, const Text& text) {
  launch.session.record({kind, text()});
  abandon(launch);
}

}  // namespace halfulp::gpu::simt
