// What the benchmarks of kernels on a device share.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "gpu/kernel.hpp"
#include "properties/bench.hpp"

namespace halfulp::properties {

// The kernels of one operation that have a device build, take the storage and pass the filters.
std::vector<const gpu::Kernel*> timed_kernels(std::string_view operation, gpu::Format storage,
                                              const std::vector<std::string>& filters);

// Matmul kernels that pass the filters beside cuBLAS, each at the quickest of a few settings: one
// shape in every storage format, then 24 shapes, all kernels in f16 and `tile` in the others, and
// each kernel's mean ratio over them. Nothing where no kernel passes. Needs a usable device.
void bench_matmul(const Say& say, const std::vector<std::string>& filters);

}  // namespace halfulp::properties
