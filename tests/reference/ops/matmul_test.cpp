// Legal matmul kernels stay within the bound and come near it; the fast reference meets the exact
// one; terms add up.
#include "reference/ops/matmul.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/reference/ops/judge.hpp"
#include "tests/reference/ops/simulated_matmul.hpp"

namespace halfulp::reference::simulated {
namespace {

constexpr Format kInputs[] = {Format::fp16, Format::bf16, Format::tf32, Format::fp32};

int rounds(int usual) {
  const char* text = std::getenv("HALFULP_FUZZ_ROUNDS");
  return text != nullptr ? std::atoi(text) : usual;
}

struct Tally {
  double worst = 0, worst_of_cores = 0;
  std::int64_t elements = 0, open = 0, exact = 0, beyond = 0;
};

void judge_case(const MatmulData& data, const DotStyle& style, Generator& generator, Tally& tally) {
  Matmul op = data.op;
  op.arithmetic = style.declared;
  const Judged all = judged(op, 0, op.m * op.n);
  op.arithmetic.output = op.arithmetic.partials > 1 ? op.arithmetic.partial : op.arithmetic.compute;
  const Judged stored = judged(op, 0, op.m * op.n);
  for (std::int64_t i = 0; i < op.m * op.n; ++i) {
    const std::size_t at = static_cast<std::size_t>(i);
    const Enclosure truth = exact(op, {0, i});
    ++tally.elements;
    ASSERT_TRUE(agree(all.value[at], all.error[at], truth)) << all.value[at] << " " << truth.lo;
    tally.open += std::isinf(all.bound[at]);
    if (std::isinf(all.bound[at])) continue;
    tally.exact += all.bound[at] == 0;
    const double result = dot(style, data.row(i / op.n), data.column(i % op.n), generator);
    const double ratio = error_over_bound(result, truth, all.bound[at]);
    tally.beyond += ratio > 1;
    tally.beyond += !accepted(op.arithmetic.output, result, truth, stored.bound[at]);
    EXPECT_LE(stored.bound[at], all.bound[at]);
    double& worst =
        style.declared.tensor_core.alignment_bits != 0 ? tally.worst_of_cores : tally.worst;
    worst = std::max(worst, ratio);
  }
}

class LegalMatmul : public testing::TestWithParam<int> {};

TEST_P(LegalMatmul, KernelsStayWithinTheBound) {
  const MatrixFill fill = static_cast<MatrixFill>(GetParam());
  Generator generator(static_cast<std::uint64_t>(GetParam()) + 700);
  Tally tally;
  for (int round = 0; round < rounds(1500) && tally.beyond == 0; ++round) {
    const Format input = kInputs[round % 4];
    const std::int64_t k = round % 10 == 0 ? below(generator, 600) : below(generator, 20);
    MatmulData data(1 + below(generator, 3), 1 + below(generator, 9), k, input, round % 3 == 0);
    data.fill(fill, generator);
    for (int s = 0; s < 3; ++s) {
      judge_case(data, random_dot_style(input, k, generator), generator, tally);
    }
  }
  EXPECT_EQ(tally.beyond, 0) << "worst " << tally.worst << ", " << tally.worst_of_cores;
  std::printf("fill %d: %ld elements, worst %.3f, tensor cores %.3f, exact %ld, open %ld\n",
              GetParam(), static_cast<long>(tally.elements), tally.worst, tally.worst_of_cores,
              static_cast<long>(tally.exact), static_cast<long>(tally.open));
  if (fill == MatrixFill::integers || fill == MatrixFill::signs) return;  // mostly exact
  EXPECT_GT(tally.worst, 0.5) << "the bound has become loose";
  EXPECT_GT(tally.worst_of_cores, 0.2) << "the bound has become loose";
}
INSTANTIATE_TEST_SUITE_P(Fills, LegalMatmul,
                         testing::Range(0, static_cast<int>(MatrixFill::kinds)));

TEST(Matmul, FastAndExactMeetOnEverySide) {
  Generator generator(5);
  // Around the tile of 6 x 8 and the blocks of 192 x 512 x 256.
  const std::int64_t sizes[][3] = {{1, 1, 1},    {6, 8, 256},  {7, 9, 257},  {193, 3, 5},
                                   {2, 513, 11}, {3, 5, 1025}, {13, 17, 511}};
  for (const auto& [m, n, k] : sizes) {
    MatmulData data(m, n, k, Format::fp16, k % 2 == 1);
    data.fill(MatrixFill::normal, generator);
    data.op.arithmetic.sum_order = SumOrder::contiguous;
    const Judged all = judged(data.op, 0, m * n);
    for (std::int64_t i = 0; i < m * n; i += 1 + m * n / 300) {
      const std::size_t at = static_cast<std::size_t>(i);
      const Enclosure truth = exact(data.op, {0, i});
      ASSERT_TRUE(agree(all.value[at], all.error[at], truth)) << i;
      ASSERT_LE(all.error[at], 1e-12 * static_cast<double>(k));
      // Far from the rest of the matrix, whatever the bound.
      ASSERT_LE(std::abs(all.value[at] - truth.lo), 1e-9);
    }
  }
}

// In any order of the elements, however much of the operands is kept.
TEST(Matmul, AnswersThatShareTheirOperands) {
  Generator generator(6);
  MatmulData data(5, 1100, 4099, Format::fp16, true);
  data.fill(MatrixFill::normal, generator);
  const ExactAnswers answers = exact_answers(data.op);
  const ExactAnswers copied = answers;
  for (int trial = 0; trial < 2500; ++trial) {
    const Element element{0, trial % 5 == 0 ? below(generator, 5500) : trial};
    const Enclosure shared = (trial % 3 == 0 ? copied : answers)(element);
    if (trial % 50 != 0) continue;
    const Enclosure alone = exact(data.op, element);
    ASSERT_EQ(shared.lo, alone.lo);
    ASSERT_EQ(shared.hi, alone.hi);
  }
}

TEST(Matmul, NoProductsGiveZeros) {
  MatmulData data(2, 3, 0, Format::fp16, false);
  const Judged all = judged(data.op, 0, 6);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(all.value[i], 0);
    EXPECT_EQ(all.error[i], 0);
    EXPECT_EQ(all.bound[i], 0);
  }
  EXPECT_EQ(exact(data.op, {0, 5}).hi, 0);
  EXPECT_EQ(explain(data.op, {0, 5})[0].amount, 0);
  int rows = 0;
  evaluate(MatmulData(0, 3, 4, Format::fp16, false).op, [&](const Rows&) { ++rows; });
  evaluate(MatmulData(3, 0, 4, Format::fp16, false).op, [&](const Rows&) { ++rows; });
  EXPECT_EQ(rows, 0);
}

TEST(ExplainMatmul, TermsAddUpToTheBound) {
  Generator generator(3);
  for (int round = 0; round < 300; ++round) {
    const Format input = kInputs[round % 4];
    const std::int64_t k = 1 + below(generator, 40);
    MatmulData data(2, 3, k, input, round % 3 == 0);
    data.fill(static_cast<MatrixFill>(below(generator, static_cast<int>(MatrixFill::kinds))),
              generator);
    data.op.arithmetic = random_dot_style(input, k, generator).declared;
    const Judged all = judged(data.op, 0, 6);
    for (std::size_t i = 0; i < 6; ++i) {
      double sum = 0;
      for (const BoundTerm& term : explain(data.op, {0, static_cast<std::int64_t>(i)})) {
        sum += term.amount;
      }
      if (std::isinf(all.bound[i])) {
        EXPECT_EQ(sum, all.bound[i]);
      } else {
        EXPECT_LE(std::abs(sum - all.bound[i]), 1e-14 * all.bound[i]);
      }
    }
  }
}

}  // namespace
}  // namespace halfulp::reference::simulated
