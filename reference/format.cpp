#include "reference/format.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "reference/require.hpp"

namespace halfulp::reference {
namespace {

constexpr std::array<FormatTraits, 5> traits_table{{
    {"fp64", 64, 53, -1022, 1023},
    {"fp32", 32, 24, -126, 127},
    {"tf32", 32, 11, -126, 127},
    {"fp16", 16, 11, -14, 15},
    {"bf16", 16, 8, -126, 127},
}};

// A magnitude significand * 2^exponent, with something below its last bit when sticky.
struct Magnitude {
  unsigned __int128 significand;
  std::int64_t exponent;
  bool sticky;
};

// Layout of a pattern. Low bits that a format stores but does not use (tf32) are left out of
// `code`, so that consecutive codes are consecutive numbers: that is what makes a carry out of a
// rounding right.
struct Layout {
  const FormatTraits& format;
  int fraction_bits;
  int exponent_bits;
  int unused_bits;

  explicit constexpr Layout(const FormatTraits& f)
      : format(f),
        fraction_bits(f.precision - 1),
        exponent_bits(std::bit_width(static_cast<unsigned>(f.exponent_max - f.exponent_min + 2))),
        unused_bits(f.storage_bits - 1 - fraction_bits - exponent_bits) {}

  std::uint64_t infinity() const { return ((1ULL << exponent_bits) - 1) << fraction_bits; }
  std::uint64_t pattern(bool negative, std::uint64_t code) const {
    return (std::uint64_t{negative} << (format.storage_bits - 1)) | (code << unused_bits);
  }
  // NaN of the GPU: every bit but the sign.
  std::uint64_t nan() const {
    return pattern(false, (1ULL << (exponent_bits + fraction_bits)) - 1);
  }
};

int bit_width(unsigned __int128 value) {
  const auto high = static_cast<std::uint64_t>(value >> 64);
  if (high != 0) return 64 + static_cast<int>(std::bit_width(high));
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(value)));
}

// Is a magnitude between two neighbours to become the upper one? `half` is the first dropped bit,
// `rest` whether anything lies below it.
bool rounds_up(Rounding rounding, bool negative, bool odd, bool half, bool rest) {
  switch (rounding) {
    case Rounding::nearest_even:
      return half && (rest || odd);
    case Rounding::toward_zero:
      return false;
    case Rounding::downward:
      return negative && (half || rest);
    case Rounding::upward:
      return !negative && (half || rest);
  }
  return false;
}

// Code of a magnitude at or beyond 2^(exponent_max + 1).
std::uint64_t overflow_code(const Layout& layout, bool negative, Rounding rounding) {
  const bool to_infinity =
      rounding == Rounding::nearest_even || rounds_up(rounding, negative, false, true, true);
  return layout.infinity() - (to_infinity ? 0 : 1);
}

std::uint64_t round_magnitude(const Layout& layout, bool negative, const Magnitude& value,
                              Rounding rounding) {
  const FormatTraits& format = layout.format;
  const int width = bit_width(value.significand);
  if (width == 0 && !value.sticky) return 0;
  std::int64_t exponent = std::max<std::int64_t>(value.exponent + width - 1, format.exponent_min);
  if (width != 0 && exponent > format.exponent_max)
    return overflow_code(layout, negative, rounding);

  const std::int64_t dropped = exponent - (format.precision - 1) - value.exponent;
  HALFULP_REQUIRE(dropped > 0 || !value.sticky, "a sticky value must have a bit to spare");
  const auto biased = static_cast<std::uint64_t>(exponent - format.exponent_min);
  if (dropped <= 0) {
    const auto kept = static_cast<std::uint64_t>(value.significand << -dropped);
    return (biased << layout.fraction_bits) + kept;
  }
  // At most width bits are there to be dropped; further ones are zeros above the significand.
  const bool all = dropped > width;
  const unsigned __int128 one = 1;
  const auto kept = dropped >= width ? std::uint64_t{0}
                                     : static_cast<std::uint64_t>(value.significand >> dropped);
  const bool half = !all && (value.significand >> (dropped - 1) & 1) != 0;
  const unsigned __int128 below =
      all ? value.significand : value.significand & ((one << (dropped - 1)) - 1);
  const bool rest = value.sticky || below != 0;
  // A carry out of the significand lands in the exponent field, and out of the last binade in
  // infinity.
  const std::uint64_t code = (biased << layout.fraction_bits) + kept;
  return code + (rounds_up(rounding, negative, (kept & 1) != 0, half, rest) ? 1 : 0);
}

}  // namespace

const FormatTraits& traits(Format format) { return traits_table[static_cast<std::size_t>(format)]; }

double unit_roundoff(Format format) {
  return 1 / static_cast<double>(1ULL << traits(format).precision);
}

double subnormal_spacing(Format format) {
  const Layout layout(traits(format));
  return decode(format, layout.pattern(false, 1));
}

double largest_finite(Format format) {
  const Layout layout(traits(format));
  return decode(format, layout.pattern(false, layout.infinity() - 1));
}

double decode(Format format, std::uint64_t bits) {
  if (format == Format::fp64) return std::bit_cast<double>(bits);
  const Layout layout(traits(format));
  const std::uint64_t sign = bits >> (layout.format.storage_bits - 1) & 1;
  // tf32 reads all of its 32-bit pattern, as fp32 does.
  const int fraction_bits = layout.fraction_bits + layout.unused_bits;
  std::uint64_t fraction = bits & ((1ULL << fraction_bits) - 1);
  const std::uint64_t field = bits >> fraction_bits & ((1ULL << layout.exponent_bits) - 1);
  const std::uint64_t to_double_sign = sign << 63;
  fraction <<= 52 - fraction_bits;
  if (field == (1ULL << layout.exponent_bits) - 1) {
    return std::bit_cast<double>(fraction != 0 ? 0x7fffffffffffffffULL
                                               : to_double_sign | 0x7ff0000000000000ULL);
  }
  int exponent = static_cast<int>(field) + layout.format.exponent_min - 1;
  if (field == 0) {
    if (fraction == 0) return std::bit_cast<double>(to_double_sign);
    const int shift = std::countl_zero(fraction) - 11;  // leading one to the implicit place, bit 52
    fraction = fraction << shift & 0x000fffffffffffffULL;
    exponent = layout.format.exponent_min - shift;
  }
  return std::bit_cast<double>(to_double_sign | static_cast<std::uint64_t>(exponent + 1023) << 52 |
                               fraction);
}

std::uint64_t encode(Format format, double value, Rounding rounding) {
  const Layout layout(traits(format));
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const bool negative = bits >> 63 != 0;
  const std::uint64_t fraction = bits & 0x000fffffffffffffULL;
  const auto field = static_cast<std::int64_t>(bits >> 52 & 0x7ff);
  if (field == 0x7ff)
    return fraction != 0 ? layout.nan() : layout.pattern(negative, layout.infinity());
  const std::uint64_t significand = field == 0 ? fraction : fraction | 1ULL << 52;
  const Magnitude magnitude{significand, std::max<std::int64_t>(field, 1) - 1075, false};
  return layout.pattern(negative, round_magnitude(layout, negative, magnitude, rounding));
}

std::uint64_t encode(Format format, const Dyadic& value, Rounding rounding) {
  const Layout layout(traits(format));
  const Magnitude magnitude{value.significand, value.exponent, value.sticky};
  return layout.pattern(value.negative,
                        round_magnitude(layout, value.negative, magnitude, rounding));
}

double round_to(Format format, double value, Rounding rounding) {
  return format == Format::fp64 ? value : decode(format, encode(format, value, rounding));
}

}  // namespace halfulp::reference
