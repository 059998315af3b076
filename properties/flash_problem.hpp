// flash_attention: from a case to the operands and settings of a kernel, and from these to the
// truth. Operands q, k, v, mask (where the kernel is not told by settings), out.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/kernel.hpp"
#include "gpu/problem.hpp"
#include "properties/case.hpp"
#include "properties/flash_mask.hpp"
#include "reference/answer.hpp"

namespace halfulp::properties {

// "64x32": queries and keys of a tile. Asserts that it is one.
struct FlashTile {
  std::int64_t queries = 64, keys = 64;
};
FlashTile flash_tile(std::string_view word);
// Of the case's kernel: that of its field `tile`, or the kernel's default, or 64x64 where it has no
// tiles.
FlashTile flash_tile(const Case& c);

const gpu::Parameter* find_parameter(const gpu::Kernel& kernel, std::string_view name);

// How a kernel gets a mask: by settings, by a dense operand, or not at all.
enum class MaskPassing : std::uint8_t { settings, operand, none };
MaskPassing passing(const gpu::Kernel& kernel, const Mask& mask);
// The words of the kernel's setting `mask`; "none" where it has no such setting.
std::vector<std::string_view> mask_words(const gpu::Kernel& kernel);

// What is wrong with the text of the field `mask_layout`, or empty. dense; transposed: keys outer;
// pitch:G: rows G elements longer, NaN in the gaps; apart:G: heads and batches G elements longer,
// rows packed; offset:K: a misaligned base; broadcast:AXES: strides of 0 along some of b, h, q and
// k, where cell 0 stands for all.
std::string mask_layout_error(std::string_view text, MaskFamily family);

gpu::Format mask_format(const Case& c);
gpu::Format flash_output_format(const Case& c);
gpu::Problem materialise_flash(const Case& c);
// Bytes of all operands as they would lie, gaps left out.
double flash_bytes(const Case& c);

// The three questions to the reference (properties/operation.hpp).
void evaluate_flash(const gpu::Problem&, const gpu::Numerics&, const reference::Sink&);
reference::ExactAnswers exact_flash(const gpu::Problem&, const gpu::Numerics&);
std::vector<reference::BoundTerm> explain_flash(const gpu::Problem&, const gpu::Numerics&,
                                                reference::Element);

}  // namespace halfulp::properties
