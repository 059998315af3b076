// What every row of properties/ops needs to turn a case into a problem, and to refuse one.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpu/problem.hpp"
#include "properties/case.hpp"

namespace halfulp::properties {

gpu::Format storage_format(const Case& c);

// transposed: the layout is that of the operand's transpose.
enum class Storing : std::uint8_t { row_major, transposed };

// Appends an operand laid out as the case says; inputs have storage, still without values.
gpu::Operand& add_operand(gpu::Problem& problem, const Case& c, std::string_view name,
                          gpu::Format format, gpu::Role role, std::vector<std::int64_t> extent,
                          Storing storing = Storing::row_major);
// A contiguous i32 input holding `values`.
void add_indices(gpu::Problem& problem, const Case& c, std::string_view name,
                 const std::vector<std::int32_t>& values);

// Errors that do not depend on the operation: the layout's text, a storage format the kernel does
// not take, launch parameters.
std::string common_error(const Case& c);

// A case whose operands and outputs take more than this is refused.
inline constexpr double kBytesMax = 4.0 * 1024 * 1024 * 1024;
// `sizes` are the fields that the bytes come from; the error names the largest.
std::string bytes_error(double bytes,
                        const std::vector<std::pair<std::string_view, std::int64_t>>& sizes);

}  // namespace halfulp::properties
