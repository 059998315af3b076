// Intervals against the same expression at 6,000 bits, where sums and products of doubles are
// exact.
#include "reference/multiprecision.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

namespace halfulp::reference {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

class Wide {
 public:
  Wide() { mpfr_init2(value, 6000); }
  explicit Wide(double x) : Wide() { mpfr_set_d(value, x, MPFR_RNDN); }
  ~Wide() { mpfr_clear(value); }
  Wide(const Wide&) = delete;
  Wide& operator=(const Wide&) = delete;
  mpfr_t value;
};

void expect_holds(const Interval& interval, const Wide& truth) {
  ASSERT_LE(mpfr_cmp(interval.lo.backend().data(), truth.value), 0);
  ASSERT_GE(mpfr_cmp(interval.hi.backend().data(), truth.value), 0);
  const Enclosure doubles = enclosure(interval);
  ASSERT_LE(mpfr_cmp_d(truth.value, doubles.hi), 0);
  ASSERT_GE(mpfr_cmp_d(truth.value, doubles.lo), 0);
}

double random_double(std::mt19937_64& random, int spread) {
  const std::uint64_t exponent = static_cast<std::uint64_t>(1023 - spread) +
                                 random() % static_cast<std::uint64_t>(2 * spread + 1);
  return std::bit_cast<double>((random() & 0x800fffffffffffffULL) | exponent << 52);
}

TEST(Interval, OperationsHoldTheExactResult) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 5000; ++i) {
    const int spread = i % 3 == 0 ? 2 : 300;
    const double x = random_double(random, spread), y = random_double(random, spread);
    const Interval a(x), b(y);
    const Wide wx(x), wy(y);
    Wide truth;
    mpfr_add(truth.value, wx.value, wy.value, MPFR_RNDN);
    expect_holds(a + b, truth);
    mpfr_sub(truth.value, wx.value, wy.value, MPFR_RNDN);
    expect_holds(a - b, truth);
    mpfr_mul(truth.value, wx.value, wy.value, MPFR_RNDN);
    expect_holds(a * b, truth);
    const Interval product = a * b;
    EXPECT_TRUE(product.lo == product.hi);  // 106 bits fit
    mpfr_div(truth.value, wx.value, wy.value, MPFR_RNDN);
    expect_holds(a / b, truth);
    // (x / y) * y holds x, and no more than 50 digits allow.
    const Interval back = a / b * b;
    expect_holds(back, wx);
    EXPECT_LE(enclosure(absolute(back - a)).hi, std::abs(x) * 0x1p-160);
    mpfr_abs(truth.value, wx.value, MPFR_RNDN);
    mpfr_sqrt(truth.value, truth.value, MPFR_RNDN);
    expect_holds(square_root(absolute(a)), truth);
  }
}

// Every member of x and y gives a result inside, so the ends and the middles must.
TEST(Interval, WideIntervalsHoldAllTheirMembers) {
  std::mt19937_64 random(2);
  const auto member = [&](double lo, double hi) {
    return lo + (hi - lo) * (static_cast<double>(random() >> 11) * 0x1p-53);
  };
  for (int i = 0; i < 3000; ++i) {
    const double a = random_double(random, 3), b = random_double(random, 3);
    const double c = random_double(random, 3), d = random_double(random, 3);
    const Interval x(Enclosure{std::min(a, b), std::max(a, b)});
    const Interval y(Enclosure{std::min(c, d), std::max(c, d)});
    const double px = std::min(std::max(member(a, b), std::min(a, b)), std::max(a, b));
    const double py = std::min(std::max(member(c, d), std::min(c, d)), std::max(c, d));
    const auto inside = [](const Interval& part, const Interval& whole) {
      return whole.lo <= part.lo && part.hi <= whole.hi;
    };
    const Interval u(px), w(py);
    EXPECT_TRUE(inside(u + w, x + y));
    EXPECT_TRUE(inside(u - w, x - y));
    EXPECT_TRUE(inside(u * w, x * y));
    const bool divisible = std::signbit(c) == std::signbit(d);
    EXPECT_TRUE(divisible ? inside(u / w, x / y) : (x / y).is_nan());
    EXPECT_TRUE(inside(exponential(u), exponential(x)));
    EXPECT_TRUE(inside(absolute(u), absolute(x)));
    EXPECT_TRUE(inside(clamp(u, -1, 1), clamp(x, -1, 1)));
    EXPECT_TRUE(inside(u, hull(x, y)) && inside(w, hull(x, y)));
  }
}

// One exponential serves both ends of these.
TEST(Interval, ExponentialsOfNarrowIntervalsHoldBothEnds) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 300; ++i) {
    const Interval x = Interval(random_double(random, 2)) / Interval(random_double(random, 2));
    const Interval power = exponential(x);
    Wide low, high;
    mpfr_exp(low.value, x.lo.backend().data(), MPFR_RNDN);
    mpfr_exp(high.value, x.hi.backend().data(), MPFR_RNDN);
    EXPECT_LE(mpfr_cmp(power.lo.backend().data(), low.value), 0);
    EXPECT_GE(mpfr_cmp(power.hi.backend().data(), high.value), 0);
    EXPECT_LE(power.hi - power.lo, power.hi * 0x1p-160);
  }
  EXPECT_TRUE(exponential(Interval(0.0)).lo == 1 && exponential(Interval(0.0)).hi == 1);
}

