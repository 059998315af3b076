// Elements of output operands; see outputs.hpp.
#include "properties/outputs.hpp"

namespace halfulp::properties {

std::vector<const gpu::Operand*> output_operands(const gpu::Problem& problem) {
  std::vector<const gpu::Operand*> outputs;
  for (const gpu::Operand& operand : problem.operands) {
    if (operand.role == gpu::Role::output) outputs.push_back(&operand);
  }
  return outputs;
}

bool dense(const gpu::Operand& operand) {
  std::int64_t expected = 1;
  for (std::size_t axis = operand.extent.size(); axis-- > 0;) {
    if (operand.extent[axis] != 1 && operand.stride[axis] != expected) return false;
    expected *= operand.extent[axis];
  }
  return true;
}

std::vector<std::int64_t> logical_index(const gpu::Operand& operand, std::int64_t index) {
  std::vector<std::int64_t> position(operand.extent.size());
  for (std::size_t axis = position.size(); axis-- > 0;) {
    position[axis] = index % operand.extent[axis];
    index /= operand.extent[axis];
  }
  return position;
}

}  // namespace halfulp::properties
