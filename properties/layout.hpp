// Layouts of operands: where the logical elements of a case lie in memory. The innermost stride is
// always 1.
//
//   packed      row-major, no gaps
//   gap:G       every dimension but the innermost is padded by G elements; in inputs the gaps
//               hold NaN
//   every:N     rows lie N rows apart, with NaN between them in inputs
//   permuted    the two outer of three dimensions change places (head-major); of four, the two in
//               the middle do: heads lie beside each other in every row
//   broadcast   inputs only, about half of them: stride 0 on an outer dimension
//   offset:K    base pointers miss their alignment by K elements
//   mixed       each operand draws one of the above from the seed
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "gpu/problem.hpp"

namespace halfulp::properties {

// What is wrong with the text of a layout field, or empty.
std::string layout_error(std::string_view layout);

// Sets stride and base_offset from extent, role and format. `number` is the operand's place in its
// problem. Index operands stay contiguous; only their base may move.
void lay_out(gpu::Operand& operand, std::string_view layout, std::uint64_t seed,
             std::uint32_t number);

// Storage of the operand's span filled with NaN (floating point) or zero (i32). Outputs get none.
void fill_gaps(gpu::Operand& operand);

// Bits of one stored element, little end first.
void put(gpu::Operand& operand, std::int64_t storage_index, std::uint64_t bits);
std::uint64_t get(const gpu::Operand& operand, const std::byte* storage,
                  std::int64_t storage_index);

}  // namespace halfulp::properties
