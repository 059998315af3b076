// The cuda backend: real launches on a device. Reached through gpu/backend.hpp; without nvcc at
// build time cuda_absent.cpp stands in and says so.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "gpu/backend.hpp"
#include "gpu/backends/summary.hpp"

namespace halfulp::gpu {

std::string cuda_unavailable_reason();
std::string cuda_device_name();
TensorCore cuda_tensor_core();
Outcome cuda_run(EntryPoint entry, const Problem& problem);
std::vector<Timing> cuda_time(std::span<const EntryCall> calls, const Problem& problem,
                              int repeats);
double cuda_copy_bandwidth(std::int64_t bytes);

}  // namespace halfulp::gpu
