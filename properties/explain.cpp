// Explanations of cases; see explain.hpp.
#include "properties/explain.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "properties/compare.hpp"
#include "properties/fields.hpp"
#include "properties/outputs.hpp"
#include "properties/report.hpp"
#include "properties/setup.hpp"
#include "properties/spec.hpp"
#include "properties/translate.hpp"

namespace halfulp::properties {

namespace {

constexpr std::int64_t kShown = 12;  // elements of an operand that are printed

std::string sizes(const gpu::Operand& operand) {
  std::string text =
      fmt::format("{} ({})", gpu::name(operand.format), fmt::join(operand.extent, ", "));
  if (!dense(operand)) text += fmt::format(", strides {}", fmt::join(operand.stride, " "));
  if (operand.base_offset != 0) text += fmt::format(", base off by {}", operand.base_offset);
  return text;
}

double value_at(const gpu::Operand& operand, std::int64_t index) {
  const std::int64_t position = gpu::storage_index(operand, index);
  const std::uint64_t bits = bits_at(operand.storage, gpu::size_bytes(operand.format), position);
  if (operand.format == gpu::Format::i32) return static_cast<std::int32_t>(bits);
  return reference::decode(reference_format(operand.format), bits);
}

// Integers in full: 16777217 is not 1.67772e+07.
std::string brief(double value) {
  const bool whole = std::fabs(value) < 1e15 && std::trunc(value) == value;
  return whole ? fmt::format("{:.0f}", value) : fmt::format("{:.6g}", value);
}

std::string input_text(const gpu::Operand& operand) {
  const std::int64_t count = operand.count();
  double lo = std::numeric_limits<double>::infinity();
  double hi = -lo;
  std::int64_t not_finite = 0, zeros = 0;
  std::vector<std::string> shown;
  for (std::int64_t i = 0; i < count; ++i) {
    const double value = value_at(operand, i);
    if (i < kShown) shown.push_back(brief(value));
    zeros += value == 0;
    not_finite += !std::isfinite(value);
    if (std::isfinite(value)) {
      lo = std::min(lo, value);
      hi = std::max(hi, value);
    }
  }
  std::string text = fmt::format("  {:<12} {}", operand.name, sizes(operand));
  if (count == 0) return text + ", empty\n";
  if (lo <= hi) text += fmt::format(", {} to {}", brief(lo), brief(hi));
  if (zeros > 0) text += fmt::format(", {} zeros", zeros);
  if (not_finite > 0) text += fmt::format(", {} NaN or infinite", not_finite);
  return text + fmt::format("\n               {}{}\n", fmt::join(shown, " "),
                            count > kShown ? " ..." : "");
}

// The truth as it streams by: the first elements of each output in words, and the bound of the
// element to explain, which is the one with the widest bound unless one was asked for.
struct Truth {
  std::vector<std::string> shown;
  std::optional<reference::Element> element;
  double bound = -1;
};

bool same(const reference::Element& a, const reference::Element& b) {
  return a.output == b.output && a.index == b.index;
}

Truth stream_truth(const Setup& setup, const gpu::Problem& problem,
                   std::optional<reference::Element> asked) {
  const auto outputs = output_operands(problem);
  Truth truth;
  truth.shown.resize(outputs.size());
  const auto see = [&](const reference::Rows& rows) {
    for (std::size_t i = 0; i < rows.value.size(); ++i) {
      const reference::Element element{rows.output, rows.first + static_cast<std::int64_t>(i)};
      if (element.index < kShown) {
        const auto place =
            logical_index(*outputs[static_cast<std::size_t>(rows.output)], element.index);
        truth.shown[static_cast<std::size_t>(rows.output)] +=
            fmt::format("    [{}]  {:.17g} +- {:.2g}, bound {:.3g}\n", fmt::join(place, ","),
                        rows.value[i], rows.error[i], rows.bound[i]);
      }
      if (asked ? same(*asked, element) : rows.bound[i] > truth.bound) {
        truth.bound = rows.bound[i];
        truth.element = element;
      }
    }
  };
  setup.operation->evaluate(problem, setup.numerics, see);
  return truth;
}

std::string accepted_text(reference::Format format, reference::Enclosure truth, double bound) {
  if (std::isinf(bound)) return "anything: legal kernels may give any value here";
  if (std::isnan(truth.lo)) return "NaN";
  const Accepted ends = accepted(format, truth, bound);
  return fmt::format("{:.9g} to {:.9g} ({:#x} to {:#x})", ends.lo, ends.hi,
                     reference::encode(format, ends.lo), reference::encode(format, ends.hi));
}

// A line on the statistical bound of the element, where the operation has one.
std::string advice_text(const Setup& setup, const gpu::Problem& problem,
                        reference::Element element) {
  if (setup.operation->advise == nullptr) return {};
  std::string text;
  setup.operation->advise(problem, setup.numerics, [&](const reference::Rows& rows) {
    const std::int64_t at = element.index - rows.first;
    if (rows.output != element.output || at < 0 || at >= std::ssize(rows.bound)) return;
    text = fmt::format("  advice    statistical bound {:.6g}: it decides nothing\n",
                       rows.bound[static_cast<std::size_t>(at)]);
  });
  return text;
}

std::string element_text(const Setup& setup, const gpu::Problem& problem,
                         reference::Element element, double bound) {
  const gpu::Operand& operand = *output_operands(problem)[static_cast<std::size_t>(element.output)];
  const reference::Format format = reference_format(operand.format);
  const reference::Enclosure exact = setup.operation->exact(problem, setup.numerics)(element);
  std::string text =
      fmt::format("{}[{}]\n  truth     {}\n  bound     {:.6g}\n  accepted  {}\n", operand.name,
                  fmt::join(logical_index(operand, element.index), ","), truth_text(exact), bound,
                  accepted_text(format, exact, bound));
  text += advice_text(setup, problem, element);
  std::vector<reference::BoundTerm> terms =
      setup.operation->explain(problem, setup.numerics, element);
  if (terms.empty()) return text + "  no terms: the answer is exact or has no bound\n";
  std::ranges::stable_sort(terms, std::greater{}, &reference::BoundTerm::amount);
  double sum = 0;
  for (const reference::BoundTerm& term : terms) sum += term.amount;
  std::vector<std::vector<std::string>> rows{{"  term", "derivation", "amount", "share"}};
  for (const reference::BoundTerm& term : terms) {
    rows.push_back(
        {fmt::format("  {}", term.name), term.derivation, fmt::format("{:.3g}", term.amount),
         sum > 0 && std::isfinite(sum) ? fmt::format("{:.1f}%", 100 * term.amount / sum) : "-"});
  }
  text += align(rows, 2);
  if (sum > 0) text += fmt::format("  dominated by {}\n", terms.front().name);
  return text;
}

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, trouble] = std::from_chars(text.data(), end, value);
  return trouble == std::errc{} && rest == end ? std::optional(value) : std::nullopt;
}

