// Freivalds' check names the rows with a planted wrong element, and no other.
#include "reference/freivalds.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tests/reference/ops/simulated_matmul.hpp"

namespace halfulp::reference::simulated {
namespace {

std::vector<std::uint64_t> words(std::int64_t count, Generator& generator) {
  std::vector<std::uint64_t> drawn(static_cast<std::size_t>(count));
  for (std::uint64_t& word : drawn) word = generator();
  return drawn;
}

View view_of(const std::vector<float>& data, std::int64_t rows, std::int64_t columns) {
  View view;
  view.data = data.data();
  view.format = Format::fp32;
  view.extent[0] = rows;
  view.extent[1] = columns;
  view.stride[0] = columns;
  view.stride[1] = 1;
  return view;
}

// c = a b in integers of the given magnitude times the quantum of each side, as the loops say.
struct Integers {
  MatmulData data;
  std::vector<float> c;
  Integers(std::int64_t m, std::int64_t n, std::int64_t k, Format format, std::int64_t magnitude,
           double quantum, Generator& generator)
      : data(m, n, k, format, k % 2 == 0), c(static_cast<std::size_t>(m * n)) {
    const auto draw = [&] {
      return quantum * static_cast<double>(below(generator, 2 * magnitude + 1) - magnitude);
    };
    for (std::int64_t i = 0; i < k; ++i) {
      for (std::int64_t row = 0; row < m; ++row) data.set_a(row, i, draw());
      for (std::int64_t column = 0; column < n; ++column) data.set_b(i, column, draw());
    }
    for (std::int64_t column = 0; column < n; ++column) {
      const std::vector<double> right = data.column(column);
      for (std::int64_t row = 0; row < m; ++row) {
        double sum = 0;
        for (std::int64_t i = 0; i < k; ++i) {
          sum += data.op.a.at(row, i) * right[static_cast<std::size_t>(i)];
        }
        c[static_cast<std::size_t>(row * n + column)] = static_cast<float>(sum);
      }
    }
  }
  FreivaldsCheck check(Generator& generator) const {
    const Matmul& op = data.op;
    return freivalds(op.a, op.b, view_of(c, op.m, op.n), words(op.n, generator));
  }
};

TEST(Freivalds, NamesTheRowsOfWrongElementsAndNoOther) {
  Generator generator(1);
  for (int trial = 0; trial < 400; ++trial) {
    const Format formats[] = {Format::fp16, Format::bf16, Format::tf32, Format::fp32};
    const std::int64_t m = 1 + below(generator, 40), n = 1 + below(generator, 40);
    Integers problem(m, n, below(generator, 60), formats[trial % 4], 1 + below(generator, 100),
                     std::ldexp(1, static_cast<int>(below(generator, 10)) - 5), generator);
    const FreivaldsCheck sound = problem.check(generator);
    ASSERT_TRUE(sound.applies);
    ASSERT_TRUE(sound.wrong_rows.empty());
    std::set<std::int64_t> rows;
    for (int fault = 0; fault <= trial % 3; ++fault) {
      const std::int64_t row = below(generator, m);
      float& element = problem.c[static_cast<std::size_t>(row * n + below(generator, n))];
      if (rows.insert(row).second) element = std::nextafterf(element, 1e30f);
    }
    const FreivaldsCheck faulty = problem.check(generator);
    ASSERT_TRUE(faulty.applies);
    EXPECT_EQ(std::set<std::int64_t>(faulty.wrong_rows.begin(), faulty.wrong_rows.end()), rows);
  }
}

TEST(Freivalds, OneProductOfALongSumInRandomPlaces) {
  Generator generator(2);
  Integers problem(24, 5000, 50, Format::fp16, 1, 1, generator);
  for (int trial = 0; trial < 50; ++trial) {
    const std::int64_t at = below(generator, 24 * 5000);
    float& element = problem.c[static_cast<std::size_t>(at)];
    const float right = element;
    element += trial % 2 == 0 ? 1.0f : -1.0f;
    EXPECT_EQ(problem.check(generator).wrong_rows, std::vector<std::int64_t>{at / 5000});
    element = right;
  }
  EXPECT_TRUE(problem.check(generator).wrong_rows.empty());
}

// Faults whose differences add up to nothing for x = 1, and two equal columns.
TEST(Freivalds, DifferencesThatCancel) {
  Generator generator(3);
  Integers problem(4, 6, 10, Format::fp32, 5, 1, generator);
  problem.c[6] += 7;
  problem.c[7] -= 7;
  std::swap(problem.c[12], problem.c[13]);
  const bool swapped = problem.c[12] != problem.c[13];
  EXPECT_EQ(problem.check(generator).wrong_rows,
            swapped ? (std::vector<std::int64_t>{1, 2}) : std::vector<std::int64_t>{1});
}

TEST(Freivalds, ImpossibleElements) {
  Generator generator(4);
  Integers problem(5, 3, 7, Format::fp32, 1000, 0.5, generator);
  problem.c[0] = std::nanf("");
  problem.c[3] = std::numeric_limits<float>::infinity();
  problem.c[6] += 0.125f;  // no multiple of a quarter
  problem.c[9] = 0x1p100f;
  const FreivaldsCheck check = problem.check(generator);
  EXPECT_TRUE(check.applies);
  EXPECT_EQ(check.wrong_rows, (std::vector<std::int64_t>{0, 1, 2, 3}));
}

TEST(Freivalds, WhatItDoesNotApplyTo) {
  Generator generator(5);
  Integers problem(2, 2, 3, Format::fp32, 4, 1, generator);
  EXPECT_TRUE(problem.check(generator).applies);
  problem.data.set_a(0, 0, 0x1p60);
  EXPECT_FALSE(problem.check(generator).applies) << "sums beyond the prime";
  problem.data.set_a(0, 0, std::nan(""));
  EXPECT_FALSE(problem.check(generator).applies);
  const Integers empty(3, 2, 0, Format::fp16, 4, 1, generator);
  EXPECT_TRUE(empty.check(generator).applies);
  EXPECT_TRUE(empty.check(generator).wrong_rows.empty());
}

// The modulus: 2^61 - 1 and its multiples are nothing.
TEST(Freivalds, LargeIntegers) {
  Generator generator(6);
  Integers problem(3, 4, 2, Format::fp32, 0xffffff, 1, generator);
  problem.c.assign(12, 0);
  const FreivaldsCheck check = problem.check(generator);
  EXPECT_TRUE(check.applies);
  EXPECT_EQ(check.wrong_rows, (std::vector<std::int64_t>{0, 1, 2}));
}

}  // namespace
}  // namespace halfulp::reference::simulated
