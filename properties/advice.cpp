// The statistical bound beside the results; see advice.hpp.
#include "properties/advice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "properties/compare.hpp"
#include "properties/outputs.hpp"
#include "properties/report.hpp"
#include "properties/translate.hpp"

namespace halfulp::properties {

namespace {

// The largest error over the bound among the results of one element.
double worst_ratio(const gpu::Operand& operand, std::int64_t position, int output,
                   const Expected& expected, const std::vector<gpu::Outputs>& results) {
  const reference::Format format = reference_format(operand.format);
  double worst = 0;
  for (const gpu::Outputs& result : results) {
    const std::uint64_t bits = bits_at(result[static_cast<std::size_t>(output)],
                                       gpu::size_bytes(operand.format), position);
    worst = std::max(worst, error_over_bound(format, enclosure(expected), expected.bound,
                                             reference::decode(format, bits)));
  }
  return worst;
}

}  // namespace

Advice advice(const Operation& operation, const gpu::Numerics& numerics,
              const gpu::Problem& problem, const std::vector<gpu::Outputs>& results) {
  Advice found;
  const auto outputs = output_operands(problem);
  operation.advise(problem, numerics, [&](const reference::Rows& rows) {
    const gpu::Operand& operand = *outputs[static_cast<std::size_t>(rows.output)];
    for (std::size_t i = 0; i < rows.value.size(); ++i) {
      const std::int64_t index = rows.first + static_cast<std::int64_t>(i);
      const Expected expected{rows.value[i], rows.error[i], rows.bound[i], rows.positive_zero};
      const double ratio =
          worst_ratio(operand, gpu::storage_index(operand, index), rows.output, expected, results);
      ++found.elements;
      found.beyond += ratio > 1 ? 1 : 0;
      if (ratio <= found.worst) continue;
      found.worst = ratio;
      found.where =
          fmt::format("{}[{}]", operand.name, fmt::join(logical_index(operand, index), ","));
    }
  });
  return found;
}

std::string text(const Advice& advice) {
  std::string counted =
      fmt::format("{} of {} elements beyond the statistical bound", advice.beyond, advice.elements);
  if (advice.worst > 0) {
    counted += fmt::format(", the worst {} times it at {}", ratio_text(advice.worst), advice.where);
  }
  return counted;
}

}  // namespace halfulp::properties
