// Reads the elements that a kernel wrote, whatever the layout of the operand.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "gpu/backend.hpp"
#include "gpu/problem.hpp"

namespace halfulp::properties {

// The output operands of a problem, in order: the numbering of reference::Rows and gpu::Outputs.
std::vector<const gpu::Operand*> output_operands(const gpu::Problem& problem);

// True when the elements lie densely in row-major order.
bool dense(const gpu::Operand& operand);

// Calls visit(index, position, stride, count) for runs of elements that are consecutive in
// row-major order and equally spaced in storage, covering [first, first + count).
template <class Visit>
void for_each_run(const gpu::Operand& operand, std::int64_t first, std::int64_t count,
                  Visit visit) {
  if (count <= 0) return;
  if (operand.extent.empty() || dense(operand)) {
    visit(first, first, std::int64_t{1}, count);
    return;
  }
  const std::int64_t inner = operand.extent.back();
  for (std::int64_t i = first; i < first + count;) {
    const std::int64_t run = std::min(first + count - i, inner - i % inner);
    visit(i, gpu::storage_index(operand, i), operand.stride.back(), run);
    i += run;
  }
}

// The stored pattern at an element position, in the low end of the word.
inline std::uint64_t bits_at(std::span<const std::byte> storage, std::int64_t size_bytes,
                             std::int64_t position) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, storage.data() + position * size_bytes, static_cast<std::size_t>(size_bytes));
  return bits;
}

// (i, j, k) of a row-major index.
std::vector<std::int64_t> logical_index(const gpu::Operand& operand, std::int64_t index);

}  // namespace halfulp::properties
