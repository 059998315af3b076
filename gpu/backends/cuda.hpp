// The cuda backend: real launches on a device. Reached through gpu/backend.hpp; without nvcc at
// build time cuda_absent.cpp stands in and says so.
#pragma once
#include <string>

#include "gpu/backend.hpp"

namespace halfulp::gpu {

std::string cuda_unavailable_reason();
std::string cuda_device_name();
TensorCore cuda_tensor_core();
Outcome cuda_run(EntryPoint entry, const Problem& problem);
Timing cuda_time(EntryPoint entry, const Problem& problem, int repeats);
double cuda_copy_bandwidth(std::int64_t bytes);

}  // namespace halfulp::gpu
