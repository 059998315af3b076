#include "properties/number.hpp"

#include <cstdlib>

#include "properties/number_rules.hpp"

namespace halfulp::properties {

using reference::Format;

std::uint64_t number(Format format, std::int64_t significand, int exponent) {
  const bool quick = significand > -RoundingRule::kSignificandMost &&
                     significand < RoundingRule::kSignificandMost &&
                     std::abs(exponent) <= RoundingRule::kExponentMost && format != Format::fp64;
  if (quick) return RoundingRule(format).round(significand, RoundingRule::power(exponent));
  reference::Dyadic value;
  value.negative = significand < 0;
  value.significand = value.negative ? -static_cast<unsigned __int128>(significand)
                                     : static_cast<unsigned __int128>(significand);
  value.exponent = exponent;
  return reference::encode(format, value);
}

std::uint64_t not_a_number(Format format) {
  switch (format) {
    case Format::fp64:
      return 0x7ff8000000000000u;
    case Format::fp32:
    case Format::tf32:
      return 0x7fffffffu;
    case Format::fp16:
    case Format::bf16:
      return 0x7fffu;
  }
  return 0;
}

std::uint64_t infinity(Format format, bool negative) {
  std::uint64_t bits = 0;
  switch (format) {
    case Format::fp64:
      bits = 0x7ff0000000000000u;
      break;
    case Format::fp32:
    case Format::tf32:
      bits = 0x7f800000u;
      break;
    case Format::fp16:
      bits = 0x7c00u;
      break;
    case Format::bf16:
      bits = 0x7f80u;
      break;
  }
  const int sign = reference::traits(format).storage_bits - 1;
  return negative ? bits | (std::uint64_t{1} << sign) : bits;
}

std::uint64_t normal(Format format, const Draw& draw, int exponent) {
  const auto& w = draw.words;
  return number(format, normal_significand(w[0], w[1], w[2], w[3]), exponent + kNormalExponent);
}

std::uint64_t uniform(Format format, const Draw& draw, int exponent) {
  return number(format, uniform_significand(draw.words[2], draw.words[3]),
                exponent + kUniformExponent);
}

std::uint64_t positive(Format format, const Draw& draw, int exponent) {
  return number(format, positive_significand(draw.words[2], draw.words[3]),
                exponent + kPositiveExponent);
}

std::uint64_t integer(Format format, const Draw& draw, std::int64_t low, std::int64_t high) {
  const auto count = static_cast<std::uint64_t>(high - low + 1);
  return number(format, low + static_cast<std::int64_t>(draw.below(count, 2)));
}

std::uint64_t any_exponent(Format format, const Draw& draw, int low, int high) {
  const auto exponent =
      low + static_cast<int>(draw.below(static_cast<std::uint64_t>(high - low + 1), 0));
  const int precision = reference::traits(format).precision;
  const auto leading = std::int64_t{1} << (precision - 1);
  const auto rest = static_cast<std::int64_t>(draw.words[2]) & (leading - 1);
  const bool negative = (draw.words[3] >> 31) != 0;
  const std::int64_t significand = leading + rest;
  return number(format, negative ? -significand : significand, exponent - precision + 1);
}

}  // namespace halfulp::properties
