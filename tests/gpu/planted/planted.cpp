// The table of the planted kernels.
#include "tests/gpu/planted/planted.hpp"

#include <cstdlib>

#define HALFULP_PLANTED(X)                                                                      \
  X(past_end)                                                                                   \
  X(before_begin)                                                                               \
  X(lost_tail) X(input) X(workspace) X(race) X(accumulate) X(wait) X(divergence) X(misaligned)  \
      X(order) X(launch_error) X(nothing) X(gap) X(sum) X(sum_read_early) X(sum_left_set)       \
          X(hand_over) X(flag_first) X(no_fence) X(lock_past_end) X(shared) X(shared_too_large) \
              X(resident_none) X(other_stream)
#define HALFULP_DECLARE(name) Status planted_##name(const Arguments& arguments);
namespace halfulp::gpu::planted_host {
HALFULP_PLANTED(HALFULP_DECLARE)
}
namespace halfulp::gpu::planted_host_checked {
HALFULP_PLANTED(HALFULP_DECLARE)
}
namespace halfulp::gpu::planted_cuda {
HALFULP_PLANTED(HALFULP_DECLARE)
}

namespace halfulp::gpu::test {

#if defined(HALFULP_WITH_CUDA)
#define HALFULP_ROW(kernel)                                                 \
  {"vector_add",                                                            \
   #kernel,                                                                 \
   "wrong on purpose",                                                      \
   {},                                                                      \
   {Format::f32},                                                           \
   {},                                                                      \
   {planted_host::planted_##kernel, planted_host_checked::planted_##kernel, \
    planted_cuda::planted_##kernel},                                        \
   {}},
#else
#define HALFULP_ROW(kernel)                                                           \
  {"vector_add",                                                                      \
   #kernel,                                                                           \
   "wrong on purpose",                                                                \
   {},                                                                                \
   {Format::f32},                                                                     \
   {},                                                                                \
   {planted_host::planted_##kernel, planted_host_checked::planted_##kernel, nullptr}, \
   {}},
#endif

Kernel planted(std::string_view name) {
  for (Kernel row : std::vector<Kernel>{HALFULP_PLANTED(HALFULP_ROW)}) {
    if (row.name != name) continue;
    if (name == "gap") row.operation = "scatter_normalize";
    return row;
  }
  std::abort();
}

}  // namespace halfulp::gpu::test
