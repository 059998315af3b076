// Elementary functions over fp32: the device finds the worst inputs by its own fp64, and these are
// measured again by 50-digit arithmetic.
#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "properties/assert.hpp"
#include "properties/calibrate_rows.hpp"
#include "properties/translate.hpp"
#include "reference/elementary.hpp"

namespace halfulp::properties {

namespace {

using gpu::Instruction;

reference::Elementary truth_of(Instruction function) {
  switch (function) {
    case Instruction::expf:
    case Instruction::expf_fast:
      return reference::Elementary::exponential;
    case Instruction::exp2f:
    case Instruction::ex2_approx:
      return reference::Elementary::exponential_base_2;
    case Instruction::rcp_rn:
    case Instruction::rcp_approx:
      return reference::Elementary::reciprocal;
    case Instruction::rsqrtf:
      return reference::Elementary::reciprocal_square_root;
    case Instruction::fdividef:
      return reference::Elementary::quotient;
    default:
      break;
  }
  HALFULP_ASSERT(false, "not a function of one fp32 argument");
  return {};
}

// fp64 is within 2 ulp of its own: 2^-28 of an ulp of fp32, or the device's fp64 is at fault.
constexpr double kDeviceReference = 0x1p-28;

Finding largest_error(const Subject& subject, Instruction function) {
  const gpu::UlpLimit& limit = subject.declarations.of(function);
  const gpu::Sweep sweep =
      gpu::sweep(subject.options.target, function, limit, subject.options.stride);
  if (!sweep.error.empty()) throw DeviceError(sweep.error);
  if (sweep.worst.empty()) throw DeviceError("no argument was swept");
  gpu::SweepSample worst;
  double ratio = -1;
  for (gpu::SweepSample sample : sweep.worst) {
    const double by_device = sample.ulps;
    sample.ulps =
        reference::ulps_off(truth_of(function), sample.x, sample.numerator, sample.result);
    if (std::isfinite(sample.ulps) && std::abs(sample.ulps - by_device) > kDeviceReference) {
      throw DeviceError(
          fmt::format("fp64 at x = {:a}: {} ulp off, truly {}", sample.x, by_device, sample.ulps));
    }
    if (sample.ulps / limit.at(sample.x) <= ratio) continue;
    ratio = sample.ulps / limit.at(sample.x);
    worst = sample;
  }
  Finding finding;
  finding.measured = fmt::format("{:.4g} ulp", worst.ulps);
  finding.declared = fmt::format("{:.4g} ulp", limit.at(worst.x));
  finding.standing = ratio > 1 ? Standing::optimistic : Standing::agrees;
  finding.detail = fmt::format("at x = {:a}; {} arguments", worst.x, sweep.inputs);
  if (function == Instruction::fdividef) {
    finding.detail =
        fmt::format("{:a} / {:a}; {} divisors", worst.numerator, worst.x, sweep.inputs);
  }
  return finding;
}

struct Exact {
  float x, value;
};

// Arguments whose value must be exact: exp and 2^x of 0, reciprocals of powers of two.
std::vector<Exact> exact_values(Instruction function) {
  if (truth_of(function) != reference::Elementary::reciprocal) return {{0.0f, 1.0f}, {-0.0f, 1.0f}};
  std::vector<Exact> values;
  for (int exponent = -126; exponent <= 126; ++exponent) {
    for (const float sign : {1.0f, -1.0f}) {
      values.push_back({std::ldexp(sign, exponent), std::ldexp(sign, -exponent)});
    }
  }
  return values;
}

Finding exact(const Subject& subject, Instruction function) {
  const std::vector<Exact> values = exact_values(function);
  std::vector<std::uint32_t> arguments;
  for (const Exact& value : values) arguments.push_back(std::bit_cast<std::uint32_t>(value.x));
  const auto results = checked(gpu::apply(subject.options.target, function, arguments, arguments));
  std::string first;
  for (std::size_t i = 0; i < values.size() && first.empty(); ++i) {
    const auto result = std::bit_cast<float>(results[i]);
    if (result != values[i].value) {
      first = fmt::format("{:a} at x = {:a}, exactly {:a}", result, values[i].x, values[i].value);
    }
  }
  Finding finding = word(first.empty() ? "exact" : "inexact", "exact");
  finding.detail = first;
  return finding;
}

}  // namespace

std::span<const FunctionRow> function_rows() {
  static constexpr std::string_view kError = "largest error";
  static constexpr FunctionRow kRows[] = {
      {Instruction::expf, largest_error, kError},
      {Instruction::expf, exact, "of zero"},
      {Instruction::expf_fast, largest_error, kError},
      {Instruction::expf_fast, exact, "of zero"},
      {Instruction::exp2f, largest_error, kError},
      {Instruction::exp2f, exact, "of zero"},
      {Instruction::ex2_approx, largest_error, kError},
      {Instruction::ex2_approx, exact, "of zero"},
      {Instruction::rcp_rn, largest_error, kError},
      {Instruction::rcp_rn, exact, "of powers of two"},
      {Instruction::rcp_approx, largest_error, kError},
      {Instruction::rsqrtf, largest_error, kError},
      {Instruction::fdividef, largest_error, kError},
  };
  return kRows;
}

}  // namespace halfulp::properties
