// A case line's problem with its values as doubles, for tests.
#pragma once
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "gpu/kernel.hpp"
#include "properties/layout.hpp"
#include "properties/operation.hpp"
#include "properties/translate.hpp"

namespace halfulp::properties {

inline std::string first_kernel(std::string_view operation) {
  for (const gpu::Kernel& kernel : gpu::kernels()) {
    if (kernel.operation == operation) return std::string(kernel.name);
  }
  ADD_FAILURE() << "no kernel of " << operation;
  return {};
}

// `fields` as in a case line, after operation and kernel.
inline gpu::Problem problem_of(const std::string& operation, const std::string& fields) {
  const Parsed parsed = parse(operation + " " + first_kernel(operation) + " " + fields);
  EXPECT_EQ(parsed.error.what, "");
  return find_operation(operation)->materialise(parsed.value);
}

// Logical elements in row-major order.
inline std::vector<double> numbers(const gpu::Problem& problem, std::string_view name) {
  const gpu::Operand& operand = problem.operand(name);
  std::vector<double> result;
  for (std::int64_t i = 0; i < operand.count(); ++i) {
    const auto bits = get(operand, operand.storage.data(), gpu::storage_index(operand, i));
    result.push_back(reference::decode(reference_format(operand.format), bits));
  }
  return result;
}

inline std::vector<std::int32_t> ids(const gpu::Problem& problem, std::string_view name) {
  const gpu::Operand& operand = problem.operand(name);
  return {indices(operand), indices(operand) + operand.count()};
}

}  // namespace halfulp::properties
