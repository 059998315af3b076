// Laws of flash_attention.
#pragma once
#include <span>

#include "properties/operation.hpp"

namespace halfulp::properties {

std::span<const Law> flash_laws();

}  // namespace halfulp::properties
