// Formats against independent roundings: neighbours found by counting patterns, the compiler's own
// conversions, and MPFR at the format's precision and exponent range.
#include "reference/format.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cfenv>
#include <cmath>
#include <limits>
#include <random>

#include "tests/reference/round_by_mpfr.hpp"

namespace halfulp::reference {
namespace {

constexpr Format formats[] = {Format::fp64, Format::fp32, Format::tf32, Format::fp16, Format::bf16};
constexpr Format narrow_formats[] = {Format::fp16, Format::bf16};
constexpr Rounding roundings[] = {Rounding::nearest_even, Rounding::toward_zero, Rounding::downward,
                                  Rounding::upward};
constexpr double infinity = std::numeric_limits<double>::infinity();

double round_by_mpfr(Format format, bool negative, unsigned __int128 significand, int exponent,
                     Rounding rounding) {
  mpfr_t exact, low;
  mpfr_inits2(256, exact, low, nullptr);
  mpfr_set_ui_2exp(exact, static_cast<std::uint64_t>(significand >> 64), exponent + 64, MPFR_RNDN);
  mpfr_set_ui_2exp(low, static_cast<std::uint64_t>(significand), exponent, MPFR_RNDN);
  mpfr_add(exact, exact, low, MPFR_RNDN);
  mpfr_setsign(exact, exact, negative, MPFR_RNDN);
  const double result = round_by_mpfr(format, exact, rounding);
  mpfr_clears(exact, low, nullptr);
  return result;
}

std::uint64_t bits_of(double value) { return std::bit_cast<std::uint64_t>(value); }

TEST(Format, TraitsAgreeWithIeee) {
  EXPECT_EQ(largest_finite(Format::fp64), std::numeric_limits<double>::max());
  EXPECT_EQ(largest_finite(Format::fp32), std::numeric_limits<float>::max());
  EXPECT_EQ(largest_finite(Format::tf32), std::ldexp(2047, 117));
  EXPECT_EQ(largest_finite(Format::fp16), 65504);
  EXPECT_EQ(largest_finite(Format::bf16), std::ldexp(255, 120));
  EXPECT_EQ(subnormal_spacing(Format::fp64), 0x1p-1074);
  EXPECT_EQ(subnormal_spacing(Format::fp32), 0x1p-149);
  EXPECT_EQ(subnormal_spacing(Format::tf32), 0x1p-136);
  EXPECT_EQ(subnormal_spacing(Format::fp16), 0x1p-24);
  EXPECT_EQ(subnormal_spacing(Format::bf16), 0x1p-133);
  EXPECT_EQ(unit_roundoff(Format::fp64), 0x1p-53);
  EXPECT_EQ(unit_roundoff(Format::fp32), 0x1p-24);
  EXPECT_EQ(unit_roundoff(Format::tf32), 0x1p-11);
  EXPECT_EQ(unit_roundoff(Format::fp16), 0x1p-11);
  EXPECT_EQ(unit_roundoff(Format::bf16), 0x1p-8);
}

TEST(Format, EveryHalfAndBfloatRoundTrips) {
  for (const Format format : narrow_formats) {
    const std::uint64_t exponent_mask = format == Format::fp16 ? 0x7c00 : 0x7f80;
    for (std::uint64_t bits = 0; bits < 65536; ++bits) {
      const double value = decode(format, bits);
      const bool is_nan =
          (bits & exponent_mask) == exponent_mask && (bits & ~exponent_mask & 0x7fff) != 0;
      ASSERT_EQ(std::isnan(value), is_nan) << bits;
      for (const Rounding rounding : roundings) {
        ASSERT_EQ(encode(format, value, rounding), is_nan ? 0x7fff : bits) << bits;
      }
    }
  }
}

TEST(Format, DecodingAgreesWithTheCompiler) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const double half = std::bit_cast<_Float16>(static_cast<std::uint16_t>(bits));
    const double bfloat = std::bit_cast<float>(bits << 16);
    if (!std::isnan(half)) {
      ASSERT_EQ(bits_of(decode(Format::fp16, bits)), bits_of(half)) << bits;
    }
    if (!std::isnan(bfloat)) {
      ASSERT_EQ(bits_of(decode(Format::bf16, bits)), bits_of(bfloat)) << bits;
    }
  }
  std::mt19937_64 random(1);
  for (int i = 0; i < 1000000; ++i) {
    const auto bits = static_cast<std::uint32_t>(random());
    const double single = std::bit_cast<float>(bits);
    if (!std::isnan(single)) {
      ASSERT_EQ(bits_of(decode(Format::fp32, bits)), bits_of(single)) << bits;
    }
  }
}

