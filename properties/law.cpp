#include "properties/law.hpp"

#include <cmath>
#include <limits>

#include "properties/assert.hpp"
#include "properties/layout.hpp"
#include "properties/outputs.hpp"
#include "properties/translate.hpp"

namespace halfulp::properties {
namespace {

using reference::Format;

// Bounds of every element of every output, by output and row-major index.
using Bounds = std::vector<std::vector<double>>;

Bounds bounds(const Operation& operation, const gpu::Numerics& numerics,
              const gpu::Problem& problem) {
  Bounds result;
  for (const gpu::Operand* output : output_operands(problem)) {
    result.emplace_back(static_cast<std::size_t>(output->count()), 0.0);
  }
  operation.evaluate(problem, numerics, [&result](const reference::Rows& rows) {
    auto& row = result[static_cast<std::size_t>(rows.output)];
    for (std::size_t i = 0; i < rows.bound.size(); ++i) {
      row[static_cast<std::size_t>(rows.first) + i] = rows.bound[i];
    }
  });
  return result;
}

// Half the distance from `value` to its farther neighbour in the format: what rounding may have
// hidden.
double half_ulp(Format format, double value) {
  const auto& traits = reference::traits(format);
  int exponent = value == 0 ? traits.exponent_min : std::ilogb(value);
  if (exponent < traits.exponent_min) exponent = traits.exponent_min;
  return std::ldexp(1.0, exponent - traits.precision);
}

// May a kernel whose first output was `first` give `related`, when both are within `bound` (in sum)
// of one truth?
bool compatible(Format format, double first, double related, double bound) {
  if (std::isinf(bound) || std::isnan(bound)) return true;
  if (std::isnan(first) || std::isnan(related)) return std::isnan(first) && std::isnan(related);
  if (first == related) return true;
  // An overflow stands for everything from the largest finite number on.
  const double largest = reference::largest_finite(format);
  const double near = std::isinf(first) ? std::copysign(largest, first) : first;
  if (std::isinf(first) && std::isinf(related)) return false;  // opposite signs
  const double reach = (bound + half_ulp(format, near)) * (1 + 0x1p-30);
  const double low = near - reach;
  const double high = near + reach;
  return reference::round_to(format, low) <= related &&
         related <= reference::round_to(format, high);
}

struct Pair {
  Format format = Format::fp32;
  std::uint64_t first_bits = 0;
  std::uint64_t related_bits = 0;
  double bound = 0;
  int exponent = 0;
  bool exact = false;
};

bool agrees(const Pair& pair) {
  const double first = std::ldexp(reference::decode(pair.format, pair.first_bits), pair.exponent);
  const double related = reference::decode(pair.format, pair.related_bits);
  if (!pair.exact) return compatible(pair.format, first, related, pair.bound);
  if (std::isnan(first) || std::isnan(related)) return std::isnan(first) && std::isnan(related);
  return first == related;
}

std::string index_text(const gpu::Operand& operand, std::int64_t index) {
  std::string text;
  for (std::size_t axis = operand.extent.size(); axis-- > 0;) {
    text = std::to_string(index % operand.extent[axis]) + (text.empty() ? "" : "," + text);
    index /= operand.extent[axis];
  }
  return operand.name + "[" + text + "]";
}

std::string pair_text(const Pair& pair, const gpu::Operand& operand, std::int64_t first_index,
                      std::int64_t related_index) {
  char text[160];
  std::snprintf(text, sizeof text, " = %a, related %s = %a",
                reference::decode(pair.format, pair.first_bits),
                index_text(operand, related_index).c_str(),
                reference::decode(pair.format, pair.related_bits));
  return index_text(operand, first_index) + text;
}

// Against the numbers that the law itself gives.
std::string wrong_values(const gpu::Operand& operand, const std::vector<std::byte>& output,
                         const std::vector<double>& value) {
  HALFULP_ASSERT(std::ssize(value) == operand.count(), "a number for each element");
  const Format format = reference_format(operand.format);
  std::string what;
  std::int64_t compared = 0, wrong = 0;
  for (std::int64_t i = 0; i < operand.count(); ++i) {
    const double expected = value[static_cast<std::size_t>(i)];
    if (std::isnan(expected)) continue;
    ++compared;
    const double got =
        reference::decode(format, get(operand, output.data(), gpu::storage_index(operand, i)));
    if (got == expected || wrong++ > 0) continue;
    char text[80];
    std::snprintf(text, sizeof text, " = %a, not %a", got, expected);
    what = index_text(operand, i) + text;
  }
  if (wrong == 0) return {};
  return std::to_string(wrong) + " of " + std::to_string(compared) + " elements are wrong, first " +
         what + " in the related problem";
}

}  // namespace

const Law* find_law(const Operation& operation, std::string_view name) {
  for (const Law& law : operation.laws) {
    if (law.name == name) return &law;
  }
  return nullptr;
}

std::string disagreement(const Operation& operation, const gpu::Numerics& numerics,
                         const gpu::Problem& first, const OutputBytes& first_outputs,
                         const Relation& relation, const OutputBytes& related_outputs) {
  const auto operands = output_operands(first);
  const auto related_operands = output_operands(relation.problem);
  HALFULP_ASSERT(
      operands.size() == relation.outputs.size() && operands.size() == related_operands.size() &&
          operands.size() == first_outputs.size() && operands.size() == related_outputs.size(),
      "a law relates every output");
  if (!relation.outputs.empty() && !relation.outputs.front().value.empty()) {
    std::string wrong;
    for (std::size_t output = 0; output < operands.size() && wrong.empty(); ++output) {
      wrong = wrong_values(*related_operands[output], related_outputs[output],
                           relation.outputs[output].value);
    }
    return wrong;
  }
  const bool exact = relation.bit_for_bit && numerics.repeatable;
  Bounds first_bounds, related_bounds;
  if (!exact) {
    first_bounds = bounds(operation, numerics, first);
    related_bounds = bounds(operation, numerics, relation.problem);
  }
  std::string what;
  std::int64_t compared = 0, wrong = 0;
  for (std::size_t output = 0; output < operands.size(); ++output) {
    const gpu::Operand& operand = *operands[output];
    const gpu::Operand& related = *related_operands[output];
    const auto& place = relation.outputs[output].place;
    for (std::int64_t i = 0; i < operand.count(); ++i) {
      const std::int64_t j = place.empty() ? i : place[static_cast<std::size_t>(i)];
      if (j < 0) continue;
      Pair pair{
          .format = reference_format(operand.format),
          .first_bits = get(operand, first_outputs[output].data(), gpu::storage_index(operand, i)),
          .related_bits =
              get(related, related_outputs[output].data(), gpu::storage_index(related, j)),
          .exponent = relation.outputs[output].exponent,
          .exact = exact};
      if (!exact) {
        pair.bound = std::ldexp(first_bounds[output][static_cast<std::size_t>(i)], pair.exponent) +
                     related_bounds[output][static_cast<std::size_t>(j)];
      }
      ++compared;
      if (agrees(pair)) continue;
      if (wrong++ == 0) what = pair_text(pair, operand, i, j);
    }
  }
  if (wrong == 0) return {};
  return std::to_string(wrong) + " of " + std::to_string(compared) + " elements disagree" +
         (exact ? " bit for bit" : "") + ", first " + what;
}

}  // namespace halfulp::properties
