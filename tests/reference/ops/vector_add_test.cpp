// vector_add: one addition, one rounding.
#include "reference/ops/vector_add.hpp"

#include <gtest/gtest.h>

#include "tests/reference/ops/judge.hpp"
#include "tests/reference/ops/simulated.hpp"

namespace halfulp::reference::simulated {
namespace {

VectorAdd add_of(std::vector<float>& x, std::vector<float>& y, Format output) {
  VectorAdd op;
  op.n = std::ssize(x);
  op.x = view_of(x, op.n, 1, 1);
  op.y = view_of(y, op.n, 1, 1);
  op.arithmetic.output = output;
  return op;
}

TEST(VectorAdd, Fp32IsTheRoundedSumBitForBit) {
  Generator generator(1);
  std::vector<float> x, y;
  for (int i = 0; i < 5000; ++i) {
    const Fill fill = static_cast<Fill>(below(generator, static_cast<int>(Fill::kinds)));
    x.push_back(draw(fill, generator));
    y.push_back(draw(fill, generator));
  }
  VectorAdd op = add_of(x, y, Format::fp32);
  const Judged all = judged(op, 0, op.n);
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(all.bound[i], 0);
    const Enclosure truth = exact(op, {0, static_cast<std::int64_t>(i)});
    EXPECT_TRUE(agree(all.value[i], all.error[i], truth));
    const float lowest = static_cast<float>(all.value[i] - all.error[i]);
    const float highest = static_cast<float>(all.value[i] + all.error[i]);
    const float sum = x[i] + y[i];
    EXPECT_TRUE(lowest <= sum && sum <= highest) << x[i] << " " << y[i];
  }
}

TEST(VectorAdd, NarrowOutputsMayRoundTwice) {
  std::vector<float> x = {1, 1, 0x1p-20f, 1};
  std::vector<float> y = {2, 0x1p-30f, 0x1p-44f, -1};
  VectorAdd op = add_of(x, y, Format::fp16);
  const Judged all = judged(op, 0, 4);
  EXPECT_EQ(all.bound[0], 0);  // 3 is a float
  EXPECT_GE(all.bound[1], 0x1p-30);
  EXPECT_LE(all.bound[1], 0x1.01p-24);
  EXPECT_GE(all.bound[2], 0x1p-44);
  EXPECT_EQ(all.bound[3], 0);
}

TEST(VectorAdd, Classes) {
  const float inf = INFINITY, nan = NAN;
  std::vector<float> x = {inf, inf, nan, 1, 3e38f};
  std::vector<float> y = {1, -inf, 1, -inf, 3e38f};
  VectorAdd op = add_of(x, y, Format::fp32);
  const Judged all = judged(op, 0, 5);
  EXPECT_EQ(all.value[0], inf);
  EXPECT_TRUE(std::isnan(all.value[1]));
  EXPECT_TRUE(std::isnan(all.value[2]));
  EXPECT_EQ(all.value[3], -inf);
  EXPECT_EQ(all.value[4], 2 * static_cast<double>(3e38f));
  for (std::int64_t i = 0; i < 5; ++i) {
    EXPECT_TRUE(agree(all.value[static_cast<std::size_t>(i)], 0, exact(op, {0, i})));
    double sum = 0;
    for (const BoundTerm& term : explain(op, {0, i})) sum += term.amount;
    EXPECT_EQ(sum, all.bound[static_cast<std::size_t>(i)]);
  }
}

TEST(VectorAdd, FlushingKernelsMayLoseSubnormals) {
  std::vector<float> x = {0x1p-130f, 1};
  std::vector<float> y = {0x1p-131f, 2};
  VectorAdd op = add_of(x, y, Format::fp32);
  op.arithmetic.flush_to_zero = true;
  const Judged all = judged(op, 0, 2);
  EXPECT_GE(all.bound[0], all.value[0]);
  EXPECT_EQ(all.bound[1], 0);
}

TEST(VectorAdd, NoElementsNoRows) {
  std::vector<float> none;
  VectorAdd op = add_of(none, none, Format::fp32);
  evaluate(op, [](const Rows&) { FAIL(); });
}

}  // namespace
}  // namespace halfulp::reference::simulated
