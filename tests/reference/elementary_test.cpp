// How far floats are from elementary functions: by hand, and by the C library in long double.
#include "reference/elementary.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace halfulp::reference {
namespace {

constexpr float kUp = std::numeric_limits<float>::infinity();

TEST(Elementary, ByHand) {
  // fl(1/3) = 0x1.555556p-2 = 11184811 / 2^25, a third of its spacing 2^-25 above 1/3.
  EXPECT_EQ(ulps_off(Elementary::reciprocal, 3, 0, 0x1.555556p-2), 1.0 / 3);
  EXPECT_EQ(ulps_off(Elementary::reciprocal, 3, 0, 0x1.555558p-2), 4.0 / 3);
  EXPECT_EQ(ulps_off(Elementary::quotient, 3, 2, 0x1.555556p-1), 1.0 / 3);
  EXPECT_EQ(ulps_off(Elementary::reciprocal, -4, 0, -0.25), 0);
  EXPECT_EQ(ulps_off(Elementary::reciprocal_square_root, 4, 0, 0.5), 0);
  EXPECT_EQ(ulps_off(Elementary::exponential_base_2, -3, 0, 0.125), 0);
  EXPECT_EQ(ulps_off(Elementary::exponential, 0, 0, 1), 0);
  // Below 1 the spacing is half of that above: the larger of the two numbers counts.
  EXPECT_EQ(ulps_off(Elementary::exponential, 0, 0, 1 - 0x1p-24), 0.5);
  EXPECT_EQ(ulps_off(Elementary::exponential, 0, 0, 1 + 0x1p-23), 1);
  EXPECT_EQ(ulps_off(Elementary::reciprocal, 0x1p127, 0, 0), 0x1p22);  // subnormal 2^-127
  EXPECT_EQ(ulps_off(Elementary::exponential, 1, 0, kUp), kUp);
  EXPECT_EQ(ulps_off(Elementary::exponential, 1, 0, std::nan("")), kUp);
}

// The nearest float is half an ulp off at most, its neighbours half at least.
TEST(Elementary, OnlyTheNearestFloatIsWithinHalf) {
  const auto examine = [](Elementary function, double x, double numerator, long double truth) {
    const auto nearest = static_cast<float>(truth);
    EXPECT_LE(ulps_off(function, x, numerator, nearest), 0.5) << x;
    EXPECT_GE(ulps_off(function, x, numerator, std::nextafter(nearest, kUp)), 0.5) << x;
    EXPECT_GE(ulps_off(function, x, numerator, std::nextafter(nearest, -kUp)), 0.25) << x;
  };
  for (int i = 1; i < 2000; ++i) {
    const float x = 0.0371f * static_cast<float>(i);
    examine(Elementary::exponential, x - 40, 0, std::exp(static_cast<long double>(x - 40)));
    examine(Elementary::exponential_base_2, x - 40, 0, std::exp2(static_cast<long double>(x - 40)));
    examine(Elementary::reciprocal, x, 0, 1.0L / x);
    examine(Elementary::reciprocal_square_root, x, 0,
            1.0L / std::sqrt(static_cast<long double>(x)));
    examine(Elementary::quotient, x, 1.7f, 1.7f / static_cast<long double>(x));
  }
}

}  // namespace
}  // namespace halfulp::reference
