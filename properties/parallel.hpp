// Work on many parts by several threads of this process.
//
//   for_parts(rows, 1 + 65536 / columns, [&](std::int64_t first, std::int64_t last) { ... });
//
// What is done for a part must not depend on the others: the result is then the same for any number
// of threads. All threads have ended when the call returns, so a process may fork before and after.
#pragma once
#include <cstdint>
#include <functional>

namespace halfulp::properties {

// Threads that for_parts() uses at most, its own among them: one a core unless told otherwise.
void set_threads_most(int count);
int threads_most();

// Calls `work` with ranges [first, last) that make up 0 .. count - 1, one for each thread, each of
// `least` parts or more. Where the system has no further thread, this one does the work. The first
// exception of any range is thrown here.
void for_parts(std::int64_t count, std::int64_t least,
               const std::function<void(std::int64_t first, std::int64_t last)>& work);

}  // namespace halfulp::properties
