// The host backends: kernels run on the SIMT executor, plain or checked. Reached through
// gpu/backend.hpp.
#pragma once
#include <span>
#include <vector>

#include "gpu/backend.hpp"
#include "gpu/backends/summary.hpp"

namespace halfulp::gpu {

Outcome host_run(EntryPoint entry, Backend backend, const Problem& problem,
                 const Schedule& schedule);
std::vector<Timing> host_time(std::span<const EntryCall> calls, Backend backend,
                              const Problem& problem, int repeats);
double host_copy_bandwidth(std::int64_t bytes);

}  // namespace halfulp::gpu
