// Exact sums against MPFR at 5,000 bits, where nothing rounds, and against cpp_int.
#include "reference/exact_sum.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tests/reference/round_by_mpfr.hpp"

namespace halfulp::reference {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double largest = std::numeric_limits<double>::max();
constexpr double smallest = 0x1p-1074;

// Sum of products in 5,000 bits: the widest one, 2^-2148 to 2^2176, fits.
class WideSum {
 public:
  WideSum() {
    mpfr_inits2(5000, sum_, term_, nullptr);
    mpfr_set_zero(sum_, 1);
  }
  ~WideSum() { mpfr_clears(sum_, term_, nullptr); }
  WideSum(const WideSum&) = delete;
  WideSum& operator=(const WideSum&) = delete;

  void add_product(double left, double right) {
    mpfr_set_d(term_, left, MPFR_RNDN);
    const int inexact =
        mpfr_mul_d(term_, term_, right, MPFR_RNDN) | mpfr_add(sum_, sum_, term_, MPFR_RNDN);
    ASSERT_EQ(inexact, 0);
  }
  mpfr_srcptr value() const { return sum_; }

 private:
  mpfr_t sum_, term_;
};

void expect_equal(const ExactSum& sum, const WideSum& wide) {
  ASSERT_TRUE(sum.is_finite());
  ASSERT_EQ(sum.sign(), mpfr_sgn(wide.value()) > 0 ? 1 : mpfr_sgn(wide.value()) < 0 ? -1 : 0);
  const Enclosure enclosure = sum.enclosure();
  ASSERT_EQ(enclosure.lo, mpfr_get_d(wide.value(), MPFR_RNDD));
  ASSERT_EQ(enclosure.hi, mpfr_get_d(wide.value(), MPFR_RNDU));
  for (const Format format :
       {Format::fp64, Format::fp32, Format::tf32, Format::fp16, Format::bf16}) {
    for (int mode = 0; mode < 4; ++mode) {
      const auto rounding = static_cast<Rounding>(mode);
      ASSERT_EQ(decode(format, sum.round(format, rounding)),
                round_by_mpfr(format, wide.value(), rounding))
          << traits(format).name << " mode " << mode;
    }
  }
}

// Random significands, exponents within `spread` of zero; some repeat with the other sign.
std::vector<double> random_doubles(std::mt19937_64& random, std::size_t count, int spread,
                                   std::uint64_t significand_mask) {
  std::vector<double> values(count);
  for (double& value : values) {
    const std::uint64_t exponent = static_cast<std::uint64_t>(1023 - spread) +
                                   random() % static_cast<std::uint64_t>(2 * spread + 1);
    value = std::bit_cast<double>((random() & (0x8000000000000000ULL | significand_mask)) |
                                  exponent << 52);
  }
  return values;
}

constexpr std::uint64_t all_bits = 0x000fffffffffffffULL;
constexpr std::uint64_t bits_of_fp16 = 0x000ffc0000000000ULL;
constexpr std::uint64_t bits_of_fp32 = 0x000fffffe0000000ULL;

TEST(ExactSum, ProductsAgreeWithMpfr) {
  std::mt19937_64 random(1);
  struct Range {
    int spread;
    std::uint64_t mask;
  };
  // From data whose blocks fit int128 to data that never do.
  for (const Range range : {Range{1, bits_of_fp16},
                            {14, bits_of_fp16},
                            {10, bits_of_fp32},
                            {30, bits_of_fp32},
                            {2, all_bits},
                            {100, all_bits},
                            {1022, all_bits}}) {
    for (const std::size_t count : {1, 2, 511, 512, 513, 1000}) {
      std::vector<double> a = random_doubles(random, count, range.spread, range.mask);
      std::vector<double> b = random_doubles(random, count, range.spread, range.mask);
      ExactSum sum, one_by_one;
      WideSum wide;
      sum.add_products(a.data(), b.data(), static_cast<std::int64_t>(count));
      for (std::size_t i = 0; i < count; ++i) {
        one_by_one.add_product(a[i], b[i]);
        wide.add_product(a[i], b[i]);
      }
      expect_equal(sum, wide);
      expect_equal(one_by_one, wide);
    }
  }
}

// The largest integers that go in slices, in scaled blocks and one by one, and all of one sign.
TEST(ExactSum, BlocksOfTheLargestIntegers) {
  for (int bits = 36; bits <= 53; ++bits) {
    const double full = std::ldexp(1, bits) - 1;
    const std::vector<double> a(1024, full), b(1024, bits % 2 == 0 ? full : -full);
    ExactSum sum;
    WideSum wide;
    sum.add_products(a.data(), b.data(), 1024);
    for (std::size_t i = 0; i < 1024; ++i) wide.add_product(a[i], b[i]);
    expect_equal(sum, wide);
  }
}

// A number so small beside the others that scaling it would leave a zero.
TEST(ExactSum, BlocksOfFarApartNumbers) {
  for (int apart = 0; apart <= 2000; apart += 10) {
    const double a[] = {1.5, 0x1p1000, 0}, b[] = {0x1p-1000, std::ldexp(1, 1000 - apart), 3};
    const double c[] = {std::ldexp(1.25, 1000 - apart), 1, 1};
    ExactSum sum;
    WideSum wide;
    for (const double* right : {b, c}) {
      sum.add_products(a, right, 3);
      sum.add_products(right, a, 3);
      for (int i = 0; i < 3; ++i) wide.add_product(a[i], right[i]);
      for (int i = 0; i < 3; ++i) wide.add_product(a[i], right[i]);
    }
    expect_equal(sum, wide);
  }
}

TEST(ExactSum, ScaledIntegers) {
  ExactSum sum;
  sum.add_integer(-(static_cast<__int128>(1) << 126), -2304);
  sum.add_integer(static_cast<__int128>(1) << 126, -2304);
  EXPECT_EQ(sum.sign(), 0);
  sum.add_integer(-3, -1074);
  EXPECT_EQ(sum.enclosure().lo, -3 * smallest);
  sum.add_integer((static_cast<__int128>(1) << 100) + 3, -1074);
  EXPECT_EQ(sum.enclosure().lo, 0x1p-974);
  EXPECT_EQ(sum.enclosure().hi, 0x1p-974);
}

TEST(ExactSum, CancellationLeavesTheLastTerm) {
  std::mt19937_64 random(2);
  for (const double rest : {0.0, smallest, -smallest, 0x1p-80, 1.0, -0x1.23456789abcdep300}) {
    for (const int spread : {3, 40, 1000}) {
      const std::vector<double> a = random_doubles(random, 300, spread, all_bits);
      const std::vector<double> b = random_doubles(random, 300, 20, all_bits);
      ExactSum sum;
      sum.add_products(a.data(), b.data(), 300);
      sum.add(rest);
      for (std::size_t i = 300; i-- > 0;) sum.add_product(-b[i], a[i]);
      EXPECT_EQ(sum.enclosure().lo, rest);
      EXPECT_EQ(sum.enclosure().hi, rest);
      EXPECT_EQ(sum.sign(), rest > 0 ? 1 : rest < 0 ? -1 : 0);
    }
  }
}

TEST(ExactSum, EndsOfTheRange) {
  const double ends[] = {largest, -largest, smallest, -smallest, 0x1p-1022, 0.0, -0.0, 1.0, -1.5};
  std::mt19937_64 random(3);
  for (int trial = 0; trial < 300; ++trial) {
    ExactSum sum;
    WideSum wide;
    double a[7], b[7];
    for (int i = 0; i < 7; ++i) {
      a[i] = ends[random() % 9];
      b[i] = ends[random() % 9];
      wide.add_product(a[i], b[i]);
    }
    sum.add_products(a, b, 7);
    expect_equal(sum, wide);
  }
}

// Wherever the leading bit falls in a limb, the last bit far below it counts.
TEST(ExactSum, ADistantBitIsNeverLost) {
  for (int distance = 60; distance < 240; ++distance) {
    for (int top = 0; top < 32; ++top) {
      ExactSum sum;
      sum.add(std::ldexp(1, top));
      sum.add(std::ldexp(1, top - distance));
      ASSERT_EQ(sum.enclosure().lo, std::ldexp(1, top));
      ASSERT_EQ(sum.enclosure().hi, std::ldexp(1 + 0x1p-52, top));
      // Half an ulp of fp32 and the distant bit: above the tie.
      sum.add(std::ldexp(1, top - 24));
      ASSERT_EQ(decode(Format::fp32, sum.round(Format::fp32)), std::ldexp(1 + 0x1p-23, top));
      const Dyadic dyadic = sum.dyadic();
      ASSERT_TRUE(dyadic.sticky || std::ldexp(1, dyadic.exponent) <= std::ldexp(1, top - distance));
    }
  }
}

TEST(ExactSum, LongSumsCarry) {
  ExactSum sum;
  WideSum wide;
  const std::vector<double> ones(100000, 0x1.fffffffffffffp500),
      others(100000, -0x1.fffffffffffffp-30);
  sum.add(ones.data(), 100000);
  sum.add(others.data(), 100000);
  wide.add_product(0x1.fffffffffffffp500, 100000);
  wide.add_product(-0x1.fffffffffffffp-30, 100000);
  expect_equal(sum, wide);
}

using Wide = boost::multiprecision::number<
    boost::multiprecision::cpp_int_backend<4608, 4608, boost::multiprecision::signed_magnitude,
                                           boost::multiprecision::unchecked, void>,
    boost::multiprecision::et_off>;

// Fixed point in 4,500 bits: value = integer * 2^-2200.
TEST(ExactSum, SumsAgreeWithIntegers) {
  std::mt19937_64 random(4);
  for (int trial = 0; trial < 50; ++trial) {
    const std::vector<double> values = random_doubles(random, 50, 1000, all_bits);
    ExactSum sum;
    sum.add(values.data(), 50);
    Wide integer = 0;
    for (const double value : values) {
      int exponent = 0;
      const double fraction = std::frexp(value, &exponent);
      integer += Wide(static_cast<std::int64_t>(std::ldexp(fraction, 53)))
                 << (exponent - 53 + 2200);
    }
    const Dyadic dyadic = sum.dyadic();
    Wide low = Wide(dyadic.significand) << (dyadic.exponent + 2200);
    Wide high = low + (Wide(dyadic.sticky ? 1 : 0) << (dyadic.exponent + 2200));
    const Wide magnitude = abs(integer);
    EXPECT_EQ(dyadic.negative, integer < 0);
    if (dyadic.sticky) {
      EXPECT_TRUE(low < magnitude && magnitude < high);
      EXPECT_GE(dyadic.significand >> 96, 1u);
    } else {
      EXPECT_TRUE(low == magnitude);
    }
  }
}

TEST(ExactSum, ClassesFollowIeeeInAnyOrder) {
  const auto special_of = [](std::vector<double> a, std::vector<double> b) {
    ExactSum sum;
    sum.add_products(a.data(), b.data(), static_cast<std::int64_t>(a.size()));
    EXPECT_FALSE(sum.is_finite());
    return sum.special();
  };
  EXPECT_EQ(special_of({infinity}, {1}), infinity);
  EXPECT_EQ(special_of({0, -2}, {5, infinity}), -infinity);
  EXPECT_TRUE(std::isnan(special_of({std::nan("")}, {1})));
  EXPECT_EQ(special_of({1, infinity}, {1, 2}), infinity);
  EXPECT_EQ(special_of({largest, infinity}, {largest, -2}), -infinity);
  EXPECT_TRUE(std::isnan(special_of({0, 1}, {infinity, 1})));
  EXPECT_TRUE(std::isnan(special_of({infinity, 1, 1}, {1, 1, -infinity})));
  EXPECT_TRUE(std::isnan(special_of({std::nan(""), 1}, {1, infinity})));
  ExactSum sum;
  sum.add(-infinity);
  EXPECT_EQ(sum.round(Format::fp16), 0xfc00u);
  EXPECT_EQ(sum.enclosure().hi, -infinity);
  sum.add(std::nan(""));
  EXPECT_TRUE(std::isnan(sum.enclosure().lo));
}

TEST(ExactSum, AnEmptySumIsZero) {
  ExactSum sum;
  EXPECT_EQ(sum.sign(), 0);
  EXPECT_EQ(sum.round(Format::fp32), 0u);
  sum.add_products(nullptr, nullptr, 0);
  EXPECT_EQ(sum.enclosure().hi, 0);
}

}  // namespace
}  // namespace halfulp::reference
