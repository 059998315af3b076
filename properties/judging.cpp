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

constexpr std::size_t kFailingEvaluated = 64;
constexpr std::int64_t kAudited = 64;
constexpr std::size_t kWorst = 8;

// The finaliser of SplitMix64: a bijection that mixes every bit.
std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

std::uint64_t audit_threshold(std::int64_t count) {
  const double share = std::min(0.01, static_cast<double>(kAudited) / static_cast<double>(count));
  return static_cast<std::uint64_t>(share * 0x1p32) << 32;
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
    output.audit_below = audit_threshold(std::max<std::int64_t>(1, operand->count()));
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
                  {rows.value[at], rows.error[at], rows.bound[at]}, position + i * stride);
    }
  };
  for_each_run(*output.operand, rows.first, count, run);
  elements_ += count;
}

void Judging::see_element(Output& output, reference::Element element, const Expected& expected,
                          std::int64_t position) {
  output.power.see(expected);
  const std::uint64_t key = seed_ ^ mixed(static_cast<std::uint64_t>(element.index) * 8 +
                                          static_cast<std::uint64_t>(element.output));
  bool audit = mixed(key) < output.audit_below;
  bool failed = false;
  for (const gpu::Outputs& result : results_) {
    const auto& storage = result[static_cast<std::size_t>(element.output)];
    const std::uint64_t bits = bits_at(storage, output.size_bytes, position);
    Pending pending{element, expected, bits, reference::decode(output.format, bits), Why::audit};
    const Decision decision = decide(output.format, expected, pending.got);
    if (decision == Decision::undecided) {
      pending.why = Why::undecided;
      pending_.push_back(pending);
      return;  // settled as a whole: every result of this element is judged there
    }
    if (decision == Decision::reject) {
      if (!failed) keep_failing(pending);
      failed = true;
      continue;
    }
    if (audit) {
      pending_.push_back(pending);
      audit = false;
    }
    // The ratio is at most distance / E: only what could be the worst so far is worth the division.
    const double distance = std::fabs(pending.got - expected.value);
    if (best_ratio_ >= 0 && !(distance > best_ratio_ * expected.bound)) continue;
    const double ratio =
        error_over_bound(output.format, enclosure(expected), expected.bound, pending.got);
    if (ratio > best_ratio_) {
      best_ratio_ = ratio;
      best_ = pending;
    }
  }
  if (failed) ++failed_;
}

// Keeps the worst ones, the first of equals.
void Judging::keep_failing(const Pending& pending) {
  Pending failing = pending;
  failing.why = Why::failing;
  const reference::Format format =
      outputs_[static_cast<std::size_t>(pending.element.output)].format;
  failing.ratio =
      error_over_bound(format, enclosure(pending.expected), pending.expected.bound, pending.got);
  if (failing_.size() < kFailingEvaluated) {
    failing_.push_back(failing);
    return;
  }
  const auto mildest = std::ranges::min_element(failing_, {}, &Pending::ratio);
  if (failing.ratio > mildest->ratio) *mildest = failing;
}

Suspect Judging::suspect(const Pending& pending, reference::Enclosure truth) const {
  const Output& output = outputs_[static_cast<std::size_t>(pending.element.output)];
  Suspect s;
  s.output = pending.element.output;
  s.output_name = output.operand->name;
  s.index = logical_index(*output.operand, pending.element.index);
  s.bits = pending.bits;
  s.got = pending.got;
  s.lo = truth.lo;
  s.hi = truth.hi;
  s.bound = pending.expected.bound;
  s.error_over_bound = error_over_bound(output.format, truth, s.bound, s.got);
  const Accepted ends = accepted(output.format, truth, s.bound);
  s.accept_lo = reference::encode(output.format, ends.lo);
  s.accept_hi = reference::encode(output.format, ends.hi);
  return s;
}

void Judging::keep(Suspect s) {
  const auto worse = [](const Suspect& a, const Suspect& b) {
    return a.error_over_bound > b.error_over_bound;
  };
  worst_.insert(std::upper_bound(worst_.begin(), worst_.end(), s, worse), std::move(s));
  if (worst_.size() > kWorst) worst_.resize(kWorst);
}

void Judging::settle(const Pending& pending, Judgement& judgement) {
  const Output& output = outputs_[static_cast<std::size_t>(pending.element.output)];
  if (!exact_) exact_ = operation_.exact(problem_, numerics_);
  const reference::Enclosure exact = exact_(pending.element);
  ++judgement.exact_checked;
  if (contradicts(pending.expected, exact) && contradiction_.empty()) {
    contradiction_ = fmt::format(
        "BUG IN THE REFERENCE, not in the kernel: {}[{}] is in [{:.17g}, {:.17g}] by exact "
        "evaluation, but {:.17g} +- {:.3g} by the fast path",
        output.operand->name, fmt::join(logical_index(*output.operand, pending.element.index), ","),
        exact.lo, exact.hi, pending.expected.value, pending.expected.error);
  }
  if (pending.why == Why::failing) keep(suspect(pending, exact));
  if (pending.why != Why::undecided) return;
  const std::int64_t position = gpu::storage_index(*output.operand, pending.element.index);
  Pending worst = pending;
  double worst_ratio = -1;
  bool failed = false;
  for (const gpu::Outputs& result : results_) {
    const auto& storage = result[static_cast<std::size_t>(pending.element.output)];
    Pending each = pending;
    each.bits = bits_at(storage, output.size_bytes, position);
    each.got = reference::decode(output.format, each.bits);
    failed = failed || !accepts(output.format, exact, pending.expected.bound, each.got);
    const double ratio = error_over_bound(output.format, exact, pending.expected.bound, each.got);
    if (ratio > worst_ratio) {
      worst_ratio = ratio;
      worst = each;
    }
  }
  if (failed) {
    ++failed_;
    keep(suspect(worst, exact));
  } else if (worst_ratio > best_ratio_) {
    best_ratio_ = worst_ratio;
    best_ = worst;
  }
}

void Judging::finish(Judgement& judgement) {
  for (const Pending& pending : failing_) settle(pending, judgement);
  for (const Pending& pending : pending_) settle(pending, judgement);
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
  if (failed_ == 0 && best_ratio_ >= 0) keep(suspect(best_, enclosure(best_.expected)));
  judgement.worst = std::move(worst_);
  if (!judgement.worst.empty()) {
    judgement.worst_error_over_bound = judgement.worst.front().error_over_bound;
  }
  judgement.verdict = Verdict::pass;
  if (!powers.empty()) judgement.reason = "no power in " + powers;
  if (powerless) judgement.verdict = Verdict::powerless;
  if (failed_ > 0) {
    judgement.verdict = Verdict::fail;
    judgement.reason = fmt::format("{} of {} elements", failed_, elements_);
  }
  if (!contradiction_.empty()) {
    judgement.verdict = Verdict::faulted;
    judgement.reason = contradiction_;
  }
}

}  // namespace halfulp::properties