TEST(Interval, SumsOfProductsHoldTheExactResult) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 1000; ++i) {
    Interval sum(random_double(random, 50));
    const Interval x = Interval(std::abs(random_double(random, 50))) / Interval(3.0);
    const double y = random_double(random, 50);
    const Interval expected = sum + x * Interval(y);  // rounds twice, outwards
    Wide least, most;
    mpfr_fma(least.value, (y < 0 ? x.hi : x.lo).backend().data(), Wide(y).value,
             sum.lo.backend().data(), MPFR_RNDN);
    mpfr_fma(most.value, (y < 0 ? x.lo : x.hi).backend().data(), Wide(y).value,
             sum.hi.backend().data(), MPFR_RNDN);
    add_product(sum, x, y);
    EXPECT_LE(mpfr_cmp(sum.lo.backend().data(), least.value), 0);
    EXPECT_GE(mpfr_cmp(sum.hi.backend().data(), most.value), 0);
    EXPECT_TRUE(expected.lo <= sum.lo && sum.hi <= expected.hi);
  }
}

TEST(Interval, DyadicsAreExactOrHeldBetweenNeighbours) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 2000; ++i) {
    Dyadic value;
    value.negative = i % 2 == 0;
    value.significand =
        (static_cast<unsigned __int128>(random()) << 64 | random()) >> (2 + random() % 100);
    value.exponent = static_cast<int>(random() % 4000) - 2500;
    const Interval exact(value);
    EXPECT_TRUE(exact.lo == exact.hi);
    Wide truth;
    Wide low;
    mpfr_set_ui_2exp(truth.value, static_cast<std::uint64_t>(value.significand >> 64),
                     value.exponent + 64, MPFR_RNDN);
    mpfr_set_ui_2exp(low.value, static_cast<std::uint64_t>(value.significand), value.exponent,
                     MPFR_RNDN);
    mpfr_add(truth.value, truth.value, low.value, MPFR_RNDN);
    mpfr_setsign(truth.value, truth.value, value.negative, MPFR_RNDN);
    expect_holds(exact, truth);
    // One bit further down, as a sticky value may have it.
    value.sticky = true;
    mpfr_set_ui_2exp(low.value, 1, value.exponent - 1, MPFR_RNDN);
    mpfr_setsign(low.value, low.value, value.negative, MPFR_RNDN);
    mpfr_add(truth.value, truth.value, low.value, MPFR_RNDN);
    expect_holds(Interval(value), truth);
  }
}

TEST(Interval, EnclosureIsTheSmallestOfDoubles) {
  const Enclosure third = enclosure(Interval(1.0) / Interval(3.0));
  EXPECT_EQ(std::nextafter(third.lo, 1), third.hi);
  EXPECT_EQ(enclosure(Interval(0.1)).lo, 0.1);
  EXPECT_EQ(enclosure(Interval(0.1)).hi, 0.1);
  const Enclosure tiny = enclosure(Interval(0x1p-1074) * Interval(-0.25));
  EXPECT_EQ(tiny.lo, -0x1p-1074);
  EXPECT_EQ(tiny.hi, 0);
  const Enclosure huge = enclosure(Interval(0x1p1023) * Interval(4.0));
  EXPECT_EQ(huge.lo, std::numeric_limits<double>::max());
  EXPECT_EQ(huge.hi, infinity);
}

TEST(Interval, ClassesFollowIeee) {
  const Interval nan(std::nan("")), inf(infinity), zero(0.0), one(1.0);
  EXPECT_TRUE((nan + one).is_nan());
  EXPECT_TRUE((nan * zero).is_nan());
  EXPECT_TRUE((inf - inf).is_nan());
  EXPECT_TRUE((inf * zero).is_nan());
  EXPECT_TRUE((one / zero).is_nan());
  EXPECT_TRUE(square_root(Interval(-1.0)).is_nan());
  EXPECT_TRUE(clamp(nan, -5, 5).is_nan());
  EXPECT_TRUE(hull(nan, one).is_nan());
  EXPECT_EQ(enclosure(clamp(inf, -5, 5)).lo, 5);
  EXPECT_EQ(enclosure(clamp(-inf, -5, 5)).hi, -5);
  EXPECT_EQ(enclosure(inf + one).lo, infinity);
  EXPECT_EQ(enclosure(one / inf).hi, 0);
  EXPECT_EQ(enclosure(exponential(-inf)).hi, 0);
  EXPECT_TRUE(std::isnan(enclosure(nan).lo) && std::isnan(enclosure(nan).hi));
}

}  // namespace
}  // namespace halfulp::reference
