// Fields against the parameters of a kernel's row; see parameters.hpp.
#include "properties/parameters.hpp"

#include <algorithm>

#include "gpu/kernel.hpp"
#include "properties/assert.hpp"
#include "properties/fields.hpp"
#include "properties/operation.hpp"
#include "properties/spec.hpp"

namespace halfulp::properties {
namespace {

const gpu::Kernel& kernel_of(const Case& c) {
  const gpu::Kernel* kernel = gpu::find_kernel(c.operation, c.kernel);
  HALFULP_ASSERT(kernel != nullptr, "no kernel " + c.kernel);
  return *kernel;
}

const gpu::Parameter* find(const gpu::Kernel& kernel, std::string_view name) {
  for (const gpu::Parameter& parameter : kernel.parameters) {
    if (parameter.name == name) return &parameter;
  }
  return nullptr;
}

std::string unknown(const gpu::Kernel& kernel, std::string_view name) {
  std::vector<std::string_view> found;
  for (const gpu::Parameter& parameter : kernel.parameters) found.push_back(parameter.name);
  if (found.empty()) return " takes no launch parameters";
  return " has no parameter " + std::string(name) + "; it takes " + join(found, ", ");
}

std::string error_of(const gpu::Kernel& kernel, const Field& field, const Case& c) {
  const std::string_view value = c.text(field.name);
  if (value == field.fallback) return {};
  const std::string whose =
      std::string(field.name) + "=" + shown(value) + ": " + std::string(kernel.name);
  const gpu::Parameter* parameter = find(kernel, field.name);
  if (parameter == nullptr) return whose + unknown(kernel, field.name);
  const std::string start = whose + " takes ";
  if (!parameter->words.empty()) {
    const auto& words = parameter->words;
    if (std::ranges::find(words, value) != words.end()) return {};
    return start + join(words, ", ");
  }
  const auto number = parse_integer(value);
  if (!number || *number < parameter->low || *number > parameter->high) {
    return start + std::to_string(parameter->low) + " to " + std::to_string(parameter->high);
  }
  const bool host = c.text("backend") != gpu::name(gpu::Backend::cuda);
  if (!parameter->resident || !host || *number <= c.integer("resident")) return {};
  return start + "at most those that are resident at once, resident=" +
         std::to_string(c.integer("resident"));
}

gpu::Setting setting_of(const gpu::Parameter& parameter, std::string_view value) {
  gpu::Setting setting{.name = std::string(parameter.name), .value = 0, .word = {}};
  if (parameter.words.empty()) {
    setting.value = parse_integer(value).value();
    return setting;
  }
  const auto& words = parameter.words;
  const auto found = value == kDefaultWord ? words.begin() : std::ranges::find(words, value);
  HALFULP_ASSERT(found != words.end(), "not a word of " + setting.name);
  setting.value = found - words.begin();
  setting.word = *found;
  return setting;
}

}  // namespace

std::string parameter_error(const Case& c) {
  const gpu::Kernel& kernel = kernel_of(c);
  for (const Field& field : find_operation(c.operation)->fields) {
    if (!field.parameter) continue;
    std::string error = error_of(kernel, field, c);
    if (!error.empty()) return error;
  }
  return {};
}

std::vector<gpu::Setting> settings(const Case& c) {
  std::vector<gpu::Setting> result;
  const gpu::Kernel& kernel = kernel_of(c);
  for (const Field& field : find_operation(c.operation)->fields) {
    const gpu::Parameter* parameter = field.parameter ? find(kernel, field.name) : nullptr;
    if (parameter != nullptr) result.push_back(setting_of(*parameter, c.text(field.name)));
  }
  return result;
}

}  // namespace halfulp::properties
