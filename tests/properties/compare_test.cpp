// The rule of acceptance against a second definition of it: rounding cells, over all halves.
#include "properties/compare.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace halfulp::properties {
namespace {

using reference::Enclosure;
using reference::Format;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST(Decide, TheSignOfZeroCountsWhereItIsPromised) {
  const Expected any{0, 0, 0}, positive{0, 0, 0, true};
  EXPECT_EQ(decide(Format::fp16, any, -0.0), Decision::accept);
  EXPECT_EQ(decide(Format::fp16, positive, -0.0), Decision::reject);
  EXPECT_EQ(decide(Format::fp16, positive, 0.0), Decision::accept);
}

// The reals that round to nearest even to one half: an interval, closed when the half's pattern is
// even.
struct Cell {
  double got = 0;
  double lo = 0, hi = 0;
  bool closed = false;
  bool meets(double from, double to) const {
    return closed ? lo <= to && from <= hi : lo < to && from < hi;
  }
};

double half_value(unsigned pattern) {
  const unsigned exponent = (pattern >> 10) & 31, significand = pattern & 1023;
  const double magnitude = exponent == 0
                               ? std::ldexp(significand, -24)
                               : std::ldexp(1024 + significand, static_cast<int>(exponent) - 25);
  return pattern & 0x8000 ? -magnitude : magnitude;
}

// Every number of fp16 in rising order, with -Inf and +Inf; zero once.
std::vector<Cell> cells() {
  std::vector<double> up;
  std::vector<bool> even;
  for (unsigned pattern = 0xfbff; pattern > 0x8000; --pattern) {
    up.push_back(half_value(pattern));
    even.push_back(pattern % 2 == 0);
  }
  for (unsigned pattern = 0; pattern <= 0x7bff; ++pattern) {
    up.push_back(half_value(pattern));
    even.push_back(pattern % 2 == 0);
  }
  std::vector<Cell> result;
  const double overflow = 65520;  // 65504 and half of its spacing of 32: the tie goes to infinity
  result.push_back({-kInfinity, -kInfinity, -overflow, true});
  for (std::size_t i = 0; i < up.size(); ++i) {
    const double lo = i == 0 ? -overflow : (up[i - 1] + up[i]) / 2;
    const double hi = i + 1 == up.size() ? overflow : (up[i] + up[i + 1]) / 2;
    result.push_back({up[i], lo, hi, static_cast<bool>(even[i])});
  }
  result.push_back({kInfinity, overflow, kInfinity, true});
  return result;
}

class Numbers {
 public:
  // Few significant bits, so that sums of two are doubles; ties and numbers of fp16 are frequent.
  double dyadic(int bits, int exponent_low, int exponent_high) {
    const auto span = static_cast<std::uint64_t>(1) << bits;
    const double magnitude = static_cast<double>(engine_() % span);
    const int exponent =
        exponent_low +
        static_cast<int>(engine_() % static_cast<unsigned>(exponent_high - exponent_low + 1));
    return std::ldexp(engine_() % 2 ? magnitude : -magnitude, exponent);
  }
  unsigned below(unsigned n) { return static_cast<unsigned>(engine_() % n); }

