// The statistical bound: never above the rigorous one, far below it where sums are long, and not
// exceeded by simulated kernels on data at random.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/reference/ops/judge.hpp"
#include "tests/reference/ops/simulated_matmul.hpp"

namespace halfulp::reference::simulated {
namespace {

std::vector<double> advisory_bounds(const Matmul& op) {
  std::vector<double> bounds;
  evaluate_advisory(op, [&](const Rows& rows) {
    bounds.insert(bounds.end(), rows.bound.begin(), rows.bound.end());
  });
  return bounds;
}

class AdvisoryMatmul : public testing::TestWithParam<int> {};

TEST_P(AdvisoryMatmul, IsBelowTheBoundAndAboveKernels) {
  const MatrixFill fill = static_cast<MatrixFill>(GetParam());
  Generator generator(static_cast<std::uint64_t>(GetParam()) + 5);
  double worst = 0, tightest = 1;
  std::int64_t beyond = 0, elements = 0;
  const Format inputs[] = {Format::fp16, Format::bf16, Format::tf32, Format::fp32};
  for (int round = 0; round < 120; ++round) {
    const Format input = inputs[round % 4];
    const std::int64_t k = 1 + below(generator, round % 4 == 0 ? 4096 : 300);
    MatmulData data(2, 3, k, input, round % 3 == 0);
    data.fill(fill, generator);
    const DotStyle style = random_dot_style(input, k, generator);
    data.op.arithmetic = style.declared;
    const Judged all = judged(data.op, 0, 6);
    const std::vector<double> advisory = advisory_bounds(data.op);
    for (std::int64_t i = 0; i < 6; ++i) {
      const std::size_t at = static_cast<std::size_t>(i);
      ASSERT_LE(advisory[at], all.bound[at]);
      ASSERT_EQ(advisory[at] == 0, all.bound[at] == 0);
      if (std::isinf(advisory[at]) || all.bound[at] == 0) continue;
      tightest = std::min(tightest, advisory[at] / all.bound[at]);
      const double result = dot(style, data.row(i / 3), data.column(i % 3), generator);
      const double ratio = error_over_bound(result, exact(data.op, {0, i}), advisory[at]);
      ++elements;
      beyond += ratio > 1;
      worst = std::max(worst, ratio);
    }
  }
  std::printf("fill %d: %ld elements, worst %.3f, tightest %.3f of the rigorous bound\n",
              GetParam(), static_cast<long>(elements), worst, tightest);
  EXPECT_EQ(beyond, 0);
  EXPECT_TRUE(fill != MatrixFill::normal || tightest < 0.25) << tightest;
}
INSTANTIATE_TEST_SUITE_P(Fills, AdvisoryMatmul,
                         testing::Range(0, static_cast<int>(MatrixFill::kinds)));

}  // namespace
}  // namespace halfulp::reference::simulated
