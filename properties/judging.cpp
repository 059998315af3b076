// The judgement of a stream of elements; see judging.hpp.
#include "properties/judging.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "properties/assert.hpp"
#include "properties/outputs.hpp"
#include "properties/translate.hpp"

namespace halfulp::properties {

namespace {

constexpr std::size_t kWorst = 8;

// The finaliser of SplitMix64: a bijection that mixes every bit.
std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace

Judging::Judging(const Operation& operation, const gpu::Numerics& numerics,
                 const gpu::Problem& problem, const std::vector<gpu::Outputs>& results,
                 std::uint64_t seed)
    : operation_(operation),
      numerics_(numerics),
      problem_(problem),
      results_(results),
      seed_(seed) {
  for (const gpu::Operand* operand : output_operands(problem)) {
    Output output;
    output.operand = operand;
    output.format = reference_format(operand->format);
    output.size_bytes = gpu::size_bytes(operand->format);
    const auto count = static_cast<std::uint64_t>(std::max<std::int64_t>(1, operand->count()));
    output.audited = static_cast<std::int64_t>(mixed(seed + outputs_.size()) % count);
    outputs_.push_back(output);
  }
  for (const gpu::Outputs& result : results) {
    HALFULP_ASSERT(result.size() == outputs_.size(), "a backend lost an output");
  }
}

void Judging::see(const reference::Rows& rows) {
  HALFULP_ASSERT(rows.output >= 0 && rows.output < static_cast<int>(outputs_.size()),
                 "the reference and the problem disagree on the outputs");
  Output& output = outputs_[static_cast<std::size_t>(rows.output)];
  const auto count = static_cast<std::int64_t>(rows.value.size());
  const auto run = [&](std::int64_t index, std::int64_t position, std::int64_t stride,
                       std::int64_t length) {
    for (std::int64_t i = 0; i < length; ++i) {
      const auto at = static_cast<std::size_t>(index + i - rows.first);
      see_element(output, {rows.output, index + i},
                  {rows.value[at], rows.error[at], rows.bound[at], rows.positive_zero},
                  position + i * stride);
    }
  };
  for_each_run(*output.operand, rows.first, count, run);
  elements_ += count;
}

bool Judging::audits(const Output& output, reference::Element element) const {
  if (element.index == output.audited) return true;
  const std::uint64_t key = seed_ ^ mixed(static_cast<std::uint64_t>(element.index) * 8 +
                                          static_cast<std::uint64_t>(element.output));
  return mixed(key) < ~std::uint64_t{0} / effort_.audited_one_in;
}

Judging::Seen Judging::read(const Output& output, reference::Element element,
                            const Expected& expected, std::int64_t position,
                            const gpu::Outputs& result) const {
  const auto& storage = result[static_cast<std::size_t>(element.output)];
  const std::uint64_t bits = bits_at(storage, output.size_bytes, position);
  return {element, expected, bits, reference::decode(output.format, bits)};
}

void Judging::see_element(Output& output, reference::Element element, const Expected& expected,
                          std::int64_t position) {
  output.power.see(expected);
  bool settled = true;
  bool rejected = false;
  for (const gpu::Outputs& result : results_) {
    Seen seen = read(output, element, expected, position, result);
    const Decision decision = decide(output.format, expected, seen.got);
    settled = settled && decision == Decision::accept;
    rejected = rejected || decision == Decision::reject;
    if (!settled) continue;
    // The ratio is at most distance / E: only what could be the worst so far is worth the division.
    const double distance = std::fabs(seen.got - expected.value);
    if (best_.ratio >= 0 && !(distance > best_.ratio * expected.bound)) continue;
    seen.ratio = error_over_bound(output.format, enclosure(expected), expected.bound, seen.got);
    if (seen.ratio > best_.ratio) best_ = seen;
  }
  if (!settled || audits(output, element)) settle(output, element, expected, position, rejected);
}

Suspect Judging::suspect(const Seen& seen, reference::Enclosure truth) const {
  const Output& output = outputs_[static_cast<std::size_t>(seen.element.output)];
  Suspect s;
  s.output = seen.element.output;
  s.output_name = output.operand->name;
  s.index = logical_index(*output.operand, seen.element.index);
  s.bits = seen.bits;
  s.got = seen.got;
  s.lo = truth.lo;
  s.hi = truth.hi;
  s.bound = seen.expected.bound;
  s.error_over_bound = seen.ratio;
  const Accepted ends = accepted(output.format, truth, s.bound);
  s.accept_lo = reference::encode(output.format, ends.lo);
  s.accept_hi = reference::encode(output.format, ends.hi);
  return s;
}

// Worst first, the first of equals.
void Judging::keep(const Seen& seen, reference::Enclosure truth) {
  if (worst_.size() == kWorst && !(seen.ratio > worst_.back().error_over_bound)) return;
  const auto milder = [](double ratio, const Suspect& s) { return ratio > s.error_over_bound; };
  const auto place = std::upper_bound(worst_.begin(), worst_.end(), seen.ratio, milder);
  worst_.insert(place, suspect(seen, truth));
  if (worst_.size() > kWorst) worst_.pop_back();
}

// Judges every result of the element by its exact answer; `rejected`: whatever that is, one fails.
void Judging::settle(Output& output, reference::Element element, const Expected& expected,
                     std::int64_t position, bool rejected) {
  const auto worst_by = [&](reference::Enclosure truth) {
    Seen worst;
    for (const gpu::Outputs& result : results_) {
      Seen seen = read(output, element, expected, position, result);
      seen.ratio = wrong_zero(expected, seen.got)
                       ? std::numeric_limits<double>::infinity()
                       : error_over_bound(output.format, truth, expected.bound, seen.got);
      if (!(seen.ratio <= worst.ratio)) worst = seen;
    }
    return worst;
  };
  if (rejected && output.failing_evaluated >= effort_.failing_most &&
      !(worst_by(enclosure(expected)).ratio > worst_.front().error_over_bound)) {
    ++failed_;
    ++failing_left_out_;
    return;
  }
  if (!exact_) exact_ = operation_.exact(problem_, numerics_);
  const reference::Enclosure exact = exact_(element);
  ++exact_checked_;
  if (contradicts(expected, exact) && contradiction_.empty()) {
    contradiction_ = fmt::format(
        "BUG IN THE REFERENCE, not in the kernel: {}[{}] is in [{:.17g}, {:.17g}] by exact "
        "evaluation, but {:.17g} +- {:.3g} by the fast path",
        output.operand->name, fmt::join(logical_index(*output.operand, element.index), ","),
        exact.lo, exact.hi, expected.value, expected.error);
  }
  bool failed = rejected;
  for (const gpu::Outputs& result : results_) {
    const Seen seen = read(output, element, expected, position, result);
    failed = failed || !accepts(output.format, exact, expected.bound, seen.got);
  }
  const Seen worst = worst_by(exact);
  if (failed) {
    ++failed_;
    ++output.failing_evaluated;
    keep(worst, exact);
  } else if (worst.ratio > best_.ratio) {
    best_ = worst;
  }
}

void Judging::finish(Judgement& judgement) {
  std::string powers;
  bool powerless = elements_ > 0;
  for (const Output& output : outputs_) {
    HALFULP_ASSERT(output.power.elements() == output.operand->count(),
                   "the reference left out elements of an output");
    judgement.unbounded += output.power.unbounded();
    const std::string lacking = output.power.lacking();
    if (output.power.elements() > 0 && lacking.empty()) powerless = false;
    if (!lacking.empty()) {
      powers += fmt::format("{}{}: {}", powers.empty() ? "" : "; ", output.operand->name, lacking);
    }
  }
  judgement.elements = elements_;
  judgement.failed = failed_;
  judgement.exact_checked = exact_checked_;
  if (failed_ == 0 && best_.ratio >= 0) keep(best_, enclosure(best_.expected));
  judgement.worst = std::move(worst_);
  if (!judgement.worst.empty()) {
    judgement.worst_error_over_bound = judgement.worst.front().error_over_bound;
  }
  judgement.verdict = Verdict::pass;
  if (!powers.empty()) judgement.reason = "no power in " + powers;
  if (powerless) judgement.verdict = Verdict::powerless;
  if (elements_ == 0) {
    judgement.verdict = Verdict::powerless;
    judgement.reason = "no output elements: only what a kernel touches was checked";
  }
  if (failed_ > 0) {
    judgement.verdict = Verdict::fail;
    judgement.reason = fmt::format("{} of {} elements", failed_, elements_);
    if (failing_left_out_ > 0) {
      judgement.reason +=
          fmt::format(", {} of them evaluated exactly", failed_ - failing_left_out_);
    }
  }
  if (!contradiction_.empty()) {
    judgement.verdict = Verdict::faulted;
    judgement.reason = contradiction_;
  }
}

}  // namespace halfulp::properties
