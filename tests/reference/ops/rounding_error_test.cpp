// The lemmas under all bounds, each against float arithmetic in random trees and, where few
// numbers are enough, in every order.
#include "reference/rounding_error.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "reference/exact_sum.hpp"
#include "tests/reference/ops/simulated.hpp"

namespace halfulp::reference {
namespace {

using simulated::below;
using simulated::draw;
using simulated::Fill;
using simulated::Generator;
using simulated::uniform;

float sum_in_random_tree(std::vector<float> leaves, Generator& generator) {
  while (leaves.size() > 1) {
    std::shuffle(leaves.begin(), leaves.end(), generator);
    const float last = leaves.back();
    leaves.pop_back();
    leaves.back() += last;
  }
  return leaves[0];
}

struct Sums {
  double sum = 0, magnitude = 0;
};
Sums sums(const std::vector<float>& leaves) {
  ExactSum sum;
  Sums given;
  for (const float x : leaves) {
    sum.add(static_cast<double>(x));
    given.magnitude += std::abs(static_cast<double>(x));
  }
  given.sum = sum.enclosure().lo;
  return given;
}

TEST(Gamma, IsAboveEveryChainOfRoundings) {
  const double unit = 0x1p-24;
  for (const double n : {1.0, 2.0, 100.0, 65536.0, 1e6}) {
    EXPECT_GE(gamma(n, unit), std::expm1(n * std::log1p(unit)));
    EXPECT_LE(gamma(n, unit), n * unit * (1 + 2 * n * unit));
  }
  EXPECT_TRUE(std::isinf(gamma(0x1p24, unit)));
}

TEST(SumError, HoldsForRandomTreesAndIsReached) {  // [B2]
  const RoundingModel rounding = rounding_model({});
  Generator generator(1);
  double worst = 0;
  for (int round = 0; round < 60000; ++round) {
    std::vector<float> leaves(static_cast<std::size_t>(1 + below(generator, 7)));
    const Fill fill = static_cast<Fill>(below(generator, static_cast<int>(Fill::huge)));
    for (float& x : leaves) x = draw(fill, generator);
    const Sums exact = sums(leaves);
    const SumError model = sum_error(rounding, static_cast<double>(leaves.size()) - 1);
    const double bound = (model.of_magnitude * exact.magnitude +
                          model.of_result * std::abs(exact.sum) + model.constant) *
                         kInflation;
    const double computed = static_cast<double>(sum_in_random_tree(leaves, generator));
    const double error = std::abs(computed - exact.sum);
    ASSERT_LE(error, bound + 0x1p-52 * std::abs(exact.sum)) << leaves.size();
    if (bound > 0) worst = std::max(worst, error / bound);
  }
  EXPECT_GT(worst, 0.95);
  EXPECT_LE(worst, 1);
}

TEST(SumError, GrowsWithFlushing) {
  Arithmetic arithmetic;
  EXPECT_EQ(sum_error(rounding_model(arithmetic), 3).constant, 0);
  arithmetic.atomic_flush_to_zero = true;
  EXPECT_EQ(sum_error(rounding_model(arithmetic), 3).constant, 4 * 0x1p-126);
  EXPECT_EQ(sum_error(rounding_model(arithmetic), 0).constant, 0x1p-126);
}

TEST(Quantum, IsTheCoarsestThatHoldsTheMagnitude) {
  EXPECT_EQ(quantum(0x1p24, 24, 0), 1);
  EXPECT_EQ(quantum(0x1p24 + 1, 24, 0), 2);
  EXPECT_EQ(quantum(0x1p24 - 1, 24, 0), 1);
  EXPECT_EQ(quantum(3, 24, 0), 0x1p-22);
  EXPECT_EQ(quantum(3, 24, 0x1p-10), 0x1p-10);
  EXPECT_EQ(quantum(0, 24, 0x1p-149), 0x1p-149);
  EXPECT_TRUE(is_multiple(3, 1));
  EXPECT_TRUE(is_multiple(-0x1p24, 1));
  EXPECT_FALSE(is_multiple(0.5, 1));
  EXPECT_FALSE(is_multiple(std::nan(""), 1));
  EXPECT_FALSE(is_multiple(0x1p-149, 1));
}

TEST(Exactness, MultiplesWithinThePrecisionSumExactly) {  // [B4]
  Generator generator(2);
  for (int round = 0; round < 20000; ++round) {
    std::vector<float> leaves(static_cast<std::size_t>(2 + below(generator, 9)));
    for (float& x : leaves) x = static_cast<float>(below(generator, 0x400000) - 0x200000);
    const Sums exact = sums(leaves);
    if ((exact.magnitude + std::abs(exact.sum)) / 2 > 0x1p24) continue;
    ASSERT_EQ(static_cast<double>(sum_in_random_tree(leaves, generator)), exact.sum);
  }
}

// [B4] Multiples of q within 2^23 q, and epsilon anywhere in the tree: off by no more than epsilon.
TEST(Exactness, EpsilonAmongExactScores) {
  Generator generator(3);
  double worst = 0;
  for (int round = 0; round < 60000; ++round) {
    const std::int64_t range = std::int64_t{1} << below(generator, 20);
    const bool positive = below(generator, 2) == 0;
    std::vector<float> leaves(static_cast<std::size_t>(1 + below(generator, 7)));
    for (float& x : leaves) {
      x = static_cast<float>(below(generator, range + 1) - (positive ? 0 : range / 2));
    }
    const Sums exact = sums(leaves);
    const float epsilon = static_cast<float>(
        std::ldexp(1 + uniform(generator), static_cast<int>(below(generator, 40)) - 35));
    leaves.push_back(epsilon);
    const double computed = static_cast<double>(sum_in_random_tree(leaves, generator));
    const double error = std::abs((computed - exact.sum) - static_cast<double>(epsilon));
    ASSERT_LE(error, static_cast<double>(epsilon)) << exact.sum << " " << epsilon;
    worst = std::max(worst, error / static_cast<double>(epsilon));
  }
  EXPECT_GT(worst, 0.99);
}

TEST(Division, CountsTheRoundingsBeforeTheOutputs) {  // [B7]
  Arithmetic arithmetic;
  EXPECT_EQ(division_error(arithmetic).relative, 0);
  EXPECT_TRUE(std::isinf(division_error(arithmetic).largest));
  arithmetic.output = Format::fp16;
  EXPECT_EQ(division_error(arithmetic).relative, 0x1p-24);
  arithmetic.division_roundings = 2.01;
  EXPECT_EQ(division_error(arithmetic).relative, 2.01 * 0x1p-24);
  EXPECT_EQ(division_error(arithmetic).smallest, 0x1p-126);
}

}  // namespace
}  // namespace halfulp::reference
