// Sizes and addresses of operands, from extents and strides alone.
#include "gpu/problem.hpp"

#include "gpu/assert.hpp"

namespace halfulp::gpu {

std::int64_t Operand::count() const {
  std::int64_t product = 1;
  for (const std::int64_t size : extent) product *= size;
  return product;
}

std::int64_t Operand::span_elements() const {
  std::int64_t last = 0;
  for (std::size_t axis = 0; axis < extent.size(); ++axis) {
    if (extent[axis] == 0) return 0;
    last += (extent[axis] - 1) * stride[axis];
  }
  return last + 1;
}

const Operand& Problem::operand(std::string_view operand_name) const {
  for (const Operand& candidate : operands) {
    if (candidate.name == operand_name) return candidate;
  }
  HALFULP_GPU_ASSERT(!"the problem has an operand of that name");
  return operands.front();
}

std::int64_t storage_index(const Operand& operand, std::int64_t row_major_index) {
  std::int64_t index = 0;
  for (std::size_t axis = operand.extent.size(); axis-- > 0;) {
    index += row_major_index % operand.extent[axis] * operand.stride[axis];
    row_major_index /= operand.extent[axis];
  }
  return index;
}

}  // namespace halfulp::gpu