// Between two neighbours, everything is known: below the midpoint, on it, above it.
TEST(Format, EveryMidpointAndItsNeighboursRoundOnce) {
  for (const Format format : narrow_formats) {
    const std::uint64_t largest = encode(format, largest_finite(format));
    for (std::uint64_t low = 0; low < largest; ++low) {
      const std::uint64_t high = low + 1;
      const double below = decode(format, low), above = decode(format, high);
      const double middle = below / 2 + above / 2;
      for (const double value :
           {std::nextafter(middle, 0), middle, std::nextafter(middle, infinity)}) {
        const std::uint64_t nearest =
            value < middle || (value == middle && low % 2 == 0) ? low : high;
        ASSERT_EQ(encode(format, value), nearest) << value;
        ASSERT_EQ(encode(format, value, Rounding::toward_zero), low) << value;
        ASSERT_EQ(encode(format, value, Rounding::downward), low) << value;
        ASSERT_EQ(encode(format, value, Rounding::upward), high) << value;
        ASSERT_EQ(encode(format, -value), nearest | 0x8000) << value;
        ASSERT_EQ(encode(format, -value, Rounding::toward_zero), low | 0x8000) << value;
        ASSERT_EQ(encode(format, -value, Rounding::downward), high | 0x8000) << value;
        ASSERT_EQ(encode(format, -value, Rounding::upward), low | 0x8000) << value;
      }
    }
  }
}

TEST(Format, HalfOverflowsAt65520) {
  EXPECT_EQ(encode(Format::fp16, 65519), 0x7bffu);
  EXPECT_EQ(encode(Format::fp16, std::nextafter(65520, 0)), 0x7bffu);
  EXPECT_EQ(encode(Format::fp16, 65520), 0x7c00u);
  EXPECT_EQ(encode(Format::fp16, 65536), 0x7c00u);
  EXPECT_EQ(encode(Format::fp16, -65519), 0xfbffu);
  EXPECT_EQ(encode(Format::fp16, -65520), 0xfc00u);
}

TEST(Format, OverflowFollowsTheRounding) {
  for (const Format format : {Format::fp32, Format::tf32, Format::fp16, Format::bf16}) {
    const double largest = largest_finite(format);
    const double half_ulp = largest * unit_roundoff(format) / (2 - 2 * unit_roundoff(format));
    EXPECT_EQ(round_to(format, std::nextafter(largest + half_ulp, 0)), largest);
    for (const double value :
         {largest + half_ulp, 2 * largest, std::numeric_limits<double>::max()}) {
      EXPECT_EQ(round_to(format, value), infinity);
      EXPECT_EQ(round_to(format, value, Rounding::toward_zero), largest);
      EXPECT_EQ(round_to(format, value, Rounding::downward), largest);
      EXPECT_EQ(round_to(format, value, Rounding::upward), infinity);
      EXPECT_EQ(round_to(format, -value), -infinity);
      EXPECT_EQ(round_to(format, -value, Rounding::toward_zero), -largest);
      EXPECT_EQ(round_to(format, -value, Rounding::downward), -infinity);
      EXPECT_EQ(round_to(format, -value, Rounding::upward), -largest);
    }
  }
}

TEST(Format, ZerosInfinitiesAndNanKeepTheirClass) {
  for (const Format format : formats) {
    for (const Rounding rounding : roundings) {
      EXPECT_EQ(bits_of(round_to(format, 0.0, rounding)), bits_of(0.0));
      EXPECT_EQ(bits_of(round_to(format, -0.0, rounding)), bits_of(-0.0));
      EXPECT_EQ(round_to(format, infinity, rounding), infinity);
      EXPECT_EQ(round_to(format, -infinity, rounding), -infinity);
      EXPECT_TRUE(std::isnan(round_to(format, std::nan(""), rounding)));
    }
  }
  EXPECT_EQ(encode(Format::fp64, -std::nan("5")), 0x7fffffffffffffffu);
  EXPECT_EQ(encode(Format::fp32, -std::nan("5")), 0x7fffffffu);
  EXPECT_EQ(encode(Format::tf32, -std::nan("5")), 0x7fffe000u);
  EXPECT_EQ(encode(Format::fp16, -std::nan("5")), 0x7fffu);
  EXPECT_EQ(encode(Format::bf16, -std::nan("5")), 0x7fffu);
}

TEST(Format, UnderflowFollowsTheRounding) {
  for (const Format format : {Format::fp32, Format::tf32, Format::fp16, Format::bf16}) {
    const double spacing = subnormal_spacing(format);
    EXPECT_EQ(bits_of(round_to(format, -spacing / 2)), bits_of(-0.0));
    EXPECT_EQ(round_to(format, std::nextafter(spacing / 2, 1)), spacing);
    EXPECT_EQ(round_to(format, 0x1p-1074), 0);
    EXPECT_EQ(round_to(format, 0x1p-1074, Rounding::upward), spacing);
    EXPECT_EQ(round_to(format, 0x1p-1074, Rounding::downward), 0);
    EXPECT_EQ(round_to(format, -0x1p-1074, Rounding::downward), -spacing);
  }
}

