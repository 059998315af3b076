// The cp.async copies of one thread: issued, committed in groups, landed by a wait.
#pragma once
#include <cstddef>
#include <source_location>
#include <vector>

namespace halfulp::gpu::simt {

struct AsyncCopy {
  void* to = nullptr;
  const void* from = nullptr;
  int size = 0;   // bytes written
  int bytes = 0;  // bytes read; the rest is zero
  std::source_location site;
  bool landed = false;
};

struct AsyncCopies {
  std::vector<AsyncCopy> copies;        // in the order of issue
  std::vector<std::size_t> group_ends;  // one past the last copy of each committed group
  std::size_t groups_waited = 0;

  bool empty() const { return copies.empty() && group_ends.empty(); }
  void clear() {
    copies.clear();
    group_ends.clear();
    groups_waited = 0;
  }
};

}  // namespace halfulp::gpu::simt
