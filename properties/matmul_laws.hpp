// Laws of matmul: relations between products that hold whatever the numbers are.
#pragma once
#include <span>

#include "properties/operation.hpp"

namespace halfulp::properties {

std::span<const Law> matmul_laws();

}  // namespace halfulp::properties
