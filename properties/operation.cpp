#include "properties/operation.hpp"

#include <array>

#include "properties/ops/ops.hpp"

namespace halfulp::properties {

std::span<const Operation> operations() {
  static const std::array table{vector_add_operation(), scatter_normalize_operation(),
                                graph_attention_operation(), matmul_operation(),
                                flash_attention_operation()};
  return table;
}

const Operation* find_operation(std::string_view name) {
  for (const Operation& operation : operations()) {
    if (operation.name == name) return &operation;
  }
  return nullptr;
}

}  // namespace halfulp::properties
