// flash_attention: layouts of operands and masks, what is given to the sink, and the terms of a
// bound.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "tests/reference/ops/flash_attention_simulated.hpp"
#include "tests/reference/ops/judge.hpp"

namespace halfulp::reference::simulated {
namespace {

constexpr FlashSizes kSizes{2, 3, 7, 11, 5};

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

FlashAttention declared(const FlashData& data, bool cores) {
  FlashAttention op = data.op;
  op.arithmetic.output = data.op.q.format;
  op.arithmetic.weight = cores ? data.op.q.format : Format::fp32;
  if (cores) op.arithmetic.tensor_core = kHopper;
  op.arithmetic.rescales = 2;
  return op;
}

TEST(FlashAttention, EveryElementOnce) {
  FlashData data(kSizes, Format::bf16);
  Generator generator(1);
  data.fill(FlashFill::normal, generator);
  std::vector<int> seen(index(2 * 3 * 7 * 5));
  evaluate(declared(data, true), [&](const Rows& rows) {
    EXPECT_EQ(rows.output, 0);
    EXPECT_FALSE(rows.positive_zero);
    EXPECT_EQ(rows.value.size(), rows.error.size());
    EXPECT_EQ(rows.value.size(), rows.bound.size());
    for (std::size_t i = 0; i < rows.value.size(); ++i) ++seen[index(rows.first) + i];
  });
  for (const int times : seen) EXPECT_EQ(times, 1);
}

// The same numbers elsewhere: heads inside rows, channels apart, a mask of halves that all heads
// and queries share.
TEST(FlashAttention, Layouts) {
  FlashData data(kSizes, Format::fp16);
  Generator generator(2);
  data.fill(FlashFill::normal, generator);
  data.set_mask(FlashMask::finite, generator);
  std::vector<std::uint16_t> shared;
  for (std::int64_t j = 0; j < kSizes.keys; ++j) {
    const double x = round_to(Format::fp16, j == 4 ? -INFINITY : uniform(generator));
    shared.push_back(static_cast<std::uint16_t>(encode(Format::fp16, x)));
    for (std::int64_t row = 0; row < 2 * 3 * 7; ++row) {
      data.mask[index(row * kSizes.keys + j)] = static_cast<float>(x);
    }
  }
  FlashAttention moved = declared(data, true);
  std::vector<std::vector<std::uint16_t>> copies;
  for (View* view : {&moved.q, &moved.k, &moved.v}) {
    const View dense = *view;
    const std::int64_t rows = dense.extent[2];
    const std::int64_t stride[4] = {rows * 3 * 11, 11, 3 * 11, 2};
    std::vector<std::uint16_t>& copy = copies.emplace_back(index(2 * rows * 3 * 11), 0x7e00);
    for (std::int64_t i = 0; i < 2 * 3 * rows * 5; ++i) {
      const std::int64_t at[4] = {i / 5 / rows / 3, i / 5 / rows % 3, i / 5 % rows, i % 5};
      std::int64_t to = 0;
      for (int axis = 0; axis < 4; ++axis) to += at[axis] * stride[axis];
      copy[index(to)] =
          static_cast<std::uint16_t>(encode(Format::fp16, dense.at(at[0], at[1], at[2], at[3])));
    }
    std::copy_n(stride, 4, view->stride);
  }
  moved.q.data = copies[0].data();
  moved.k.data = copies[1].data();
  moved.v.data = copies[2].data();
  moved.mask.data = shared.data();
  moved.mask.format = Format::fp16;
  for (int axis = 0; axis < 4; ++axis) moved.mask.stride[axis] = axis == 3 ? 1 : 0;
  const FlashAttention dense = declared(data, true);
  const Judged one = judged(dense, 0, 210), other = judged(moved, 0, 210);
  EXPECT_EQ(one.value, other.value);
  EXPECT_EQ(one.error, other.error);
  EXPECT_EQ(one.bound, other.bound);
  const ExactAnswers left = exact_answers(dense), right = exact_answers(moved);
  for (std::int64_t i = 0; i < 210; i += 13) EXPECT_EQ(left({0, i}).lo, right({0, i}).lo);
}

// Heads do not see one another, and neither do the queries that are evaluated together.
TEST(FlashAttention, RowsAreIndependent) {
  FlashData data({1, 2, 13, 9, 4}, Format::fp32);
  Generator generator(3);
  data.fill(FlashFill::normal, generator);
  const FlashAttention op = declared(data, false);
  const Judged before = judged(op, 0, 104);
  data.set(data.op.q, 0, 5, 2, NAN);
  data.set(data.op.k, 1, 3, 1, 1e30);
  const Judged after = judged(op, 0, 104);
  for (std::int64_t i = 0; i < 52; ++i) {
    if (i / 4 == 5) continue;
    EXPECT_EQ(before.value[index(i)], after.value[index(i)]);
    EXPECT_EQ(before.bound[index(i)], after.bound[index(i)]);
  }
}

TEST(FlashAttention, TermsAddUpToTheBound) {
  FlashData data(kSizes, Format::fp16);
  Generator generator(4);
  data.fill(FlashFill::peaky, generator);
  for (const bool cores : {false, true}) {
    const FlashAttention op = declared(data, cores);
    const Judged all = judged(op, 0, 210);
    for (std::int64_t i = 0; i < 210; i += 7) {
      double sum = 0;
      for (const BoundTerm& term : explain(op, {0, i})) {
        EXPECT_GE(term.amount, 0);
        EXPECT_EQ(std::string(term.derivation).front(), '[');
        sum += term.amount;
      }
      EXPECT_LE(std::abs(sum - all.bound[index(i)]), 0x1p-40 * all.bound[index(i)]);
    }
  }
}

// What a kernel declares widens the bound or leaves it.
TEST(FlashAttention, DeclarationsWiden) {
  FlashData data({1, 1, 1, 64, 8}, Format::fp16);
  Generator generator(5);
  data.fill(FlashFill::normal, generator);
  const auto bound = [&](const auto& change) {
    FlashAttention op = declared(data, true);
    change(op.arithmetic);
    return judged(op, 0, 1).bound[0];
  };
  const double usual = bound([](Arithmetic&) {});
  EXPECT_LT(bound([](Arithmetic& a) { a.weight = Format::fp32; }), usual / 5);
  EXPECT_GT(bound([](Arithmetic& a) { a.weight = Format::bf16; }), usual * 5);
  EXPECT_GT(bound([](Arithmetic& a) { a.rescales = 60; }), usual);
  EXPECT_GT(bound([](Arithmetic& a) { a.exponential.base_2 = true; }), usual);
  EXPECT_GT(bound([](Arithmetic& a) { a.division_roundings = 2.01; }), usual);
  EXPECT_GT(bound([](Arithmetic& a) { a.product_apart = true; }), usual);
  EXPECT_GE(bound([](Arithmetic& a) { a.rescale_lazy = 5; }), usual);
  EXPECT_GT(bound([](Arithmetic& a) { a.tensor_core = kVolta; }), usual);
}

// A query without an open key, no keys, no queries.
TEST(FlashAttention, EmptySizes) {
  for (const FlashSizes& sizes : {FlashSizes{1, 2, 3, 0, 4}, FlashSizes{1, 2, 0, 3, 4},
                                  FlashSizes{0, 2, 3, 3, 4}, FlashSizes{1, 0, 3, 3, 4}}) {
    FlashData data(sizes, Format::fp16);
    std::int64_t zeros = 0;
    evaluate(data.op, [&](const Rows& rows) { zeros += rows.positive_zero; });
    EXPECT_EQ(zeros, sizes.keys == 0 ? 6 : 0);
  }
}

}  // namespace
}  // namespace halfulp::reference::simulated