 private:
  std::mt19937_64 engine_{20240607};
};

TEST(Compare, AgreesWithRoundingCellsOverAllHalves) {
  const std::vector<Cell> all = cells();
  Numbers numbers;
  for (int trial = 0; trial < 400; ++trial) {
    const double lo = numbers.dyadic(12, -26, 5);
    const double hi = lo + (trial % 3 == 0 ? std::fabs(numbers.dyadic(4, -26, -10)) : 0);
    const double bound = trial % 4 == 0 ? 0 : std::fabs(numbers.dyadic(6, -28, 6));
    for (const Cell& cell : all) {
      const bool expected = cell.meets(lo - bound, hi + bound);
      ASSERT_EQ(accepts(Format::fp16, {lo, hi}, bound, cell.got), expected)
          << cell.got << " for [" << lo << ", " << hi << "] bound " << bound;
    }
  }
}

TEST(Compare, RatioIsAtMostOneExactlyWhereAccepted) {
  const std::vector<Cell> all = cells();
  Numbers numbers;
  for (int trial = 0; trial < 300; ++trial) {
    const double lo = numbers.dyadic(14, -30, 3);
    const double bound = std::fabs(numbers.dyadic(6, -28, 4));
    if (bound == 0) continue;
    for (const Cell& cell : all) {
      const double ratio = error_over_bound(Format::fp16, {lo, lo}, bound, cell.got);
      if (accepts(Format::fp16, {lo, lo}, bound, cell.got)) {
        ASSERT_LE(ratio, 1) << cell.got << " for " << lo << " bound " << bound;
      } else {
        ASSERT_GE(ratio, 1) << cell.got << " for " << lo << " bound " << bound;
      }
    }
  }
}

TEST(Compare, RatioCountsFromHalfAnUlpOfTheOutput) {
  // fp16 between 1 and 2 has spacing 2^-10. Truth 1, bound 2^-10: 1 + 2^-10 is half a bound beyond
  // its cell.
  EXPECT_EQ(error_over_bound(Format::fp16, {1, 1}, 0x1p-10, 1 + 0x1p-10), 0.5);
  EXPECT_EQ(error_over_bound(Format::fp16, {1, 1}, 0x1p-10, 1 + 0x1p-9), 1.5);
  EXPECT_EQ(error_over_bound(Format::fp16, {1, 1}, 0, 1), 0);
  EXPECT_EQ(error_over_bound(Format::fp16, {1, 1}, 0, 1 + 0x1p-10), kInfinity);
  EXPECT_EQ(error_over_bound(Format::fp32, {0x1p130, 0x1p130}, 0, kInfinity), 0);
}

TEST(Compare, ClassesComeBeforeValues) {
  const Enclosure nan{kNaN, kNaN}, positive{kInfinity, kInfinity}, one{1, 1};
  EXPECT_TRUE(accepts(Format::fp32, nan, 0, kNaN));
  EXPECT_FALSE(accepts(Format::fp32, nan, 0, 0));
  EXPECT_FALSE(accepts(Format::fp32, nan, 0, kInfinity));
  EXPECT_FALSE(accepts(Format::fp32, one, 1e30, kNaN));
  EXPECT_TRUE(accepts(Format::fp32, positive, 0, kInfinity));
  EXPECT_FALSE(accepts(Format::fp32, positive, 0, -kInfinity));
  EXPECT_FALSE(accepts(Format::fp32, positive, 1e30, std::numeric_limits<float>::max()));
  EXPECT_FALSE(accepts(Format::fp32, one, 1, kInfinity));
  for (const double got : {kNaN, kInfinity, -kInfinity, 0.0, 3.0}) {
    EXPECT_TRUE(accepts(Format::fp32, one, kInfinity, got));
    EXPECT_TRUE(accepts(Format::fp32, nan, kInfinity, got));
  }
}

TEST(Compare, NegativeZeroEqualsPositiveZero) {
  EXPECT_TRUE(accepts(Format::fp16, {0, 0}, 0, -0.0));
  EXPECT_TRUE(accepts(Format::fp16, {-0.0, -0.0}, 0, 0.0));
  EXPECT_FALSE(accepts(Format::fp16, {0, 0}, 0, 0x1p-24));
}

TEST(Compare, EndsAreRoundedOutward) {
  Numbers numbers;
  for (int trial = 0; trial < 100000; ++trial) {
    const double a = numbers.dyadic(53, -60, 10), b = numbers.dyadic(53, -60, 10);
    // 64-bit significands do not hold every sum either, but are far closer than a double.
    const long double sum = static_cast<long double>(a) + b;
    ASSERT_LE(static_cast<long double>(add_down(a, b)), sum + std::fabs(sum) * 0x1p-63L);
    ASSERT_GE(static_cast<long double>(add_up(a, b)), sum - std::fabs(sum) * 0x1p-63L);
    ASSERT_LE(add_up(a, b), std::nextafter(add_down(a, b), kInfinity));
  }
  EXPECT_EQ(add_down(1, 0x1p-80), 1);
  EXPECT_EQ(add_up(1, 0x1p-80), 1 + 0x1p-52);
  EXPECT_EQ(add_down(1, -0x1p-80), 1 - 0x1p-53);
  EXPECT_EQ(add_down(1, 2), 3);
  EXPECT_EQ(add_up(1, 2), 3);
  const double largest = std::numeric_limits<double>::max();
  EXPECT_EQ(add_down(largest, largest), largest);
  EXPECT_EQ(add_up(largest, largest), kInfinity);
}

TEST(Compare, DecisionHoldsForEveryTruthWithinTheError) {
  Numbers numbers;
  int undecided = 0;
  for (int trial = 0; trial < 200000; ++trial) {
    const double value = numbers.dyadic(14, -16, -10);
    const Expected expected{value, std::fabs(numbers.dyadic(5, -26, -16)),
                            std::fabs(numbers.dyadic(5, -24, -12))};
    const double got = reference::round_to(Format::fp16, value + numbers.dyadic(6, -24, -13));
    bool any = false, every = true;
    for (int step = -8; step <= 8; ++step) {
      const double truth = value + expected.error * step / 8;
      const bool ok = accepts(Format::fp16, {truth, truth}, expected.bound, got);
      any = any || ok;
      every = every && ok;
    }
    switch (decide(Format::fp16, expected, got)) {
      case Decision::accept:
        ASSERT_TRUE(every);
        break;
      case Decision::reject:
        ASSERT_FALSE(any);
        break;
      case Decision::undecided:
        ASSERT_FALSE(every);
        ++undecided;
        break;
    }
  }
  EXPECT_GT(undecided, 1000);
}

TEST(Compare, ContradictionNeedsDisjointEnclosures) {
  EXPECT_FALSE(contradicts({1, 0.25, 0}, {1.2, 1.3}));
  EXPECT_TRUE(contradicts({1, 0.25, 0}, {1.26, 1.3}));
  EXPECT_TRUE(contradicts({1, 0, 0}, {1 + 0x1p-52, 1 + 0x1p-52}));
  EXPECT_FALSE(contradicts({kNaN, 0, 0}, {kNaN, kNaN}));
  EXPECT_TRUE(contradicts({kNaN, 0, 0}, {1, 1}));
  EXPECT_TRUE(contradicts({kInfinity, 0, 0}, {1, 1}));
  EXPECT_FALSE(contradicts({0, 0, kInfinity}, {kNaN, kNaN}));
}

}  // namespace
}  // namespace halfulp::properties
