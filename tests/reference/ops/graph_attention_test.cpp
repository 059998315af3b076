// Legal graph attention kernels stay within the bound and come near it; faulty ones do not stay.
#include "reference/ops/graph_attention.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iterator>

#include "tests/reference/ops/judge.hpp"
#include "tests/reference/ops/simulated.hpp"

namespace halfulp::reference::simulated {
namespace {

// More rounds by hand: HALFULP_FUZZ_ROUNDS=20000.
int rounds(int usual) {
  const char* text = std::getenv("HALFULP_FUZZ_ROUNDS");
  return text != nullptr ? std::atoi(text) : usual;
}

double before_last(double x, const Style& style, const Arithmetic& arithmetic) {
  if (arithmetic.output != arithmetic.compute) x = static_cast<double>(static_cast<float>(x));
  return style.flush && std::abs(x) < 0x1p-126 ? 0 : x;
}

Sizes random_sizes(Generator& generator) {
  constexpr std::int64_t kDims[] = {1, 2, 3, 4, 5, 7, 8, 16, 31, 33};
  Sizes sizes;
  sizes.nodes = 1 + below(generator, 4);
  sizes.edges = below(generator, 3) == 0 ? below(generator, 60) : below(generator, 12);
  sizes.heads = 1 + below(generator, 2);
  sizes.dim = kDims[below(generator, std::size(kDims))];
  return sizes;
}

struct Tally {
  double worst = 0;
  std::int64_t elements = 0, unbounded = 0, beyond = 0, disagree = 0;
};

void count(Tally& tally, const GraphAttention& op, int output, const std::vector<double>& result,
           const Style& style) {
  const Judged all = judged(op, output, std::ssize(result));
  for (std::size_t i = 0; i < result.size(); ++i) {
    const Enclosure truth = exact(op, {output, static_cast<std::int64_t>(i)});
    const double x = before_last(result[i], style, op.arithmetic);
    const double ratio = error_over_bound(x, truth, all.bound[i]);
    ++tally.elements;
    tally.unbounded += std::isinf(all.bound[i]);
    tally.beyond += ratio > 1;
    tally.worst = std::max(tally.worst, ratio);
    if (!std::isinf(all.bound[i])) tally.disagree += !agree(all.value[i], all.error[i], truth);
    EXPECT_LE(ratio, 1) << "output " << output << " element " << i << " got " << x << " truth "
                        << truth.lo << " bound " << all.bound[i] << " dim " << op.dim << " tree "
                        << static_cast<int>(style.tree) << " fma " << style.fma << " flush "
                        << style.flush << style.flush_atomic;
    if (ratio > 1) return;
  }
}

class Legal : public testing::TestWithParam<int> {};

TEST_P(Legal, KernelsStayWithinTheBound) {
  const Fill fill = static_cast<Fill>(GetParam());
  Generator generator(static_cast<std::uint64_t>(GetParam()) + 1);
  Tally out, e_out;
  for (int round = 0; round < rounds(50) && !HasFailure(); ++round) {
    AttentionData data = attention_data(random_sizes(generator), fill, generator);
    if (round % 3 == 0) data.op.epsilon = std::ldexp(1.0, -static_cast<int>(below(generator, 22)));
    if (round % 6 == 0) {  // weights of 1, so that quotients may be exact
      for (float& q : data.q) q = 0;
    }
    for (int s = 0; s < 3 && !HasFailure(); ++s) {
      const Style style = random_style(generator);
      data.op.arithmetic = arithmetic_of(style);
      if (below(generator, 3) == 0) data.op.arithmetic.output = Format::fp16;
      const AttentionResult result = run(data.op, style, generator);
      count(out, data.op, 0, result.out, style);
      count(e_out, data.op, 1, result.e_out, style);
    }
  }
  EXPECT_EQ(out.disagree, 0);
  EXPECT_EQ(e_out.disagree, 0);
  std::printf("fill %d: out %ld elements, worst %.3f, unbounded %ld; e_out %ld, worst %.3f\n",
              GetParam(), static_cast<long>(out.elements), out.worst,
              static_cast<long>(out.unbounded), static_cast<long>(e_out.elements), e_out.worst);
  RecordProperty("worst_out", std::to_string(out.worst));
  if (fill == Fill::normal || fill == Fill::saturated) {
    EXPECT_GT(out.worst, 0.3) << "the bound has become loose";
    EXPECT_GT(e_out.worst, 0.8);
  }
}
INSTANTIATE_TEST_SUITE_P(Fills, Legal, testing::Range(0, static_cast<int>(Fill::kinds)));

// Fraction of elements of `degree`-fold destinations that are beyond the bound.
double caught(std::int64_t degree, std::int64_t dim, const Fault& fault, Fill fill,
              float weight_of_edges = 1) {
  Generator generator(7);
  Tally tally;
  for (int round = 0; round < 6; ++round) {
    Sizes sizes{1, degree, 1, dim};
    sizes.nodes = 8;
    AttentionData data = attention_data(sizes, fill, generator);
    for (std::int32_t& to : data.destination) to = 3;
    for (float& e : data.e) e *= weight_of_edges;
    const AttentionResult result = run(data.op, Style{}, generator, fault);
    const Judged all = judged(data.op, 0, std::ssize(result.out));
    for (std::int64_t d = 0; d < dim; ++d) {
      const std::size_t i = static_cast<std::size_t>(3 * dim + d);
      const Enclosure truth = exact(data.op, {0, 3 * dim + d});
      ++tally.elements;
      tally.beyond += error_over_bound(result.out[i], truth, all.bound[i]) > 1;
    }
  }
  return static_cast<double>(tally.beyond) / static_cast<double>(tally.elements);
}

TEST(Planted, RightKernelIsNotCaught) {
  EXPECT_EQ(caught(1, 16, {}, Fill::normal), 0);
  EXPECT_EQ(caught(200, 16, {}, Fill::normal), 0);
}
TEST(Planted, HalfAccumulatorIsCaught) {
  Fault fault;
  fault.half_accumulator = true;
  EXPECT_GT(caught(8, 16, fault, Fill::normal), 0.95);
  EXPECT_GT(caught(200, 16, fault, Fill::normal), 0.9);
}
TEST(Planted, MissingEpsilonIsCaughtAtDegreeOne) {
  Fault fault;
  fault.no_epsilon = true;
  EXPECT_GT(caught(1, 16, fault, Fill::normal), 0.7);
}
TEST(Planted, DroppedEdgeIsCaught) {
  Fault fault;
  fault.drop_edge = true;
  EXPECT_EQ(caught(1, 16, fault, Fill::normal), 1);
  EXPECT_GT(caught(64, 16, fault, Fill::normal), 0.9);
}
TEST(Planted, MissingOuterClampIsCaughtWhereItMatters) {
  Fault fault;
  fault.no_outer_clamp = true;
  EXPECT_GT(caught(8, 16, fault, Fill::normal, 8), 0.8);
}

TEST(Explain, TermsAddUpToTheBound) {
  Generator generator(5);
  for (int round = 0; round < 60; ++round) {
    const Fill fill = static_cast<Fill>(below(generator, static_cast<int>(Fill::kinds)));
    AttentionData data = attention_data(random_sizes(generator), fill, generator);
    data.op.arithmetic = arithmetic_of(random_style(generator));
    if (round % 2 == 0) data.op.arithmetic.output = Format::bf16;
    for (const int output : {0, 1}) {
      const std::int64_t rows = output == 0 ? data.op.nodes : data.op.edges;
      const Judged all = judged(data.op, output, rows * data.op.heads * data.op.dim);
      for (std::size_t i = 0; i < all.bound.size(); ++i) {
        double sum = 0;
        for (const BoundTerm& term : explain(data.op, {output, static_cast<std::int64_t>(i)})) {
          EXPECT_GE(term.amount, 0) << term.name;
          sum += term.amount;
        }
        if (std::isinf(all.bound[i])) {
          EXPECT_EQ(sum, all.bound[i]);
        } else {
          EXPECT_LE(std::abs(sum - all.bound[i]), 1e-12 * all.bound[i]);
        }
      }
    }
  }
}

}  // namespace
}  // namespace halfulp::reference::simulated