// Values a hair off a midpoint are lost by a detour through fp32.
TEST(Format, NoIntermediateFormat) {
  const double just_above_tie = 2049 + 0x1p-30;
  EXPECT_EQ(round_to(Format::fp16, just_above_tie), 2050);
  EXPECT_EQ(round_to(Format::fp16, static_cast<float>(just_above_tie)), 2048);
  EXPECT_EQ(round_to(Format::bf16, 257 + 0x1p-30), 258);
  EXPECT_EQ(round_to(Format::bf16, static_cast<float>(257 + 0x1p-30)), 256);
  // The same for a double on the way from more digits: 2^24 + 1 + 2^-60.
  const Dyadic above{false, (static_cast<unsigned __int128>((1 << 24) + 1) << 60) + 1, -60, false};
  EXPECT_EQ(decode(Format::fp32, encode(Format::fp32, above)), (1 << 24) + 2);
  const Dyadic sticky{false, (1 << 24) + 1, 0, true};
  EXPECT_EQ(decode(Format::fp32, encode(Format::fp32, sticky)), (1 << 24) + 2);
}

TEST(Format, RandomDoublesAgreeWithTheCompiler) {
  std::mt19937_64 random(2);
  constexpr int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
  for (int i = 0; i < 400000; ++i) {
    // Exponents around the range of the target, subnormals and overflow included.
    const bool for_half = i % 2 == 0;
    const std::uint64_t exponent = 1023 - (for_half ? 30 : 155) + random() % (for_half ? 50 : 300);
    const double value = std::bit_cast<double>((random() & 0x800fffffffffffffULL) | exponent << 52);
    if (for_half) {
      const auto half = std::bit_cast<std::uint16_t>(static_cast<_Float16>(value));
      ASSERT_EQ(encode(Format::fp16, value), half) << value;
      continue;
    }
    for (int mode = 0; mode < 4; ++mode) {
      volatile double source = value;
      std::fesetround(modes[mode]);
      volatile float single = static_cast<float>(source);
      std::fesetround(FE_TONEAREST);
      ASSERT_EQ(encode(Format::fp32, value, roundings[mode]),
                std::bit_cast<std::uint32_t>(float{single}))
          << value << " mode " << mode;
    }
  }
}

TEST(Format, RandomDyadicsAgreeWithMpfr) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 60000; ++i) {
    const Format format = formats[random() % 5];
    const FormatTraits& f = traits(format);
    Dyadic value;
    value.negative = random() % 2 == 0;
    value.significand =
        (static_cast<unsigned __int128>(random()) << 64 | random()) >> random() % 128;
    // Half of them with long runs of zeros, so that ties and near ties occur.
    if (random() % 2 == 0)
      value.significand &= ~static_cast<unsigned __int128>(0) << random() % 128;
    const int range = f.exponent_max - f.exponent_min + 2 * f.precision + 256;
    value.exponent = f.exponent_min - f.precision - 192 +
                     static_cast<int>(random() % static_cast<unsigned>(range));
    for (const Rounding rounding : roundings) {
      const double expected =
          round_by_mpfr(format, value.negative, value.significand, value.exponent, rounding);
      ASSERT_EQ(bits_of(decode(format, encode(format, value, rounding))), bits_of(expected))
          << f.name << ' ' << static_cast<std::uint64_t>(value.significand >> 64) << ' '
          << static_cast<std::uint64_t>(value.significand) << ' ' << value.exponent;
    }
  }
}

// A sticky value rounds like the same significand with a one appended further down.
TEST(Format, StickyActsAsALowerBit) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 200000; ++i) {
    const Format format = formats[random() % 5];
    const FormatTraits& f = traits(format);
    Dyadic sticky;
    sticky.negative = random() % 2 == 0;
    sticky.significand = (random() | 1ULL << 63) & ~0ULL << random() % 64;
    sticky.exponent = f.exponent_min - 80 + static_cast<int>(random() % 60);
    sticky.sticky = true;
    if (random() % 8 == 0) sticky = {sticky.negative, 0, f.exponent_min - 60, true};
    Dyadic longer = sticky;
    longer.significand = sticky.significand << 8 | 1;
    longer.exponent -= 8;
    longer.sticky = false;
    for (const Rounding rounding : roundings) {
      ASSERT_EQ(encode(format, sticky, rounding), encode(format, longer, rounding));
    }
  }
}

TEST(Format, PlacesBeyondEveryExponentRoundToo) {
  EXPECT_EQ(encode(Format::fp32, Dyadic{false, 1, 1 << 30, false}), 0x7f800000u);
  EXPECT_EQ(encode(Format::fp32, Dyadic{true, 1, -(1 << 30), false}, Rounding::downward),
            0x80000001u);
  EXPECT_EQ(encode(Format::fp32, Dyadic{true, 0, 7, false}), 0x80000000u);
}

}  // namespace
}  // namespace halfulp::reference
