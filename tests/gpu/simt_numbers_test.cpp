// The 16-bit conversions of the host surface: exhaustively against the definition of the formats,
// and against rounding done in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "gpu/simt/random.hpp"
#include "gpu/simt/simt.cuh"

namespace {

std::uint32_t bits_of(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, 4);
  return bits;
}
float float_of(std::uint32_t bits) {
  float value = 0;
  std::memcpy(&value, &bits, 4);
  return value;
}

// The value of a finite half or bfloat16, by the formats' definition.
double defined(unsigned bits, int exponent_bits, int fraction_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int stored = static_cast<int>(bits >> fraction_bits) & ((1 << exponent_bits) - 1);
  const double fraction = std::ldexp(bits & ((1u << fraction_bits) - 1), -fraction_bits);
  const double magnitude =
      stored == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, stored - bias);
  return (bits >> (exponent_bits + fraction_bits)) != 0 ? -magnitude : magnitude;
}

TEST(SimtNumbers, EveryHalfBecomesItsFloatAndBack) {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const float value = __half2float(__ushort_as_half(static_cast<unsigned short>(bits)));
    if ((bits & 0x7fff) > 0x7c00) {
      EXPECT_EQ(bits_of(value), 0x7fffffffu) << bits;
      EXPECT_EQ(__half_as_ushort(__float2half(value)), 0x7fff);
      continue;
    }
    if ((bits & 0x7fff) == 0x7c00) {
      EXPECT_TRUE(std::isinf(value) && std::signbit(value) == (bits >= 0x8000));
    } else {
      EXPECT_EQ(value, defined(bits, 5, 10)) << bits;
      EXPECT_EQ(std::signbit(value), bits >= 0x8000) << bits;
    }
    EXPECT_EQ(__half_as_ushort(__float2half_rn(value)), bits);
  }
}

TEST(SimtNumbers, EveryBfloat16BecomesItsFloatAndBack) {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const float value = __bfloat162float(__ushort_as_bfloat16(static_cast<unsigned short>(bits)));
    EXPECT_EQ(bits_of(value), bits << 16);
    const bool nan = (bits & 0x7fff) > 0x7f80;
    if ((bits & 0x7fff) < 0x7f80) {
      EXPECT_EQ(value, defined(bits, 8, 7)) << bits;
    }
    EXPECT_EQ(__bfloat16_as_ushort(__float2bfloat16_rn(value)), nan ? 0x7fffu : bits);
  }
}

// Nearest even among the format's values, found by walking from a neighbour; values exact in
// double.
template <class Encode>
void check_nearest(float value, Encode encode, int exponent_bits, int fraction_bits) {
  const unsigned infinity = ((1u << exponent_bits) - 1) << fraction_bits;
  const unsigned bits = encode(value);
  const unsigned magnitude_bits = bits & ((1u << (exponent_bits + fraction_bits)) - 1);
  ASSERT_LE(magnitude_bits, infinity);
  EXPECT_EQ((bits != magnitude_bits), std::signbit(value));
  const double x = std::fabs(value);
  // Infinity stands where the next value would be.
  const auto at = [&](unsigned b) { return defined(b, exponent_bits, fraction_bits); };
  const double here = at(magnitude_bits);
  if (magnitude_bits > 0) {
    const double middle = (here + at(magnitude_bits - 1)) / 2;
    EXPECT_TRUE(x > middle || (x == middle && magnitude_bits % 2 == 0)) << value;
  }
  if (magnitude_bits < infinity) {
    const double middle = (here + at(magnitude_bits + 1)) / 2;
    EXPECT_TRUE(x < middle || (x == middle && magnitude_bits % 2 == 0)) << value;
  }
}

TEST(SimtNumbers, FloatsRoundToNearestEven) {
  const auto half = [](float v) -> unsigned { return __half_as_ushort(__float2half_rn(v)); };
  const auto bfloat = [](float v) -> unsigned {
    return __bfloat16_as_ushort(__float2bfloat16_rn(v));
  };
  halfulp::gpu::simt::Random random(7);
  for (int i = 0; i < 400000; ++i) {
    auto bits = static_cast<std::uint32_t>(random.next());
    if (i % 4 == 1) bits = (bits & 0x8fffffff) | 0x30000000;  // around half's subnormals
    if (i % 4 == 2) bits &= 0xfffff000;                       // ties of half
    if (i % 4 == 3)
      bits = (bits & 0xffff0000) | 0x8000 | (bits & 1);  // ties of bfloat16, and next to them
    const float value = float_of(bits);
    if (std::isnan(value) || std::isinf(value)) continue;
    check_nearest(value, half, 5, 10);
    check_nearest(value, bfloat, 8, 7);
  }
  for (const float value :
       {65504.0f, 65519.996f, 65520.0f, 65536.0f, 0x1p-24f, 0x1p-25f, 0x1.000002p-25f, 0x1.8p-24f,
        0x1p-14f, 0x1.ffcp-15f, 3.4028235e38f, 0.0f, -0.0f}) {
    check_nearest(value, half, 5, 10);
    check_nearest(-value, half, 5, 10);
    check_nearest(value, bfloat, 8, 7);
  }
  EXPECT_EQ(half(float_of(0xff800000)), 0xfc00u);
  EXPECT_EQ(half(float_of(0xffc00001)), 0x7fffu);
  EXPECT_EQ(bfloat(float_of(0x7f800000)), 0x7f80u);
  EXPECT_EQ(bfloat(float_of(0xff800001)), 0x7fffu);
}

