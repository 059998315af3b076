// matmul of doubles accumulated in double: the reference's own products round there, and its error
// says so.
#include <gtest/gtest.h>

#include <cmath>

#include "reference/exact_sum.hpp"
#include "tests/reference/ops/simulated_matmul.hpp"

namespace halfulp::reference::simulated {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// At most so far is `value` from the exact sum of products.
double distance(const MatmulData& data, std::int64_t element, double value) {
  const std::vector<double> a = data.row(element / data.op.n), b = data.column(element % data.op.n);
  ExactSum sum;
  sum.add_products(a.data(), b.data(), data.op.k);
  sum.add(-value);
  const Enclosure off = sum.enclosure();
  return std::max(off.hi, -off.lo);
}

void fill(MatmulData& data, int kind, Generator& generator) {
  if (kind < static_cast<int>(MatrixFill::kinds)) {
    data.fill(static_cast<MatrixFill>(kind), generator);
    return;
  }
  // Products around the smallest doubles.
  const auto draw = [&] {
    return std::ldexp(uniform(generator) - 0.5, -530 - static_cast<int>(below(generator, 10)));
  };
  for (std::int64_t k = 0; k < data.op.k; ++k) {
    for (std::int64_t i = 0; i < data.op.m; ++i) data.set_a(i, k, draw());
    for (std::int64_t j = 0; j < data.op.n; ++j) data.set_b(k, j, draw());
  }
}

class DoubleMatmul : public testing::TestWithParam<int> {};

TEST_P(DoubleMatmul, KernelsAndTheReferenceStayWithinTheirBounds) {
  Generator generator(static_cast<std::uint64_t>(GetParam()) + 40);
  double worst = 0, worst_error = 0;
  std::int64_t open = 0, elements = 0;
  for (int round = 0; round < 700; ++round) {
    const std::int64_t k = round % 10 == 0 ? below(generator, 600) : below(generator, 20);
    MatmulData data(1 + below(generator, 3), 1 + below(generator, 9), k, Format::fp64,
                    round % 3 == 0);
    fill(data, GetParam(), generator);
    DotStyle style = random_dot_style(Format::fp64, k, generator);
    style.declared.output = Format::tf32;  // so that the bound counts the last addition
    data.op.arithmetic = style.declared;
    const std::int64_t count = data.op.m * data.op.n;
    const Judged all = judged(data.op, 0, count);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::size_t at = static_cast<std::size_t>(i);
      ++elements;
      open += std::isinf(all.bound[at]);
      if (std::isinf(all.bound[at])) continue;
      const double error = distance(data, i, all.value[at]);
      ASSERT_LE(error, all.error[at]) << round << " " << i;
      const double off = distance(
          data, i, dot(style, data.row(i / data.op.n), data.column(i % data.op.n), generator));
      ASSERT_LE(off, all.bound[at]) << round << " " << i;
      if (all.bound[at] > 0) worst = std::max(worst, off / all.bound[at]);
      if (all.error[at] > 0) worst_error = std::max(worst_error, error / all.error[at]);
    }
  }
  std::printf("fill %d: %ld elements, %ld open, worst %.3f, the reference's own %.3f\n", GetParam(),
              static_cast<long>(elements), static_cast<long>(open), worst, worst_error);
  const MatrixFill kind = static_cast<MatrixFill>(GetParam());
  EXPECT_TRUE(kind == MatrixFill::any_bits || open < elements / 2);
  if (kind == MatrixFill::integers || kind == MatrixFill::signs) return;  // mostly exact
  EXPECT_GT(worst, 0.2) << "the bound has become loose";
}
INSTANTIATE_TEST_SUITE_P(Fills, DoubleMatmul,
                         testing::Range(0, static_cast<int>(MatrixFill::kinds) + 1));

struct One {
  double value, error, bound;
};
One only(const std::vector<double>& a, const std::vector<double>& b) {
  MatmulData data(1, 1, std::ssize(a), Format::fp64, false);
  for (std::size_t k = 0; k < a.size(); ++k) {
    data.set_a(0, static_cast<std::int64_t>(k), a[k]);
    data.set_b(static_cast<std::int64_t>(k), 0, b[k]);
  }
  data.op.arithmetic.input = data.op.arithmetic.compute = Format::fp64;
  data.op.arithmetic.output = Format::fp64;
  const Judged all = judged(data.op, 0, 1);
  return {all.value[0], all.error[0], all.bound[0]};
}

TEST(DoubleMatmul, ClassesAndOverflow) {
  EXPECT_TRUE(std::isnan(only({1, std::nan("")}, {1, 1}).value));
  EXPECT_EQ(only({kInfinity, 1}, {-2, 1}).value, -kInfinity);
  EXPECT_EQ(only({kInfinity, 1}, {-2, 1}).bound, 0);
  EXPECT_EQ(only({0x1p600, 1}, {0x1p600, 1}).bound, kInfinity) << "the product overflows";
  EXPECT_EQ(only({kInfinity, 0x1p600}, {-2, 0x1p600}).bound, kInfinity);
  EXPECT_EQ(only({0x1p1023, 0x1p1023, -0x1p1023}, {1, 1, 1}).bound, kInfinity);
}

TEST(DoubleMatmul, ExactWhereNothingRounds) {
  const One integers = only({3, -5, 0x1p40}, {7, 11, 3});
  EXPECT_EQ(integers.value, 3 * 7 - 55 + 3 * 0x1p40);
  EXPECT_EQ(integers.bound, 0);
  EXPECT_EQ(integers.error, 0);
  const One tiny = only({0x1p-600}, {0x1p-600});
  EXPECT_EQ(tiny.value, 0);
  EXPECT_GT(tiny.error, 0) << "not a zero";
  EXPECT_GT(only({1 + 0x1p-52, 1}, {1 + 0x1p-52, 1}).error, 0);
}

}  // namespace
}  // namespace halfulp::reference::simulated
