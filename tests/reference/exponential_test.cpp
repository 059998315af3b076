// exp against MPFR: its certified error over its domain, and enclosures of points and intervals.
#include "reference/exponential.hpp"

#include <gtest/gtest.h>
#include <mpfr.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace halfulp::reference {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// e^x rounded to `bits`.
class Truth {
 public:
  explicit Truth(mpfr_prec_t bits) { mpfr_inits2(bits, value_, error_, nullptr); }
  ~Truth() { mpfr_clears(value_, error_, nullptr); }
  Truth(const Truth&) = delete;
  Truth& operator=(const Truth&) = delete;

  void set(double x) {
    mpfr_set_d(value_, x, MPFR_RNDN);
    mpfr_exp(value_, value_, MPFR_RNDN);
  }
  // |y - e^x| / e^x
  double relative_error(double y) {
    mpfr_sub_d(error_, value_, y, MPFR_RNDN);
    mpfr_div(error_, error_, value_, MPFR_RNDN);
    return std::abs(mpfr_get_d(error_, MPFR_RNDN));
  }
  double down() const { return mpfr_get_d(value_, MPFR_RNDD); }
  double up() const { return mpfr_get_d(value_, MPFR_RNDU); }

 private:
  mpfr_t value_, error_;
};

TEST(Exponential, ErrorIsCertified) {
  std::mt19937_64 random(1);
  Truth truth(120);
  double largest = 0;
  for (const double domain : {0x1p-40, 0.4, 5.0, 90.0, exponential_domain}) {
    std::vector<double> x(40000), y(x.size());
    for (double& point : x)
      point = static_cast<double>(static_cast<std::int64_t>(random())) * 0x1p-63 * domain;
    exponential_row(x.data(), static_cast<std::int64_t>(x.size()), y.data());
    for (std::size_t i = 0; i < x.size(); ++i) {
      truth.set(x[i]);
      largest = std::max(largest, truth.relative_error(y[i]));
      ASSERT_EQ(y[i], exponential(x[i]));
    }
  }
  EXPECT_LE(largest, exponential_error);
  RecordProperty("largest_error_in_2^-53", std::to_string(largest * 0x1p53));
}

// Every fp32 number of 12 significant bits in the clip of graph attention.
TEST(Exponential, ErrorIsCertifiedOnTheClip) {
  Truth truth(120);
  double largest = 0;
  for (int exponent = -20; exponent <= 2; ++exponent) {
    for (int significand = 2048; significand < 4096; ++significand) {
      for (const double sign : {-1.0, 1.0}) {
        const double x = sign * std::ldexp(significand, exponent - 11);
        if (std::abs(x) > 5) continue;
        truth.set(x);
        largest = std::max(largest, truth.relative_error(exponential(x)));
      }
    }
  }
  EXPECT_LE(largest, exponential_error);
}

TEST(Exponential, EnclosureOfAPointIsTheSmallest) {
  std::mt19937_64 random(2);
  Truth truth(400);
  for (int i = 0; i < 20000; ++i) {
    const double x =
        static_cast<double>(static_cast<std::int64_t>(random())) * 0x1p-63 * (i % 2 == 0 ? 5 : 760);
    truth.set(x);
    const Enclosure enclosure = exponential_enclosure({x, x});
    ASSERT_EQ(enclosure.lo, truth.down()) << x;
    ASSERT_EQ(enclosure.hi, truth.up()) << x;
  }
}

TEST(Exponential, EnclosureOfAnIntervalTakesBothEnds) {
  const Enclosure enclosure = exponential_enclosure({-1, 2});
  EXPECT_EQ(enclosure.lo, exponential_enclosure({-1, -1}).lo);
  EXPECT_EQ(enclosure.hi, exponential_enclosure({2, 2}).hi);
}

TEST(Exponential, EndsAndClasses) {
  const auto expect = [](double x, double lo, double hi) {
    const Enclosure enclosure = exponential_enclosure({x, x});
    EXPECT_EQ(enclosure.lo, lo) << x;
    EXPECT_EQ(enclosure.hi, hi) << x;
  };
  expect(0, 1, 1);
  expect(-0.0, 1, 1);
  expect(-infinity, 0, 0);
  expect(infinity, infinity, infinity);
  expect(1000, std::numeric_limits<double>::max(), infinity);
  expect(-1000, 0, 0x1p-1074);
  expect(0x1p-1074, 1, 1 + 0x1p-52);
  expect(-0x1p-1074, 1 - 0x1p-53, 1);
  EXPECT_TRUE(std::isnan(exponential_enclosure({std::nan(""), 1}).hi));
  EXPECT_TRUE(std::isnan(exponential_enclosure({1, std::nan("")}).lo));
  EXPECT_EQ(exponential(0), 1);
  EXPECT_EQ(exponential(-infinity), 0);
  EXPECT_EQ(exponential(infinity), infinity);
  EXPECT_TRUE(std::isnan(exponential(std::nan(""))));
}

}  // namespace
}  // namespace halfulp::reference
