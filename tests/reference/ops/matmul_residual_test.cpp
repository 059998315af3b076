// The residual of a product with a planted fault names the k at fault.
#include "reference/ops/matmul_residual.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/reference/ops/simulated_matmul.hpp"

namespace halfulp::reference::simulated {
namespace {

// Outputs of a Hopper kernel that takes `times` times the products of k in [first, last).
std::vector<std::uint16_t> run(const MatmulData& data, std::int64_t first, std::int64_t last,
                               double times) {
  Generator generator(9);
  DotStyle style;
  style.declared = data.op.arithmetic;
  std::vector<std::uint16_t> output;
  for (std::int64_t i = 0; i < data.op.m; ++i) {
    std::vector<double> row = data.row(i);
    for (std::int64_t k = first; k < last; ++k) row[static_cast<std::size_t>(k)] *= times;
    for (std::int64_t j = 0; j < data.op.n; ++j) {
      output.push_back(static_cast<std::uint16_t>(
          encode(Format::fp16, dot(style, row, data.column(j), generator))));
    }
  }
  return output;
}

View view_of(const std::vector<std::uint16_t>& output, const Matmul& op) {
  View view;
  view.data = output.data();
  view.format = Format::fp16;
  view.extent[0] = op.m;
  view.extent[1] = op.n;
  view.stride[0] = op.n;
  view.stride[1] = 1;
  return view;
}

struct Problem {
  MatmulData data;
  Problem(std::int64_t m, std::int64_t n, std::int64_t k, MatrixFill fill, std::uint64_t seed)
      : data(m, n, k, Format::fp16, seed % 2 == 0) {
    Generator generator(seed);
    data.fill(fill, generator);
    data.op.arithmetic.input = Format::fp16;
    data.op.arithmetic.output = Format::fp16;
    data.op.arithmetic.tensor_core = kHopper;
    data.op.arithmetic.sum_order = SumOrder::contiguous;
  }
  ResidualProjection found(std::int64_t first, std::int64_t last, double times) const {
    const std::vector<std::uint16_t> output = run(data, first, last, times);
    return project(data.op, residual_of(data.op, view_of(output, data.op)));
  }
};

TEST(ResidualProjection, NamesTheDroppedAndTheDoubledProduct) {
  for (const MatrixFill fill : {MatrixFill::normal, MatrixFill::signs, MatrixFill::wide}) {
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
      const Problem problem(24, 20, 700, fill, seed);
      const std::int64_t k = static_cast<std::int64_t>(seed * 7919 % 700);
      const bool drop = seed % 3 != 0;
      const ResidualProjection found = problem.found(k, k + 1, drop ? 0 : 2);
      EXPECT_EQ(found.k, k);
      EXPECT_TRUE(found.names_k()) << found.explained << " " << found.runner_up;
      EXPECT_EQ(std::round(found.weight * 20), drop ? -20 : 20) << found.weight;
      EXPECT_EQ(found.first, k);
      EXPECT_EQ(found.last, k + 1);
      EXPECT_FALSE(found.names_range());
    }
  }
}

TEST(ResidualProjection, NamesARangeOfProducts) {
  for (const double times : {0.0, 2.0}) {
    const Problem problem(32, 32, 900, MatrixFill::normal, 3);
    const ResidualProjection found = problem.found(256, 384, times);
    EXPECT_TRUE(found.names_range());
    EXPECT_FALSE(found.names_k());
    // The outermost products may be too small to show beside the roundings of the outputs.
    EXPECT_GE(found.first, 252);
    EXPECT_LE(found.first, 260);
    EXPECT_GE(found.last, 380);
    EXPECT_LE(found.last, 388);
    EXPECT_GT(found.range_explained, 0.95);
    EXPECT_EQ(std::round(found.range_weight * 10), times == 0 ? -10 : 10);
  }
}

TEST(ResidualProjection, SoundResultsNameNothing) {
  const Problem problem(24, 20, 700, MatrixFill::normal, 5);
  const ResidualProjection found = problem.found(0, 0, 1);
  EXPECT_FALSE(found.names_k());
  EXPECT_FALSE(found.names_range()) << found.range_explained;
  EXPECT_LT(std::abs(found.weight), 0.02);
  const Problem exact(5, 6, 70, MatrixFill::signs, 5);
  EXPECT_EQ(exact.found(0, 0, 1).k, -1) << "no residual at all";
}

TEST(ResidualProjection, OneElementOfSignsTellsNothing) {
  const Problem problem(1, 1, 300, MatrixFill::signs, 1);
  const ResidualProjection found = problem.found(17, 18, 0);
  EXPECT_EQ(found.explained, 1);
  EXPECT_EQ(found.runner_up, 1);
  EXPECT_FALSE(found.names_k());
}

TEST(ResidualProjection, ElementsThatAreNotFiniteTakeNoPart) {
  const Problem problem(24, 20, 700, MatrixFill::normal, 8);
  std::vector<std::uint16_t> output = run(problem.data, 31, 32, 0);
  for (std::size_t i = 0; i < output.size(); i += 7) output[i] = i % 2 == 0 ? 0x7c00 : 0x7fff;
  const Matmul& op = problem.data.op;
  const ResidualProjection found = project(op, residual_of(op, view_of(output, op)));
  EXPECT_EQ(found.k, 31);
  EXPECT_TRUE(found.names_k());
  EXPECT_EQ(std::round(found.weight * 20), -20);
}

// A fault in one tile shows in its window.
TEST(ResidualProjection, WindowsOfTheProduct) {
  const Problem problem(40, 36, 300, MatrixFill::normal, 4);
  const Matmul& op = problem.data.op;
  std::vector<std::uint16_t> output = run(problem.data, 0, 0, 1);
  const std::vector<std::uint16_t> faulty = run(problem.data, 123, 124, 0);
  for (std::size_t i = 16; i < 32; ++i) {
    for (std::size_t j = 20; j < 36; ++j) output[i * 36 + j] = faulty[i * 36 + j];
  }
  const Matmul tile = window(op, {16, 20, 16, 16});
  View view = view_of(output, op);
  view.data = output.data() + 16 * 36 + 20;
  const ResidualProjection found = project(tile, residual_of(tile, view));
  EXPECT_EQ(found.k, 123);
  EXPECT_TRUE(found.names_k());
}

}  // namespace
}  // namespace halfulp::reference::simulated
