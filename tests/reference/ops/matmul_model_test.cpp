// Corners of the matmul reference: the tensor-core model against what one GPU does, subnormal
// operands, operands rounded to tf32, exactness that only single products show, and classes.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "tests/reference/ops/judge.hpp"
#include "tests/reference/ops/simulated_matmul.hpp"

namespace halfulp::reference::simulated {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double step(const TensorCore& core, const std::vector<double>& a, const std::vector<double>& b) {
  DotStyle style;
  style.declared.input = Format::fp16;
  style.declared.tensor_core = core;
  std::vector<std::size_t> order(a.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  return tensor_core_sum(style, a, b, order);
}

// 1 and `count` products of 2^exponent.
double one_and(const TensorCore& core, std::size_t count, int exponent, double sign = 1) {
  std::vector<double> a(count + 1, sign * std::ldexp(1.0, exponent + 10)), b(count + 1, 0x1p-10);
  a[0] = sign * 1024;
  return step(core, a, b);
}

// Measured with mma.sync.m16n8k16 on an H200.
TEST(TensorCoreModel, IsWhatAGpuDoes) {
  EXPECT_EQ(one_and(kHopper, 4, -24), 1 + 0x1p-22);
  EXPECT_EQ(one_and(kHopper, 8, -25), 1 + 0x1p-22);
  EXPECT_EQ(one_and(kHopper, 15, -26), 1);
  EXPECT_EQ(step(kHopper, {1, 0x1p-13, 0x1p-14}, {1, 0x1p-10, 0x1p-10}), 1 + 0x1p-23);
  EXPECT_EQ(step(kHopper, {-1, -0x1p-13, -0x1p-14}, {1, 0x1p-10, 0x1p-10}), -1 - 0x1p-23);
  // A subnormal operand aligns as the smallest normal number would.
  EXPECT_EQ(step(kHopper, {0x1p-15, 0x1p-24}, {0x1p-15, 0x1p15}), 0x1p-9);
  EXPECT_EQ(step(kHopper, {0x1p-15, 0x1p-14}, {0x1p-15, 0x1p5}), 0x1p-9 + 0x1p-30);
  // Older ones: 23 bits, four products a step.
  EXPECT_EQ(one_and(kVolta, 3, -24), 1);
  EXPECT_EQ(one_and(kAmpere, 7, -24), 1 + 3 * 0x1p-23);
}

MatmulData& small(MatmulData& data, const std::vector<double>& a, const std::vector<double>& b) {
  for (std::size_t k = 0; k < a.size(); ++k) {
    data.set_a(0, static_cast<std::int64_t>(k), a[k]);
    data.set_b(static_cast<std::int64_t>(k), 0, b[k]);
  }
  return data;
}

struct One {
  double value, error, bound;
};
One only(const Matmul& op) {
  const Judged all = judged(op, 0, 1);
  return {all.value[0], all.error[0], all.bound[0]};
}

// 2^-30 is lost beside a product of 2^-9 that looks like one of 2: a bound that goes by the size of
// products alone calls this kernel wrong.
TEST(TensorCoreModel, SubnormalOperandsWidenTheBound) {
  MatmulData data(1, 1, 2, Format::fp16, false);
  small(data, {0x1p-15, 0x1p-24}, {0x1p-15, 0x1p15});
  data.op.arithmetic.input = Format::fp16;
  data.op.arithmetic.tensor_core = kHopper;
  const One with = only(data.op);
  EXPECT_GE(with.bound, 0x1p-30);
  EXPECT_LT(with.bound, 0x1p-18);
  // The sum itself has 22 bits: an IEEE accumulator gets it exactly.
  data.op.arithmetic.tensor_core = {};
  EXPECT_EQ(only(data.op).bound, 0);
}

TEST(MatmulOperands, RoundedToTf32) {
  MatmulData data(1, 1, 4, Format::fp32, false);
  small(data, {1 + 0x1p-12, 3, -2, 1.5}, {1, 1, 1, 1});
  data.op.arithmetic.input = Format::fp32;
  data.op.arithmetic.operand_roundoff = 0x1p-11;
  data.op.arithmetic.tensor_core = kHopper;
  EXPECT_GE(only(data.op).bound, 2 * 0x1p-11 * 7.5);
  EXPECT_LT(only(data.op).bound, 3 * 0x1p-11 * 7.5);
  data.set_a(0, 0, 1 + 0x1p-10);
  EXPECT_EQ(only(data.op).bound, 0) << "tf32 numbers are kept";
}

TEST(MatmulExactness, SingleProductsShowIt) {
  // The row divides by 2^-20 and the column by 2^-10, but no product needs both.
  std::vector<double> a(700, 0x1p-20), b(700, 1024);
  a[3] = 1024;
  b[3] = 1 + 0x1p-10;
  MatmulData data(1, 1, 700, Format::fp16, false);
  small(data, a, b);
  data.op.arithmetic.input = Format::fp16;
  EXPECT_EQ(only(data.op).bound, 0);
  // One bit more than an accumulator has, in the last product or the first.
  data.set_a(0, 699, 0x1p-24);
  EXPECT_GT(only(data.op).bound, 0);
  data.set_a(0, 699, 0x1p-20);
  data.set_a(0, 0, 0x1p-24);
  EXPECT_GT(only(data.op).bound, 0);
}

TEST(MatmulExactness, TheLastBitDecides) {
  MatmulData data(1, 1, 2, Format::fp32, false);
  data.op.arithmetic.input = Format::fp32;
  data.op.arithmetic.output = Format::fp16;
  small(data, {0x1p23, 0x1p23 - 1}, {1, 1});  // 2^24 - 1
  EXPECT_EQ(only(data.op).bound, 0);
  small(data, {0x1p23, 0x1p23}, {1, 1});  // 2^24 itself
  EXPECT_EQ(only(data.op).bound, 0);
  small(data, {0x1p23 + 1, 0x1p23}, {1, 1});
  EXPECT_GT(only(data.op).bound, 0);
  // fp16 partial sums hold 2^11.
  MatmulData half(1, 1, 2, Format::fp16, false);
  half.op.arithmetic.input = Format::fp16;
  half.op.arithmetic.partials = 2;
  half.op.arithmetic.partial = Format::fp16;
  half.op.arithmetic.output = Format::bf16;
  small(half, {1024, 1023}, {1, 1});
  EXPECT_EQ(only(half.op).bound, 0);
  small(half, {1024, 1025}, {1, 1});
  EXPECT_GT(only(half.op).bound, 0);
}

TEST(MatmulClasses, NanInfinityAndOverflow) {
  const double nan = std::nan("");
  MatmulData data(1, 1, 3, Format::fp32, false);
  data.op.arithmetic.input = Format::fp32;
  const auto given = [&](std::vector<double> a, std::vector<double> b) {
    const One one = only(small(data, a, b).op);
    const Enclosure truth = exact(data.op, {0, 0});
    EXPECT_TRUE(agree(one.value, one.error, truth)) << one.value << " " << truth.lo;
    return one;
  };
  EXPECT_TRUE(std::isnan(given({1, nan, 1}, {1, 1, 1}).value));
  EXPECT_TRUE(std::isnan(given({0, 1, 1}, {kInfinity, 1, 1}).value));
  EXPECT_TRUE(std::isnan(given({kInfinity, 1, 1}, {1, -kInfinity, 1}).value));
  EXPECT_EQ(given({kInfinity, 1, 1}, {-2, 1, 1}).value, -kInfinity);
  EXPECT_EQ(given({kInfinity, 1, 1}, {-2, 1, 1}).bound, 0);
  EXPECT_EQ(given({kInfinity, 0x1p100, 1}, {-2, 0x1p27, 1}).bound, kInfinity);
  EXPECT_EQ(given({0x1p100, -0x1p100, 1}, {0x1p28, 0x1p28, 1}).bound, kInfinity);
  EXPECT_LT(given({0x1p100, -0x1p100, 1}, {0x1p27, 0x1p27, 1}).bound, kInfinity);
}

// [M6] 60000 twice and back: fine in fp32, open where partial sums are fp16.
TEST(MatmulClasses, HalfPartialSumsMayOverflow) {
  MatmulData data(1, 1, 5, Format::fp16, false);
  small(data, {240, 240, -240, -240, 1}, {250, 250, 250, 250, 1});
  data.op.arithmetic.input = Format::fp16;
  data.op.arithmetic.tensor_core = kHopper;
  EXPECT_EQ(only(data.op).bound, 0);
  data.op.arithmetic.partials = 2;
  data.op.arithmetic.partial = Format::fp16;
  EXPECT_EQ(only(data.op).bound, kInfinity);
}

}  // namespace
}  // namespace halfulp::reference::simulated
