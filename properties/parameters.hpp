// Launch parameters in case lines: fields whose names are those of parameters that a kernel's row
// declares (gpu/kernel.hpp).
//
//   matmul split_k ... tile=64x64x32 splits=4
//
// A kernel takes only what its row declares: any other of these fields must stay at its fallback.
#pragma once
#include <string>
#include <vector>

#include "gpu/problem.hpp"
#include "properties/case.hpp"

namespace halfulp::properties {

// Value of a field that stands for the first of the words that the kernel has.
inline constexpr std::string_view kDefaultWord = "default";

// What is wrong with the case's launch parameters, or empty. Asserts that the kernel exists.
std::string parameter_error(const Case& c);

// Every parameter that the kernel has and the operation has a field for, at the case's values. The
// case is legal.
std::vector<gpu::Setting> settings(const Case& c);

}  // namespace halfulp::properties
