// The kernels this project ships, one row each.
#pragma once
#include <vector>

#include "gpu/kernel.hpp"

namespace halfulp::gpu {

std::vector<Kernel> kernel_table();

}  // namespace halfulp::gpu
