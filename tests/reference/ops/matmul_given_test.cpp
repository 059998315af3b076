// Sums from elsewhere, in random trees: the truth is within their error, and no bound is below that
// of the reference's own sums.
#include "reference/ops/matmul_given.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/reference/ops/judge.hpp"
#include "tests/reference/ops/simulated_matmul.hpp"

namespace halfulp::reference::simulated {
namespace {

constexpr Format kInputs[] = {Format::fp16, Format::bf16, Format::tf32, Format::fp32};

// Adds two numbers at random places until one is left.
double tree_sum(std::vector<double> terms, Generator& generator) {
  while (terms.size() > 1) {
    const auto count = static_cast<std::int64_t>(terms.size());
    std::swap(terms[static_cast<std::size_t>(below(generator, count))], terms.back());
    const double last = terms.back();
    terms.pop_back();
    terms[static_cast<std::size_t>(below(generator, count - 1))] += last;
  }
  return terms.empty() ? 0 : terms.front();
}

struct Answers {
  std::vector<double> value, error, bound;
};

Answers given_answers(const MatmulData& data, const Matmul& op, Generator& generator) {
  Answers answers;
  MatmulGiven given(op);
  std::vector<double> value(static_cast<std::size_t>(op.n)), magnitude(value.size());
  for (std::int64_t i = 0; i < op.m; ++i) {
    for (std::int64_t j = 0; j < op.n; ++j) {
      std::vector<double> terms = data.row(i);
      const std::vector<double> right = data.column(j);
      for (std::size_t t = 0; t < terms.size(); ++t) terms[t] *= right[t];
      const auto at = static_cast<std::size_t>(j);
      value[at] = tree_sum(terms, generator);
      for (double& term : terms) term = std::fabs(term);
      magnitude[at] = tree_sum(terms, generator);
    }
    given.evaluate_row(i, value, magnitude, [&](const Rows& rows) {
      EXPECT_EQ(rows.first, std::ssize(answers.value));
      answers.value.insert(answers.value.end(), rows.value.begin(), rows.value.end());
      answers.error.insert(answers.error.end(), rows.error.begin(), rows.error.end());
      answers.bound.insert(answers.bound.end(), rows.bound.begin(), rows.bound.end());
    });
  }
  return answers;
}

class MatmulGivenFills : public testing::TestWithParam<int> {};

TEST_P(MatmulGivenFills, EncloseTheTruthAndAreNoTighter) {
  const auto fill = static_cast<MatrixFill>(GetParam());
  Generator generator(static_cast<std::uint64_t>(GetParam()) + 2800);
  std::int64_t exact_ones = 0, bounded = 0;
  for (int round = 0; round < 400; ++round) {
    const Format input = kInputs[round % 4];
    const std::int64_t k = round % 10 == 0 ? below(generator, 600) : below(generator, 20);
    MatmulData data(1 + below(generator, 4), 1 + below(generator, 9), k, input, round % 3 == 0);
    data.fill(fill, generator);
    Matmul op = data.op;
    op.arithmetic = random_dot_style(input, k, generator).declared;
    const Answers given = given_answers(data, op, generator);
    ASSERT_EQ(std::ssize(given.value), op.m * op.n);
    std::size_t at = 0;
    evaluate(op, [&](const Rows& rows) {
      for (std::size_t r = 0; r < rows.value.size(); ++r, ++at) {
        const Enclosure truth = exact(op, {0, static_cast<std::int64_t>(at)});
        if (std::isinf(given.bound[at])) continue;
        ++bounded;
        exact_ones += given.bound[at] == 0 ? 1 : 0;
        ASSERT_TRUE(agree(given.value[at], given.error[at], truth))
            << given.value[at] << " +- " << given.error[at] << ", but " << truth.lo;
        // Its own bound varies with what its sums are off by.
        ASSERT_GE(given.bound[at] * (1 + 0x1p-40), rows.bound[r]);
      }
    });
  }
  EXPECT_GT(bounded, 1000);
  const bool integers = fill == MatrixFill::integers || fill == MatrixFill::signs;
  EXPECT_GT(exact_ones, integers ? 100 : -1);
}
INSTANTIATE_TEST_SUITE_P(Fills, MatmulGivenFills,
                         testing::Range(0, static_cast<int>(MatrixFill::kinds)));

// Nothing of prefix sums enters: a cancelling row has the bound of any order.
TEST(MatmulGiven, IsTheBoundOfAnyOrder) {
  Generator generator(1);
  MatmulData data(1, 1, 512, Format::fp16, false);
  data.fill(MatrixFill::normal, generator);
  Matmul op = data.op;
  op.arithmetic.sum_order = SumOrder::any;
  double any = 0;
  evaluate(op, [&](const Rows& rows) { any = rows.bound[0]; });
  op.arithmetic.sum_order = SumOrder::contiguous;
  const Answers given = given_answers(data, op, generator);
  EXPECT_GE(given.bound[0], any * (1 - 0x1p-40));
  EXPECT_LE(given.bound[0], any * (1 + 0x1p-40));
}

// 2^53 + 1 units are 2^53 of them in double: neither sum may pass for exact.
TEST(MatmulGiven, SumsAtTheEdgeOfDoubleAreNotExact) {
  MatmulData data(1, 1, 9, Format::fp32, false);
  for (std::int64_t k = 0; k < 8; ++k) {
    data.set_a(0, k, 0x1p25);
    data.set_b(k, 0, 0x1p25);
  }
  data.set_a(0, 8, 1);
  data.set_b(8, 0, 1);
  data.op.arithmetic.output = Format::fp32;
  const Enclosure truth = exact(data.op, {0, 0});
  const double sum = 0x1p53, error_least = 1;
  evaluate(data.op, [&](const Rows& rows) {
    EXPECT_EQ(rows.value[0], sum);
    EXPECT_GE(rows.error[0], error_least);
    EXPECT_TRUE(agree(rows.value[0], rows.error[0], truth));
  });
  MatmulGiven given(data.op);
  given.evaluate_row(0, {&sum, 1}, {&sum, 1},
                     [&](const Rows& rows) { EXPECT_GE(rows.error[0], error_least); });
}

// Finite products beside an infinity may overflow to the other one, but not those of fp16 in fp32.
TEST(MatmulGiven, Classes) {
  for (const Format input : {Format::fp16, Format::bf16}) {
    MatmulData data(1, 2, 1, input, false);
    data.set_a(0, 0, INFINITY);
    data.set_b(0, 0, 0);
    data.set_b(0, 1, 1);
    const double value[] = {NAN, INFINITY};
    MatmulGiven given(data.op);
    int rows_seen = 0;
    given.evaluate_row(0, value, value, [&](const Rows& rows) {
      ++rows_seen;
      EXPECT_TRUE(std::isnan(rows.value[0]));
      EXPECT_EQ(rows.bound[0], 0);
      EXPECT_EQ(rows.value[1], INFINITY);
      EXPECT_EQ(rows.bound[1], input == Format::fp16 ? 0 : INFINITY);
    });
    EXPECT_EQ(rows_seen, 1);
  }
}

}  // namespace
}  // namespace halfulp::reference::simulated
