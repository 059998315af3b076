#include "properties/case.hpp"

#include <charconv>

#include "gpu/kernel.hpp"
#include "properties/assert.hpp"
#include "properties/fields.hpp"
#include "properties/operation.hpp"
#include "properties/spec.hpp"

namespace halfulp::properties {

struct CaseAccess {
  static std::vector<std::string>& values(Case& c) { return c.values_; }
  static const std::vector<std::string>& values(const Case& c) { return c.values_; }
};

namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);
constexpr std::size_t kErrorBytesMax = 2000;  // a graph may have an argument of any length

const Operation& operation_of(const Case& c) {
  const Operation* operation = find_operation(c.operation);
  HALFULP_ASSERT(operation != nullptr, "a case of no operation: " + c.operation);
  return *operation;
}

std::size_t find_field(const Operation& operation, std::string_view name) {
  for (std::size_t i = 0; i < operation.fields.size(); ++i) {
    if (operation.fields[i].name == name) return i;
  }
  return kNone;
}

std::size_t field_index(const Operation& operation, std::string_view name) {
  const std::size_t index = find_field(operation, name);
  HALFULP_ASSERT(index != kNone,
                 std::string(operation.name) + " has no field " + std::string(name));
  return index;
}

const std::string& value_of(const Case& c, std::string_view field) {
  return CaseAccess::values(c)[field_index(operation_of(c), field)];
}

std::string suggestion(std::string_view text, const std::vector<std::string_view>& words) {
  const std::string_view near =  // its time grows with the length
      text.size() <= kShownBytes ? nearest(text, words) : std::string_view();
  std::string what = "accepted: " + join(words, ", ");
  if (!near.empty()) what += "; did you mean " + std::string(near) + "?";
  return what;
}

std::string unknown_operation(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Operation& operation : operations()) names.push_back(operation.name);
  return "unknown operation '" + shown(name) + "'; " + suggestion(name, names);
}

std::string unknown_kernel(const Operation& operation, std::string_view name) {
  std::vector<std::string_view> names;
  for (const gpu::Kernel& kernel : gpu::kernels()) {
    if (kernel.operation == operation.name) names.push_back(kernel.name);
  }
  return std::string(operation.name) + " has no kernel '" + shown(name) + "'; " +
         suggestion(name, names);
}

std::string unknown_field(const Operation& operation, std::string_view name) {
  std::vector<std::string_view> names;
  for (const Field& field : operation.fields) names.push_back(field.name);
  return std::string(operation.name) + " has no field '" + shown(name) + "'; " +
         suggestion(name, names);
}

std::vector<std::string_view> words_of(std::string_view line) {
  constexpr std::string_view kSpace = " \t\r\n";
  std::vector<std::string_view> words;
  for (std::size_t start = line.find_first_not_of(kSpace); start != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(kSpace, start), line.size());
    words.push_back(line.substr(start, end - start));
    start = line.find_first_not_of(kSpace, end);
  }
  return words;
}

// Sets one `name=value`; returns what is wrong.
std::string assign(const Operation& operation, std::string_view word, Case& c,
                   std::vector<bool>& given) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos) {
    return "unexpected '" + shown(word) + "': fields are written name=value";
  }
  const std::string_view name = word.substr(0, equals);
  const std::size_t index = find_field(operation, name);
  if (index == kNone) return unknown_field(operation, name);
  if (given[index]) return std::string(name) + " is given twice";
  given[index] = true;
  std::string error;
  CaseAccess::values(c)[index] =
      canonical_value(operation.fields[index], word.substr(equals + 1), error);
  return error;
}

}  // namespace

std::int64_t Case::integer(std::string_view field) const {
  const auto value = parse_integer(value_of(*this, field));
  HALFULP_ASSERT(value.has_value(), "not an integer field: " + std::string(field));
  return *value;
}

double Case::real(std::string_view field) const {
  const std::string& text_value = value_of(*this, field);
  float value = 0;
  const auto result =
      std::from_chars(text_value.data(), text_value.data() + text_value.size(), value);
  HALFULP_ASSERT(result.ec == std::errc{}, "not a real field: " + std::string(field));
  return value;
}

std::string_view Case::text(std::string_view field) const { return value_of(*this, field); }

std::uint64_t Case::seed() const {
  const std::string& text_value = value_of(*this, "seed");
  std::uint64_t value = 0;
  std::from_chars(text_value.data() + 2, text_value.data() + text_value.size(), value, 16);
  return value;
}

void Case::set(std::string_view field, std::int64_t value) { set(field, std::to_string(value)); }

void Case::set(std::string_view field, std::string value) {
  const Operation& rows = operation_of(*this);
  const std::size_t index = field_index(rows, field);
  std::string error;
  std::string canonical = canonical_value(rows.fields[index], value, error);
  HALFULP_ASSERT(error.empty(), error);
  values_[index] = std::move(canonical);
}

Case make_case(std::string_view operation, std::string_view kernel) {
  Case c;
  c.operation = operation;
  c.kernel = kernel;
  for (const Field& field : operation_of(c).fields) {
    std::string error;
    CaseAccess::values(c).push_back(canonical_value(field, field.fallback, error));
    HALFULP_ASSERT(error.empty(), error);
  }
  return c;
}

std::string print(const Case& c) {
  const Operation& operation = operation_of(c);
  std::string line = c.operation + " " + c.kernel;
  for (std::size_t i = 0; i < operation.fields.size(); ++i) {
    const Field& field = operation.fields[i];
    const std::string& value = CaseAccess::values(c)[i];
    if (!field.always && value == field.fallback) continue;
    line += " ";
    line += field.name;
    line += "=" + value;
  }
  return line;
}

Parsed parse(std::string_view line) {
  Parsed parsed;
  std::string& error = parsed.error.what;
  const std::vector<std::string_view> words = words_of(line);
  if (words.size() < 2) {
    error = "a case line starts with an operation and a kernel: graph_attention fused_csc nodes=7";
    return parsed;
  }
  const Operation* operation = find_operation(words[0]);
  if (operation == nullptr) {
    error = unknown_operation(words[0]);
    return parsed;
  }
  if (gpu::find_kernel(words[0], words[1]) == nullptr) {
    error = unknown_kernel(*operation, words[1]);
    return parsed;
  }
  Case c = make_case(words[0], words[1]);
  std::vector<bool> given(operation->fields.size());
  for (std::size_t i = 2; i < words.size() && error.empty(); ++i) {
    error = assign(*operation, words[i], c, given);
  }
  if (error.empty()) error = operation->validate(c);
  if (error.size() > kErrorBytesMax) error = error.substr(0, kErrorBytesMax) + "...";
  if (error.empty()) parsed.value = std::move(c);
  return parsed;
}

}  // namespace halfulp::properties