// "c[1,17]": the name of an output and an index for each of its axes.
std::optional<reference::Element> printed_element(const std::vector<const gpu::Operand*>& outputs,
                                                  std::string_view text) {
  const std::size_t open = text.find('[');
  if (open == std::string_view::npos || text.back() != ']') return std::nullopt;
  const std::string_view name = text.substr(0, open);
  const auto found = std::ranges::find_if(
      outputs, [name](const gpu::Operand* output) { return output->name == name; });
  if (found == outputs.end()) return std::nullopt;
  const std::vector<std::string_view> indices =
      split(text.substr(open + 1, text.size() - open - 2), ',');
  if (indices.size() != (*found)->extent.size()) return std::nullopt;
  reference::Element element{static_cast<int>(found - outputs.begin()), 0};
  for (std::size_t axis = 0; axis < indices.size(); ++axis) {
    const std::optional<std::int64_t> index = number(indices[axis]);
    const std::int64_t extent = (*found)->extent[axis];
    if (!index || *index < 0 || *index >= extent) return std::nullopt;
    element.index = element.index * extent + *index;
  }
  return element;
}

// "0:17": an output's number and a row-major index.
std::optional<reference::Element> numbered_element(const std::vector<const gpu::Operand*>& outputs,
                                                   std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::optional<std::int64_t> output = number(text.substr(0, colon));
  const std::optional<std::int64_t> index = number(text.substr(colon + 1));
  if (!output || !index || *output < 0 || *output >= std::ssize(outputs)) return std::nullopt;
  if (*index < 0 || *index >= outputs[static_cast<std::size_t>(*output)]->count()) {
    return std::nullopt;
  }
  return reference::Element{static_cast<int>(*output), *index};
}

// What the case has, for whoever asked for something else.
std::string no_such_element(const std::vector<const gpu::Operand*>& outputs,
                            std::string_view text) {
  std::vector<std::string> known;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i]->count() == 0) continue;
    known.push_back(fmt::format("{}[{}] to {}[{}], or {}:0 to {}:{}", outputs[i]->name,
                                fmt::join(logical_index(*outputs[i], 0), ","), outputs[i]->name,
                                fmt::join(logical_index(*outputs[i], outputs[i]->count() - 1), ","),
                                i, i, outputs[i]->count() - 1));
  }
  return fmt::format("--element {}: the case has no such element; it has {}", shown(text),
                     known.empty() ? "none" : fmt::format("{}", fmt::join(known, "; ")));
}

}  // namespace

std::string explanation(const Case& c, std::string_view asked, std::string& error) {
  const Setup setup = set_up(c);
  const gpu::Problem problem = setup.operation->materialise(c);
  const auto outputs = output_operands(problem);
  std::optional<reference::Element> element = printed_element(outputs, asked);
  if (!element) element = numbered_element(outputs, asked);
  if (!element && !asked.empty()) {
    error = no_such_element(outputs, asked);
    return {};
  }
  std::string text = fmt::format("{}\n{}\n{} declares {}\n\ninputs\n", print(c),
                                 setup.operation->summary, c.kernel, gpu::describe(setup.numerics));
  for (const gpu::Operand& operand : problem.operands) {
    if (operand.role == gpu::Role::input) text += input_text(operand);
  }
  const Truth truth = stream_truth(setup, problem, element);
  text += "\nanswer\n";
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    text += fmt::format("  {} {}\n{}", outputs[i]->name, sizes(*outputs[i]), truth.shown[i]);
    if (outputs[i]->count() > kShown) {
      text += fmt::format("    ... {} more\n", outputs[i]->count() - kShown);
    }
  }
  if (truth.element) text += "\n" + element_text(setup, problem, *truth.element, truth.bound);
  return text;
}

}  // namespace halfulp::properties
