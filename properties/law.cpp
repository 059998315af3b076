#include "properties/law.hpp"

#include <cmath>
#include <limits>

#include "properties/assert.hpp"
#include "properties/compare.hpp"
#include "properties/layout.hpp"
#include "properties/outputs.hpp"
#include "properties/translate.hpp"

namespace halfulp::properties {
namespace {

using reference::Format;

// How far from the truth a kernel may be, of every element of every output, by output and row-major
// index.
struct Limit {
  double bound = 0;
  bool positive_zero = false;  // +0 exactly
};
using Limits = std::vector<std::vector<Limit>>;

Limits limits_of(const Operation& operation, const gpu::Numerics& numerics,
                 const gpu::Problem& problem) {
  Limits result;
  for (const gpu::Operand* output : output_operands(problem)) {
    result.emplace_back(static_cast<std::size_t>(output->count()));
  }
  operation.evaluate(problem, numerics, [&result](const reference::Rows& rows) {
    auto& row = result[static_cast<std::size_t>(rows.output)];
    for (std::size_t i = 0; i < rows.bound.size(); ++i) {
      row[static_cast<std::size_t>(rows.first) + i] = {rows.bound[i], rows.positive_zero};
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
  bool negated = false;
  bool exact = false;
};

bool agrees(const Pair& pair) {
  const double factor = std::ldexp(pair.negated ? -1.0 : 1.0, pair.exponent);
  const double first = reference::decode(pair.format, pair.first_bits) * factor;
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

bool keeps(const Limit& limit, Format format, double expected, double got) {
  if (limit.positive_zero && got == 0 && std::signbit(got)) return false;
  return accepts(format, {expected, expected}, limit.bound, got);
}

// Against the numbers that the law itself gives; `limits`: of each, or empty where it must be just
// that.
std::string wrong_values(const gpu::Operand& operand, const std::vector<std::byte>& output,
                         const std::vector<double>& value, const std::vector<Limit>& limits) {
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
    const bool near = limits.empty()
                          ? got == expected
                          : keeps(limits[static_cast<std::size_t>(i)], format, expected, got);
    if (near || wrong++ > 0) continue;
    char text[120];
    std::snprintf(text, sizeof text, " = %a, not %a", got, expected);
    what = index_text(operand, i) + text;
    if (limits.empty()) continue;
    std::snprintf(text, sizeof text, " +- %a", limits[static_cast<std::size_t>(i)].bound);
    what += text;
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
    Limits limits(operands.size());
    if (relation.outputs.front().within_bound) {
      limits = limits_of(operation, numerics, relation.problem);
    }
    for (std::size_t output = 0; output < operands.size() && wrong.empty(); ++output) {
      wrong = wrong_values(*related_operands[output], related_outputs[output],
                           relation.outputs[output].value, limits[output]);
    }
    return wrong;
  }
  const bool exact = relation.bit_for_bit && numerics.repeatable;
  Limits first_limits, related_limits;
  if (!exact) {
    first_limits = limits_of(operation, numerics, first);
    related_limits = limits_of(operation, numerics, relation.problem);
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
          .negated = relation.outputs[output].negated,
          .exact = exact};
      if (!exact) {
        const double bound = first_limits[output][static_cast<std::size_t>(i)].bound;
        pair.bound = std::ldexp(bound, pair.exponent) +
                     related_limits[output][static_cast<std::size_t>(j)].bound;
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
