// Random masks of flash_attention. Include from .cpp files only: RapidCheck is heavy.
#pragma once
#include "gpu/kernel.hpp"
#include "properties/case.hpp"
#include "properties/flash_problem.hpp"
#include "properties/generate.hpp"

namespace halfulp::properties {

// Sets mask, mask_in and mask_layout to some that the kernel takes. The case has its sizes, storage
// and fill: call after choose_common.
void choose_flash_mask(Choices& choose, const gpu::Kernel& kernel, const FlashTile& tile, Case& c);

}  // namespace halfulp::properties
