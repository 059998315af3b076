// Inputs whose answer no legal kernel can miss: the bound that the data themselves yield is 0 or
// next to it.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/reference/ops/judge.hpp"
#include "tests/reference/ops/simulated.hpp"

namespace halfulp::reference::simulated {
namespace {

constexpr double kUnit = 0x1p-24;
const double kEpsilon = static_cast<double>(1e-6f);

// All edges go from node 1 + (edge mod rest) to node 0, unless changed.
AttentionData star(std::int64_t degree, std::int64_t dim, std::int64_t nodes = 5) {
  Generator generator(static_cast<std::uint64_t>(degree * 100 + dim));
  AttentionData data = attention_data({nodes, degree, 1, dim}, Fill::small_integers, generator);
  for (std::vector<float>* operand : {&data.q, &data.k, &data.v, &data.e}) {
    for (float& value : *operand) value = draw(Fill::small_integers, generator);
  }
  for (std::int64_t e = 0; e < degree; ++e) {
    data.destination[static_cast<std::size_t>(e)] = 0;
    data.source[static_cast<std::size_t>(e)] = static_cast<std::int32_t>(1 + e % (nodes - 1));
  }
  return data;
}

void set(std::vector<float>& values, float value) {
  for (float& each : values) each = value;
}

// What one double operation and the inflation may add to a bound that is stated in exact terms.
double slightly_above(double bound) { return bound * (1 + 1e-6) + 1e-300; }

TEST(ProbeG1, NodesWithoutEdgesAreZeroExactly) {
  AttentionData data = star(3, 4);
  const Judged all = judged(data.op, 0, 20);
  for (std::size_t i = 4; i < 20; ++i) {
    EXPECT_EQ(all.value[i], 0);
    EXPECT_FALSE(std::signbit(all.value[i]));
    EXPECT_EQ(all.bound[i], 0);
    EXPECT_EQ(all.error[i], 0);
  }
}

TEST(ProbeG2, ZeroQueriesGiveTheMeanOfTheValues) {
  for (const std::int64_t degree : {1, 2, 7, 16, 31, 32, 33, 64, 1000, 4096}) {
    AttentionData data = star(degree, 8);
    set(data.q, 0);
    const Judged scores = judged(data.op, 1, degree * 8);
    for (std::size_t i = 0; i < scores.bound.size(); ++i) {
      EXPECT_EQ(scores.value[i], 0);
      EXPECT_EQ(scores.bound[i], 0);
    }
    const Judged all = judged(data.op, 0, 8);
    const double n = static_cast<double>(degree);
    for (std::size_t d = 0; d < 8; ++d) {
      const double size = std::abs(all.value[d]);
      EXPECT_LE(all.bound[d], slightly_above(size * kEpsilon / n));
      if (degree >= 128) {
        EXPECT_LE(all.bound[d], 0.13 * kUnit * size) << "far below the output's rounding";
      }
      if (degree == 1) {
        EXPECT_LE(all.bound[d], slightly_above(1.01 * kUnit * size));
      }
    }
  }
}

TEST(ProbeG3, SmallIntegersAtPowersOfFourAreExact) {
  for (const std::int64_t dim : {1, 4, 16, 64, 256}) {
    AttentionData data = star(6, dim);
    const float root = static_cast<float>(std::sqrt(static_cast<double>(dim)));
    for (float& k : data.k) k *= root;  // t = k q / root takes every integer to 9, so 5 and -5
    const Judged all = judged(data.op, 1, 6 * dim);
    double largest = 0;
    for (std::size_t i = 0; i < all.bound.size(); ++i) {
      EXPECT_EQ(all.bound[i], 0);
      EXPECT_EQ(all.error[i], 0);
      const Enclosure truth = exact(data.op, {1, static_cast<std::int64_t>(i)});
      EXPECT_EQ(truth.lo, truth.hi);
      EXPECT_EQ(truth.lo, all.value[i]);
      largest = std::max(largest, std::abs(all.value[i]));
    }
    EXPECT_LE(largest, 15);
    data.op.arithmetic.output = Format::fp16;  // exact before the rounding to the output, too
    for (const double bound : judged(data.op, 1, 6 * dim).bound) EXPECT_EQ(bound, 0);
    data.op.arithmetic.scale_exact_at_powers_of_four = false;
    double most = 0;
    for (const double bound : judged(data.op, 1, 6 * dim).bound) most = std::max(most, bound);
    EXPECT_GT(most, 0);
  }
}

TEST(ProbeG4, SaturatedScores) {
  for (const bool balanced : {true, false}) {
    AttentionData data = star(64, 6);  // any dim: what is clamped is exact
    set(data.q, 9);
    set(data.k, 7);
    for (std::size_t i = 0; i < data.e.size(); ++i) data.e[i] = balanced && i % 2 == 1 ? -1 : 1;
    const Judged scores = judged(data.op, 1, 64 * 6);
    for (std::size_t i = 0; i < scores.bound.size(); ++i) {
      EXPECT_EQ(std::abs(scores.value[i]), 5);
      EXPECT_EQ(scores.bound[i], 0);
    }
    const Judged all = judged(data.op, 0, 6);
    for (std::size_t d = 0; d < 6; ++d) {
      const double size = std::abs(all.value[d]);
      if (balanced) {
        EXPECT_LE(all.bound[d], slightly_above(size * kEpsilon / 64));
      } else {  // the logit is 5 exactly; exp errs, and the sums do
        EXPECT_LE(all.bound[d], (5 * 4 + 3 * 64 * 4) * kUnit);
      }
    }
  }
}

TEST(ProbeG5, EpsilonShowsWhereEveryWeightIsSmallest) {
  for (const std::int64_t degree : {1, 8}) {
    AttentionData data = star(degree, 16);
    set(data.q, 9);
    set(data.k, 9);
    set(data.e, -1);
    for (float& v : data.v) v = 1 + v * 0x1p-10f;
    const Judged all = judged(data.op, 0, 16);
    Generator generator(1);
    Fault missing;
    missing.no_epsilon = true;
    const AttentionResult wrong = run(data.op, Style{}, generator, missing);
    const AttentionResult right = run(data.op, Style{}, generator);
    for (std::size_t d = 0; d < 16; ++d) {
      const Enclosure truth = exact(data.op, {0, static_cast<std::int64_t>(d)});
      EXPECT_GT(error_over_bound(wrong.out[d], truth, all.bound[d]), 10);
      EXPECT_LE(error_over_bound(right.out[d], truth, all.bound[d]), 1);
    }
  }
}

TEST(ProbeG6, HubWithBitCodedValues) {
  constexpr std::int64_t kDegree = 65536;
  AttentionData data = star(kDegree, 16, kDegree + 1);
  set(data.q, 0);
  for (std::int64_t node = 1; node <= kDegree; ++node) {
    for (std::int64_t bit = 0; bit < 16; ++bit) {
      data.v[static_cast<std::size_t>(node * 16 + bit)] = static_cast<float>((node - 1) >> bit & 1);
    }
  }
  const Judged all = judged(data.op, 0, (kDegree + 1) * 16);
  for (std::size_t d = 0; d < 16; ++d) {
    EXPECT_EQ(all.value[d], 32768 / (65536 + kEpsilon));
    // A lost edge moves the mean by 2^-17 of itself; the bound is 2^-36 of it.
    EXPECT_LE(all.bound[d], 0x1p-36);
  }
}

TEST(ProbeG7, TheErrorOfOneExpIsThatOfTheMean) {
  AttentionData data = star(2, 8, 3);
  set(data.q, 9);
  set(data.k, 9);
  set(data.e, 0);
  data.e[8 + 3] = 249.5f / 256;  // the second edge's logit is 5 times that
  for (std::size_t d = 0; d < 8; ++d) {
    data.v[8 + d] = -128;
    data.v[16 + d] = 1;
  }
  const Judged all = judged(data.op, 0, 8);
  for (std::size_t d = 0; d < 8; ++d) {
    EXPECT_LT(std::abs(all.value[d]), 0.03);
    // 5 u for expf, 2 u for the products.
    EXPECT_GT(all.bound[d], 6.8 * kUnit);
    EXPECT_LT(all.bound[d], 7.2 * kUnit);
  }
}

ScatterData sums_of(std::vector<float> values, std::vector<float> scores) {
  Generator generator(1);
  ScatterData data = scatter_data({2, std::ssize(values), 1, 1}, Fill::normal, generator);
  data.values = std::move(values);
  data.scores = std::move(scores);
  for (std::int32_t& to : data.destination) to = 0;
  data.op.values = view_of(data.values, data.op.edges, 1, 1);
  data.op.scores = view_of(data.scores, data.op.edges, 1, 1);
  return data;
}

TEST(ProbeS1, IntegersSumExactlyInAnyOrder) {
  std::vector<float> values, scores;
  for (int i = 0; i < 200; ++i) {
    values.push_back(static_cast<float>(i % 7 - 3) * 0x1p20f);
    scores.push_back(static_cast<float>(1 + i % 3));
  }
  values[0] = 0x1p20f * 6;
  const Judged all = judged(sums_of(values, scores).op, 0, 2);
  EXPECT_LE(all.bound[0], slightly_above(std::abs(all.value[0]) * kEpsilon / 399));
  EXPECT_EQ(all.value[1], 0);  // S7
  EXPECT_EQ(all.bound[1], 0);
  // One value off the grid, and the order of the additions matters again.
  values[3] = 1.0f / 3;
  EXPECT_GT(judged(sums_of(values, scores).op, 0, 2).bound[0], 10 * all.bound[0]);
}

TEST(ProbeS4, StraddleTellsHalfAtomics) {
  std::vector<float> values(64, 1), scores(64, 2);
  for (std::size_t i = 0; i < 32; ++i) values[2 * i] = i % 2 == 0 ? 4096 : -4096;
  ScatterData data = sums_of(values, scores);
  const Judged all = judged(data.op, 0, 2);
  EXPECT_LE(all.bound[0], slightly_above(all.value[0] * kEpsilon / 128));
  Generator generator(1);
  Fault half;
  half.half_accumulator = true;
  const double wrong = run(data.op, Style{}, generator, half)[0];
  EXPECT_GT(error_over_bound(wrong, exact(data.op, {0, 0}), all.bound[0]), 1000);
}

TEST(ProbeS5, PowersOfTwoDivideExactly) {
  for (const int degree : {128, 256, 1024}) {
    const std::vector<float> ones(static_cast<std::size_t>(degree), 1);
    std::vector<float> values = ones;
    values[0] = 4;
    const Judged all = judged(sums_of(values, ones).op, 0, 2);
    const float mean = static_cast<float>(degree + 3) / static_cast<float>(degree);
    EXPECT_EQ(static_cast<float>(all.value[0] - all.bound[0]), mean);
    EXPECT_EQ(static_cast<float>(all.value[0] + all.bound[0]), mean);
  }
}

TEST(ProbeS5, ExactQuotientsLeaveTheirTiesToTheStoredFormat) {
  ScatterData data = sums_of({256, 1, 2}, {15, 8, 8});
  data.op.epsilon = 1;
  for (const double roundings : {1.0, 2.01}) {
    data.op.arithmetic.division_roundings = roundings;
    data.op.arithmetic.output = Format::bf16;
    const Judged all = judged(data.op, 0, 2);
    EXPECT_EQ(all.value[0], 259.0 / 32);
    EXPECT_EQ(all.error[0], 0);
    EXPECT_EQ(all.bound[0], 0);
  }
  data.op.epsilon = 1e-6f;  // 31 and a bit
  EXPECT_GT(judged(data.op, 0, 2).bound[0], 0);
  data.op.epsilon = 2;  // 33: the quotient is rounded before it is stored
  EXPECT_GT(judged(data.op, 0, 2).bound[0], 0);
  ScatterData third = sums_of({40, 2, 3}, {1, 1, 0});
  third.op.arithmetic.output = Format::bf16;
  third.op.epsilon = 1;  // 45 / 3 is exact where it is one division, and not by a reciprocal
  EXPECT_EQ(judged(third.op, 0, 2).bound[0], 0);
  third.op.arithmetic.division_roundings = 2.01;
  EXPECT_GT(judged(third.op, 0, 2).bound[0], 0);
}

TEST(ProbeG2, ExactMeansLeaveTheirTiesToTheStoredFormat) {
  AttentionData data = star(3, 4, 4);
  set(data.q, 0);
  for (std::size_t d = 0; d < 4; ++d) {
    data.v[4 + d] = 256;
    data.v[8 + d] = 1;
    data.v[12 + d] = 2;
  }
  data.op.arithmetic.output = Format::bf16;
  EXPECT_GT(judged(data.op, 0, 4).bound[0], 0);
  data.op.epsilon = 1;
  const Judged all = judged(data.op, 0, 4);
  EXPECT_EQ(all.value[0], 259.0 / 4);
  EXPECT_EQ(all.error[0], 0);
  EXPECT_EQ(all.bound[0], 0);
}

TEST(ProbeS6, ZeroDenominators) {
  const Judged none = judged(sums_of({0, 0}, {0, 0}).op, 0, 2);
  EXPECT_EQ(none.value[0], 0);
  EXPECT_EQ(none.bound[0], 0);
  const Judged some = judged(sums_of({0.5f, 1}, {0, 0}).op, 0, 2);
  EXPECT_EQ(some.bound[0], 0);  // the division is the only rounding
  EXPECT_EQ(static_cast<float>(some.value[0]), 1.5f / 1e-6f);
  const Judged cancelled = judged(sums_of({0.5f, 1}, {64, -64}).op, 0, 2);
  EXPECT_TRUE(std::isinf(cancelled.bound[0])) << "epsilon may be lost beside the 64";
}

TEST(ProbeS8, SubnormalAddends) {
  ScatterData data = sums_of({0x1p-140f, 0x1p-149f, 0x1p-130f}, {0, 0, 0});
  const Judged kept = judged(data.op, 0, 2);
  EXPECT_EQ(kept.bound[0], 0);
  data.op.arithmetic.atomic_flush_to_zero = true;
  const Judged lost = judged(data.op, 0, 2);
  EXPECT_GE(lost.bound[0], lost.value[0]);
}

TEST(Bounds, FinerInputsCostWhatIsDeclared) {
  AttentionData data = star(8, 4);
  for (float& e : data.e) e = e + 0.3f;
  data.op.arithmetic.output = Format::fp16;
  const double expf = judged(data.op, 0, 4).bound[0];
  data.op.arithmetic.exponential = {2, 1.173};
  const double fast = judged(data.op, 0, 4).bound[0];
  data.op.arithmetic.division_roundings = 3;
  const double divided = judged(data.op, 0, 4).bound[0];
  EXPECT_LT(expf, fast);
  EXPECT_LT(fast, divided);
}

}  // namespace
}  // namespace halfulp::reference::simulated
