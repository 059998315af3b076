// What number.hpp and number_row.hpp compute with, one number at a time and many at once: the
// significands that random words stand for, and one rounding with integers.
//
//   const RoundingRule rule(reference::Format::fp16);
//   const std::uint64_t bits = rule.round(normal_significand(w0, w1, w2, w3), kNormalExponent);
#pragma once
#include <bit>
#include <cstdint>

#include "reference/format.hpp"

namespace halfulp::properties {

// Set bits, by operations that compilers vectorise.
constexpr std::uint32_t bit_count(std::uint32_t word) {
  word -= word >> 1 & 0x55555555u;
  word = (word & 0x33333333u) + (word >> 2 & 0x33333333u);
  word = (word + (word >> 4)) & 0x0f0f0f0fu;
  return word * 0x01010101u >> 24;
}

inline constexpr int kNormalExponent = -34;
constexpr std::int64_t normal_significand(std::uint32_t w0, std::uint32_t w1, std::uint32_t w2,
                                          std::uint32_t w3) {
  const auto steps = static_cast<std::int64_t>(bit_count(w0) + bit_count(w1)) - 33;
  return steps * (std::int64_t{1} << 32) + std::int64_t{w2} + std::int64_t{w3};
}

inline constexpr int kUniformExponent = -40;
constexpr std::int64_t uniform_significand(std::uint32_t w2, std::uint32_t w3) {  // 41 bits
  return (std::int64_t{w2} << 9) + (std::int64_t{w3} >> 23) - (std::int64_t{1} << 40);
}

inline constexpr int kPositiveExponent = -40;
constexpr std::int64_t positive_significand(std::uint32_t w2, std::uint32_t w3) {  // 40 bits
  return (std::int64_t{w2} << 8) + (std::int64_t{w3} >> 24) + (std::int64_t{1} << 30);
}

// The upper half of (w2 2^32 + w3) count, which is uniform on 0 .. count - 1; count < 2^31.
constexpr std::int64_t below(std::uint32_t w2, std::uint32_t w3, std::uint32_t count) {
  const std::uint64_t lower = std::uint64_t{w3} * count >> 32;
  return static_cast<std::int64_t>((std::uint64_t{w2} * count + lower) >> 32);
}

// Rounds numbers that fp64 holds as normal ones to a narrower format, to nearest even.
class RoundingRule {
 public:
  static constexpr std::int64_t kSignificandMost = std::int64_t{1} << 52;
  static constexpr int kExponentMost = 900;  // in magnitude

  explicit RoundingRule(reference::Format format) {
    const reference::FormatTraits& traits = reference::traits(format);
    const int fraction = traits.precision - 1;
    dropped_ = 52 - fraction;
    bias_ = static_cast<std::uint64_t>(1022 + traits.exponent_min) << fraction;
    infinity_ = static_cast<std::uint64_t>(traits.exponent_max - traits.exponent_min + 2)
                << fraction;
    smallest_normal_ = power(traits.exponent_min);
    // A number whose last bit is the format's last one below the smallest normal number.
    spacer_ = power(traits.exponent_min - fraction + 52);
    unused_ = format == reference::Format::tf32 ? 13 : 0;
    sign_ = traits.storage_bits - 1;
  }

  // 2^exponent.
  static constexpr double power(int exponent) {
    return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
  }

  // significand * scale, a power of two; |significand| < kSignificandMost.
  std::uint64_t round(std::int64_t significand, double scale) const {
    const bool negative = significand < 0;
    const auto magnitude = static_cast<std::uint64_t>(negative ? -significand : significand);
    // An integer below 2^52 in the fraction of 2^52.
    const double value =
        (std::bit_cast<double>(magnitude | std::uint64_t{0x433} << 52) - 0x1p52) * scale;
    const auto bits = std::bit_cast<std::uint64_t>(value);
    const std::uint64_t odd = bits >> dropped_ & 1;
    const std::uint64_t half = (std::uint64_t{1} << (dropped_ - 1)) - 1;
    const std::uint64_t normal = ((bits + half + odd) >> dropped_) - bias_;
    const std::uint64_t subnormal =
        std::bit_cast<std::uint64_t>(value + spacer_) - std::bit_cast<std::uint64_t>(spacer_);
    std::uint64_t code = value < smallest_normal_ ? subnormal : normal;
    code = code < infinity_ ? code : infinity_;
    return code << unused_ | static_cast<std::uint64_t>(negative) << sign_;
  }

 private:
  int dropped_ = 0, unused_ = 0, sign_ = 0;
  std::uint64_t bias_ = 0, infinity_ = 0;
  double smallest_normal_ = 0, spacer_ = 0;
};

}  // namespace halfulp::properties
