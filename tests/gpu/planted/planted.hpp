// The planted kernels as rows, in all builds; see planted_kernels.cuh and
// planted_protocols.cuh for what each does wrong.
#pragma once
#include <string_view>

#include "gpu/kernel.hpp"

namespace halfulp::gpu::test {

// A row that is in no registry. Names are those of the functions without "planted_".
Kernel planted(std::string_view name);

}  // namespace halfulp::gpu::test