TEST(SimtNumbers, Pairs) {
  const __half2 pair = __floats2half2_rn(1.5f, -2.0f);
  EXPECT_EQ(__half_as_ushort(pair.x), 0x3e00);
  EXPECT_EQ(__high2float(pair), -2.0f);
  EXPECT_EQ(__half22float2(pair).x, 1.5f);
  const float2 wide = __bfloat1622float2(__floats2bfloat162_rn(0.5f, 3.0f));
  EXPECT_EQ(wide.x, 0.5f);
  EXPECT_EQ(wide.y, 3.0f);
}

// Distance in representable numbers, for values of one sign.
int ulps_between(float a, float b) {
  return std::abs(static_cast<int>(bits_of(a)) - static_cast<int>(bits_of(b)));
}

// An approximate intrinsic uses all of its documented error, and none of it where it is exact.
TEST(SimtNumbers, IntrinsicsAreAsInexactAsDocumented) {
  int exp_worst = 0;
  int division_worst = 0;
  int root_worst = 0;
  for (int i = 1; i <= 5000; ++i) {
    const float x = static_cast<float>(i) * 0x1p-10f;
    for (const float argument : {x, -x}) {
      const int off = ulps_between(__expf(argument), std::exp(argument));
      ASSERT_LE(off, 2 + static_cast<int>(1.173f * x)) << argument;
      exp_worst = std::max(exp_worst, off);
    }
    division_worst = std::max(division_worst, ulps_between(__fdividef(1.0f, x), 1.0f / x));
    const float root = static_cast<float>(1 / std::sqrt(static_cast<double>(x)));
    root_worst = std::max(root_worst, ulps_between(rsqrtf(x), root));
  }
  EXPECT_EQ(exp_worst, 7);
  EXPECT_EQ(division_worst, 2);
  EXPECT_EQ(root_worst, 2);
  EXPECT_EQ(__expf(0.0f), 1.0f);
  EXPECT_EQ(__expf(-0.0f), 1.0f);
  EXPECT_TRUE(std::isnan(__expf(NAN)));
  EXPECT_EQ(__expf(-INFINITY), 0.0f);
  EXPECT_EQ(__fdividef(3.0f, 0x1p127f), 0.0f);
  EXPECT_EQ(__fdividef(0.0f, 3.0f), 0.0f);
}

TEST(SimtNumbers, BaseTwoExponentialIsAsInexactAsDocumented) {
  using halfulp::gpu::simt::exp2_approx;
  int worst = 0;
  for (int i = 1; i <= 5000; ++i) {
    const float x = static_cast<float>(i) * 0x1.9p-7f;
    for (const float argument : {x, -x}) {
      const auto rounded = static_cast<float>(std::exp2(static_cast<double>(argument)));
      worst = std::max(worst, ulps_between(exp2_approx(argument), rounded));
    }
  }
  EXPECT_EQ(worst, 2);
  EXPECT_EQ(exp2_approx(0.0f), 1.0f);
  EXPECT_EQ(exp2_approx(-0x1p-127f), 1.0f);
  EXPECT_EQ(exp2_approx(-126.5f), 0.0f);
  EXPECT_GT(exp2_approx(-125.5f), 0.0f);
  EXPECT_EQ(exp2_approx(-INFINITY), 0.0f);
  EXPECT_EQ(exp2_approx(INFINITY), INFINITY);
  EXPECT_TRUE(std::isnan(exp2_approx(NAN)));
}

// A documented error must not carry a result past zero or past infinity.
TEST(SimtNumbers, InexactIntrinsicsOfNumbersAreNeverNan) {
  using halfulp::gpu::simt::exp2_approx;
  for (int i = 0; i < 4096; ++i) {
    const float offset = static_cast<float>(i) * 0x1p-12f;
    EXPECT_EQ(exp2_approx(-149.5f + offset), 0.0f) << i;
    EXPECT_GT(exp2_approx(127.0f + offset), 0x1p126f) << i;
    const float least = __fdividef(0x1p-149f, 1.0f + offset);
    EXPECT_TRUE(least >= 0.0f && least <= 0x1p-147f) << i << " " << least;
    EXPECT_LE(__fdividef(-0x1p-149f, 1.0f + offset), 0.0f) << i;
    EXPECT_GT(__fdividef(0x1.fffffep127f, 1.0f + offset * 0x1p-12f), 0x1p126f) << i;
  }
}

}  // namespace
