// Kernels that misbehave on purpose, as rows for gpu::add_kernels: plain functions on the host
// backend.
//
//   vector_add fake_right      right
//   vector_add fake_wrong      adds 1 to element 5
//   vector_add fake_past_end   writes one element past its output
//   vector_add fake_far_past   writes 10000 bytes past its output
//   vector_add fake_crash      dereferences a bad pointer when n > 7
//   vector_add fake_abort      prints a sentence and aborts when n > 7
//   vector_add fake_quit       ends its process with status 3 when n > 7
//   vector_add fake_hang       never returns when n > 7
//   vector_add fake_slow       right, after 600 ms a call when n > 7
//   vector_add fake_lonely     right, but hangs beside another call of it when n > 7
//   vector_add fake_greedy     asks for more memory than there is when n > 7
//   vector_add fake_starving   right, but leaves its process without memory when n > 7
//   vector_add fake_spoiling   right, but its process has no memory for any later case
//   vector_add fake_chatty     right, but prints lines that look like answers
//   vector_add fake_unsteady   right, but other bits in NaNs on every other call
//   vector_add fake_ninth      adds 1 to element 5 on every ninth call in a process
//   vector_add fake_worn       adds 1 to element 5 when n > 100, and later in a process when n > 7
//   vector_add fake_killed     kills its process when n > 7; once where $HALFULP_FAKE_KILLED names
//                              a file, which it makes
//   vector_add fake_refusing   refuses legal arguments
#pragma once
#include <vector>

#include "gpu/kernel.hpp"

namespace halfulp::testing {

std::vector<gpu::Kernel> fake_kernels();

}  // namespace halfulp::testing
