// The registry: lookups and rows added at start-up. The rows themselves are in kernel_table.cpp.
#include "gpu/kernel.hpp"

#include <array>

#include "gpu/assert.hpp"
#include "gpu/kernel_table.hpp"

namespace halfulp::gpu {
namespace {

std::vector<Kernel>& registry() {
  static std::vector<Kernel> rows = kernel_table();
  return rows;
}

}  // namespace

const Argument& Arguments::operator[](std::string_view operand_name) const {
  for (const Argument& argument : operands) {
    if (argument.operand != nullptr && argument.operand->name == operand_name) return argument;
  }
  HALFULP_GPU_ASSERT(!"the arguments have an operand of that name");
  return operands.front();
}

std::int64_t Arguments::setting(std::string_view setting_name, std::int64_t fallback) const {
  for (const Setting& setting : settings) {
    if (setting.name == setting_name) return setting.value;
  }
  return fallback;
}

std::string_view name(Backend backend) {
  constexpr std::array<std::string_view, kBackends> kNames{"host", "host-checked", "cuda"};
  return kNames.at(static_cast<std::size_t>(backend));
}

std::span<const Kernel> kernels() { return registry(); }

void add_kernels(std::vector<Kernel> rows) {
  for (Kernel& row : rows) {
    HALFULP_GPU_ASSERT(find_kernel(row.operation, row.name) == nullptr);
    registry().push_back(std::move(row));
  }
}

const Kernel* find_kernel(std::string_view operation, std::string_view kernel_name) {
  for (const Kernel& kernel : registry()) {
    if (kernel.operation == operation && kernel.name == kernel_name) return &kernel;
  }
  return nullptr;
}

}  // namespace halfulp::gpu
