// Legal scatter_normalize kernels stay within the bound and come near it; faulty ones do not stay.
#include "reference/ops/scatter_normalize.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/reference/ops/judge.hpp"
#include "tests/reference/ops/simulated.hpp"

namespace halfulp::reference::simulated {
namespace {

int rounds(int usual) {
  const char* text = std::getenv("HALFULP_FUZZ_ROUNDS");
  return text != nullptr ? std::atoi(text) : usual;
}

struct Tally {
  double worst = 0;
  std::int64_t elements = 0, unbounded = 0, beyond = 0;
  std::int64_t known = 0;  // quotients that are exact, not 0, and narrowed
};

void count(Tally& tally, const ScatterNormalize& op, const std::vector<double>& result,
           const Style& style) {
  const Judged all = judged(op, 0, std::ssize(result));
  for (std::size_t i = 0; i < result.size(); ++i) {
    const Enclosure truth = exact(op, {0, static_cast<std::int64_t>(i)});
    double x = result[i];
    if (op.arithmetic.output != op.arithmetic.compute) {
      x = static_cast<double>(static_cast<float>(x));
    }
    if (style.flush && std::abs(x) < 0x1p-126) x = 0;
    const double ratio = error_over_bound(x, truth, all.bound[i]);
    ++tally.elements;
    tally.unbounded += std::isinf(all.bound[i]);
    tally.beyond += ratio > 1;
    tally.known += all.bound[i] == 0 && std::isfinite(all.value[i]) && all.value[i] != 0 &&
                   op.arithmetic.output != op.arithmetic.compute;
    tally.worst = std::max(tally.worst, ratio);
    if (std::isinf(all.bound[i])) continue;
    EXPECT_TRUE(agree(all.value[i], all.error[i], truth)) << all.value[i] << " " << truth.lo;
  }
}

class LegalScatter : public testing::TestWithParam<int> {};

TEST_P(LegalScatter, KernelsStayWithinTheBound) {
  const Fill fill = static_cast<Fill>(GetParam());
  Generator generator(static_cast<std::uint64_t>(GetParam()) + 100);
  Tally tally;
  for (int round = 0; round < rounds(600) && tally.beyond == 0; ++round) {
    Sizes sizes{1 + below(generator, 3), below(generator, 12), 1 + below(generator, 2),
                1 + below(generator, 9)};
    if (round % 20 == 0) sizes.edges = 300;
    ScatterData data = scatter_data(sizes, fill, generator);
    if (round % 3 == 0) data.op.epsilon = std::ldexp(1.0, -static_cast<int>(below(generator, 22)));
    for (int s = 0; s < 3; ++s) {
      const Style style = random_style(generator);
      data.op.arithmetic = arithmetic_of(style);
      if (below(generator, 3) == 0) data.op.arithmetic.output = Format::fp16;
      count(tally, data.op, run(data.op, style, generator), style);
    }
  }
  EXPECT_EQ(tally.beyond, 0) << "worst " << tally.worst;
  std::printf("fill %d: %ld elements, worst %.3f, unbounded %ld\n", GetParam(),
              static_cast<long>(tally.elements), tally.worst, static_cast<long>(tally.unbounded));
  EXPECT_GT(tally.worst, 0.5) << "the bound has become loose";
  if (fill == Fill::small_integers) {
    EXPECT_GT(tally.known, 100);
  }
}
INSTANTIATE_TEST_SUITE_P(Fills, LegalScatter, testing::Range(0, static_cast<int>(Fill::kinds)));

double caught(std::int64_t degree, const Fault& fault, bool positive) {
  Generator generator(9);
  Tally tally;
  for (int round = 0; round < 30; ++round) {
    ScatterData data = scatter_data({1, degree, 1, 16}, Fill::normal, generator);
    if (positive) {
      for (float& score : data.scores) score = std::abs(score);
    }
    count(tally, data.op, run(data.op, Style{}, generator, fault), Style{});
  }
  return static_cast<double>(tally.beyond) / static_cast<double>(tally.elements);
}

TEST(PlantedScatter, FaultsAreCaught) {
  EXPECT_EQ(caught(1, {}, true), 0);
  EXPECT_EQ(caught(100, {}, true), 0);
  Fault half, epsilon, edge;
  half.half_accumulator = true;
  epsilon.no_epsilon = true;
  edge.drop_edge = true;
  EXPECT_GT(caught(16, half, true), 0.95);
  EXPECT_GT(caught(1, epsilon, true), 0.8);
  EXPECT_EQ(caught(1, edge, true), 1);
  EXPECT_GT(caught(100, edge, true), 0.95);
}

TEST(ExplainScatter, TermsAddUpToTheBound) {
  Generator generator(3);
  for (int round = 0; round < 100; ++round) {
    const Fill fill = static_cast<Fill>(below(generator, static_cast<int>(Fill::kinds)));
    ScatterData data = scatter_data({3, below(generator, 10), 2, 3}, fill, generator);
    data.op.arithmetic = arithmetic_of(random_style(generator));
    const Judged all = judged(data.op, 0, 18);
    for (std::size_t i = 0; i < all.bound.size(); ++i) {
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
