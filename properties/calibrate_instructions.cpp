// Atomics and conversions: which way they round, and whether they keep subnormals.
#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "properties/assert.hpp"
#include "properties/calibrate_rows.hpp"
#include "properties/philox.hpp"
#include "reference/format.hpp"

namespace halfulp::properties {

namespace {

using gpu::Instruction;
using reference::Format;
using reference::Rounding;

constexpr std::size_t kAdditions = 4096;

Format format_of(Instruction instruction) {
  if (instruction == Instruction::atomic_add_f16) return Format::fp16;
  return instruction == Instruction::atomic_add_bf16 ? Format::bf16 : Format::fp32;
}

std::uint32_t encoded(Format format, double value) {
  return static_cast<std::uint32_t>(reference::encode(format, value));
}

// Numbers in [1, 2), and addends of either sign up to 2^12 times smaller: every sum is exact in
// fp64, and one in some hundred is a tie.
struct Additions {
  std::vector<std::uint32_t> a, b;
  std::vector<double> sum;
};
Additions additions(Format format, std::uint64_t seed) {
  const int precision = reference::traits(format).precision;
  const auto significand = [&](std::uint64_t random) {
    return 1 + std::ldexp(static_cast<double>(random % (1u << (precision - 1))), 1 - precision);
  };
  Additions result;
  for (std::uint64_t i = 0; i < kAdditions; ++i) {
    const Draw draw(seed, 64, i);
    const double a = significand(draw.high());
    double b = std::ldexp(significand(draw.low()), -static_cast<int>(draw.low() >> 40 & 11));
    if (i % 4 == 0) b = std::ldexp(1, -precision);  // half of the last bit: a tie
    if ((draw.low() >> 63) != 0) b = -b;
    const double sign = (draw.high() >> 63) != 0 ? -1 : 1;
    result.a.push_back(encoded(format, sign * a));
    result.b.push_back(encoded(format, sign * b));
    result.sum.push_back(sign * a + sign * b);
  }
  return result;
}

Finding rounding(const Subject& subject, Instruction instruction) {
  const Format format = format_of(instruction);
  const Additions in = additions(format, subject.options.seed);
  const auto results = checked(gpu::apply(subject.options.target, instruction, in.a, in.b));
  constexpr std::pair<Rounding, std::string_view> kRoundings[] = {
      {Rounding::nearest_even, "nearest even"},
      {Rounding::toward_zero, "toward zero"},
      {Rounding::downward, "downward"},
      {Rounding::upward, "upward"}};
  for (const auto& [way, text] : kRoundings) {
    std::size_t equal = 0;
    for (std::size_t i = 0; i < kAdditions; ++i) {
      equal += results[i] == reference::encode(format, in.sum[i], way) ? 1 : 0;
    }
    if (equal == kAdditions) return word(text, "nearest even");
  }
  return word("none of the four", "nearest even");
}

// Sums of subnormals, and of normal numbers to a subnormal.
Finding keeps_subnormals(const Subject& subject, Instruction instruction, std::string_view declared,
                         std::string_view better) {
  const Format format = format_of(instruction);
  const double least = reference::subnormal_spacing(format);
  const double normal = std::ldexp(1, reference::traits(format).exponent_min);
  const std::pair<double, double> sums[] = {
      {least, least}, {0, least}, {least, 0}, {1.5 * normal, -normal}};
  std::vector<std::uint32_t> a, b;
  for (const auto& [x, y] : sums) {
    a.push_back(encoded(format, x));
    b.push_back(encoded(format, y));
  }
  const auto results = checked(gpu::apply(subject.options.target, instruction, a, b));
  bool kept = true;
  for (std::size_t i = 0; i < results.size(); ++i) {
    kept = kept && results[i] == encoded(format, sums[i].first + sums[i].second);
  }
  return word(kept ? "kept" : "flushed", declared, better);
}

Finding subnormals_kept(const Subject& subject, Instruction instruction) {
  return keeps_subnormals(subject, instruction, "kept", {});
}
// Numerics::atomics: sums use global fp32 atomicAdd, which flushes.
Finding subnormals_flushed(const Subject& subject, Instruction instruction) {
  return keeps_subnormals(subject, instruction, "flushed", "kept");
}

// OperandRounding::nearest: within 2^-11, ties either way.
Finding conversion(const Subject& subject, Instruction instruction) {
  std::vector<std::uint32_t> in;
  for (std::uint64_t i = 0; i < kAdditions; ++i) {
    auto x = static_cast<std::uint32_t>(Draw(subject.options.seed, 65, i).high()) & 0xbfffffffu;
    if (i % 4 == 0) x = (x & ~0x1fffu) | 0x1000u;  // a tie
    if ((x >> 23 & 0xff) == 0) x |= 1u << 23;
    in.push_back(x);
  }
  const auto results = checked(gpu::apply(subject.options.target, instruction, in, in));
  bool nearest = true, away = true, cut = true;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const std::uint32_t up = (in[i] + 0x1000u) & ~0x1fffu;
    const bool tie = (in[i] & 0x1fffu) == 0x1000u;
    const std::uint32_t down = in[i] & ~0x1fffu;
    const std::uint32_t result = results[i] & ~0x1fffu;  // the low bits are not specified
    away = away && result == up;
    nearest = nearest && (result == up || (tie && result == down));
    cut = cut && result == down;
  }
  Finding finding = word(nearest ? "nearest" : cut ? "toward zero" : "neither", "nearest");
  if (nearest) finding.detail = away ? "ties away from zero" : "ties not always away from zero";
  return finding;
}

}  // namespace

std::span<const InstructionRow> instruction_rows() {
  static constexpr std::string_view kRounds = "rounding";
  static constexpr std::string_view kSubnormals = "subnormals";
  static constexpr InstructionRow kRows[] = {
      {Instruction::atomic_add_f32_global, rounding, kRounds},
      {Instruction::atomic_add_f32_global, subnormals_flushed, kSubnormals},
      {Instruction::atomic_add_f32_shared, rounding, kRounds},
      {Instruction::atomic_add_f32_shared, subnormals_kept, kSubnormals},
      {Instruction::atomic_add_f16, rounding, kRounds},
      {Instruction::atomic_add_f16, subnormals_kept, kSubnormals},
      {Instruction::atomic_add_bf16, rounding, kRounds},
      {Instruction::atomic_add_bf16, subnormals_kept, kSubnormals},
      {Instruction::convert_tf32, conversion, kRounds},
  };
  return kRows;
}

}  // namespace halfulp::properties
