#include "properties/number.hpp"

#include <bit>

namespace halfulp::properties {

using reference::Format;

std::uint64_t number(Format format, std::int64_t significand, int exponent) {
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
  const std::int64_t steps = std::popcount(draw.high()) - 32;
  const std::int64_t smooth = std::int64_t{draw.words[2]} + std::int64_t{draw.words[3]};
  return number(format, steps * (std::int64_t{1} << 32) + smooth - (std::int64_t{1} << 32),
                exponent - 34);
}

std::uint64_t uniform(Format format, const Draw& draw, int exponent) {
  const auto bits = static_cast<std::int64_t>(draw.low() >> 23);  // 41 bits
  return number(format, bits - (std::int64_t{1} << 40), exponent - 40);
}

std::uint64_t positive(Format format, const Draw& draw, int exponent) {
  const auto bits = static_cast<std::int64_t>(draw.low() >> 24);  // 40 bits
  return number(format, bits + (std::int64_t{1} << 30), exponent - 40);
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
