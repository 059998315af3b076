// Random cases of flash_attention. Include from .cpp files only: the header is heavy.
#pragma once
#include <rapidcheck.h>

#include "gpu/kernel.hpp"
#include "properties/case.hpp"

namespace halfulp::properties {

Case generate_flash_case(const gpu::Kernel& kernel, gpu::Backend backend, const rc::Random& random,
                         int size);

}  // namespace halfulp::properties
