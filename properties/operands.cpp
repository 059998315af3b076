#include "properties/operands.hpp"

#include <algorithm>
#include <cstring>

#include "gpu/kernel.hpp"
#include "properties/assert.hpp"
#include "properties/layout.hpp"
#include "properties/parameters.hpp"
#include "properties/spec.hpp"

namespace halfulp::properties {

gpu::Format storage_format(const Case& c) {
  const std::string_view word = c.text("in");
  for (const gpu::Format format :
       {gpu::Format::f32, gpu::Format::f16, gpu::Format::bf16, gpu::Format::tf32}) {
    if (gpu::name(format) == word) return format;
  }
  HALFULP_ASSERT(false, "no storage format " + std::string(word));
  return gpu::Format::f32;
}

gpu::Operand& add_operand(gpu::Problem& problem, const Case& c, std::string_view name,
                          gpu::Format format, gpu::Role role, std::vector<std::int64_t> extent,
                          Storing storing) {
  gpu::Operand& operand = problem.operands.emplace_back();
  operand.name = name;
  operand.format = format;
  operand.role = role;
  operand.extent = std::move(extent);
  const auto number = static_cast<std::uint32_t>(problem.operands.size() - 1);
  if (storing == Storing::transposed) std::ranges::reverse(operand.extent);
  lay_out(operand, c.text("layout"), c.seed(), number);
  if (storing == Storing::transposed) {
    std::ranges::reverse(operand.extent);
    std::ranges::reverse(operand.stride);
  }
  fill_gaps(operand);
  return operand;
}

void add_indices(gpu::Problem& problem, const Case& c, std::string_view name,
                 const std::vector<std::int32_t>& values) {
  gpu::Operand& operand = add_operand(problem, c, name, gpu::Format::i32, gpu::Role::input,
                                      {static_cast<std::int64_t>(values.size())});
  const std::size_t bytes = values.size() * sizeof(std::int32_t);
  HALFULP_ASSERT(operand.storage.size() == bytes, "indices are contiguous");
  if (bytes != 0) std::memcpy(operand.storage.data(), values.data(), bytes);
}

std::string common_error(const Case& c) {
  std::string error = layout_error(c.text("layout"));
  if (!error.empty()) return error;
  const gpu::Kernel* kernel = gpu::find_kernel(c.operation, c.kernel);
  if (kernel == nullptr) return c.operation + " has no kernel '" + c.kernel + "'";
  const auto& storage = kernel->storage;
  if (std::find(storage.begin(), storage.end(), storage_format(c)) != storage.end()) {
    return parameter_error(c);
  }
  std::vector<std::string_view> names;
  for (const gpu::Format format : storage) names.push_back(gpu::name(format));
  return "in=" + std::string(c.text("in")) + ": " + c.kernel + " stores " + join(names, ", ");
}

std::string bytes_error(double bytes,
                        const std::vector<std::pair<std::string_view, std::int64_t>>& sizes) {
  if (bytes <= kBytesMax) return {};
  const auto largest = std::max_element(
      sizes.begin(), sizes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  const auto mebibytes = [](double count) {
    return std::to_string(static_cast<std::int64_t>(count / (1024.0 * 1024.0)));
  };
  return std::string(largest->first) + "=" + std::to_string(largest->second) +
         ": the operands would take " + mebibytes(bytes) + " MiB, the limit is " +
         mebibytes(kBytesMax) + " MiB";
}

}  // namespace halfulp::properties
