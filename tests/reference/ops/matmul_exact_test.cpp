// Whole exact products against sums in integers of 128 bits and in limbs, element by element.
#include "reference/ops/matmul_exact.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "reference/exact_sum.hpp"
#include "tests/reference/ops/simulated_matmul.hpp"

namespace halfulp::reference::simulated {
namespace {

constexpr Format kInputs[] = {Format::fp16, Format::bf16, Format::tf32, Format::fp32};
constexpr Format kOutputs[] = {Format::fp16, Format::bf16, Format::tf32, Format::fp32,
                               Format::fp64};

std::vector<ExactElement> elements_of(const Matmul& op) {
  std::vector<ExactElement> all;
  std::int64_t rows = 0;
  evaluate_exactly(op, [&](std::int64_t row, std::span<const ExactElement> elements) {
    EXPECT_EQ(row, rows++);
    all.insert(all.end(), elements.begin(), elements.end());
  });
  EXPECT_EQ(rows, op.m);
  EXPECT_EQ(std::ssize(all), op.m * op.n);
  return all;
}

// One element, in limbs, product by product.
void expect_equal(const ExactElement& element, const Matmul& op, std::int64_t i, std::int64_t j) {
  ExactSum sum;
  for (std::int64_t k = 0; k < op.k; ++k) sum.add_product(op.a.at(i, k), op.b.at(k, j));
  const Enclosure expected = sum.enclosure(), got = element.enclosure();
  if (std::isnan(expected.lo)) {
    ASSERT_TRUE(std::isnan(got.lo) && std::isnan(got.hi)) << i << " " << j;
    return;
  }
  ASSERT_EQ(got.lo, expected.lo) << i << " " << j;
  ASSERT_EQ(got.hi, expected.hi) << i << " " << j;
  for (const Format output : kOutputs) ASSERT_EQ(element.round(output), sum.round(output));
}

class ExactMatmul : public testing::TestWithParam<int> {};

TEST_P(ExactMatmul, EqualsSumsInLimbs) {
  const MatrixFill fill = static_cast<MatrixFill>(GetParam());
  Generator generator(static_cast<std::uint64_t>(GetParam()) + 90);
  for (int round = 0; round < 60; ++round) {
    MatmulData data(1 + below(generator, 20), 1 + below(generator, 40), below(generator, 600),
                    kInputs[round % 4], round % 3 == 0);
    data.fill(fill, generator);
    const std::vector<ExactElement> all = elements_of(data.op);
    for (int trial = 0; trial < 20; ++trial) {
      const std::int64_t i = below(generator, data.op.m), j = below(generator, data.op.n);
      expect_equal(all[static_cast<std::size_t>(i * data.op.n + j)], data.op, i, j);
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Fills, ExactMatmul,
                         testing::Range(0, static_cast<int>(MatrixFill::kinds)));

// Halves are multiples of 2^-24 below 2^16: 200 elements of any bits in plain integers.
TEST(ExactMatmul, EqualsIntegersOf128Bits) {
  Generator generator(1);
  MatmulData data(10, 20, 9000, Format::fp16, true);
  data.fill(MatrixFill::any_bits, generator);
  const std::vector<ExactElement> all = elements_of(data.op);
  for (std::int64_t at = 0; at < 200; ++at) {
    const std::vector<double> a = data.row(at / 20), b = data.column(at % 20);
    __int128 sum = 0;
    for (std::size_t k = 0; k < a.size(); ++k) {
      sum += static_cast<__int128>(static_cast<std::int64_t>(std::ldexp(a[k], 24))) *
             static_cast<std::int64_t>(std::ldexp(b[k], 24));
    }
    const Dyadic& got = all[static_cast<std::size_t>(at)].sum;
    ASSERT_FALSE(got.sticky);
    ASSERT_EQ(got.exponent, -48);  // such data reach down to the last bit
    ASSERT_TRUE(got.significand == static_cast<unsigned __int128>(sum < 0 ? -sum : sum));
    ASSERT_EQ(got.negative, sum < 0);
  }
}

// All slices at their largest, for more terms than a double can add up.
TEST(ExactMatmul, TheLargestSlices) {
  for (const Format input : {Format::fp16, Format::fp32}) {
    for (const double last : {0x1p-24, -0x1p-24, 0x1p-14, 1.0}) {
      MatmulData data(7, 17, 20000, input, false);
      const double full = input == Format::fp16 ? 65504 : 0x1.fffffep+15;
      for (std::int64_t k = 0; k < 20000; ++k) {
        for (std::int64_t i = 0; i < 7; ++i) data.set_a(i, k, k == 19999 ? last : full);
        for (std::int64_t j = 0; j < 17; ++j) data.set_b(k, j, k == 0 ? last : -full);
      }
      const std::vector<ExactElement> all = elements_of(data.op);
      expect_equal(all[0], data.op, 0, 0);
      expect_equal(all[118], data.op, 6, 16);
    }
  }
}

TEST(ExactMatmul, BlocksOnEverySide) {
  Generator generator(2);
  const std::int64_t sizes[][3] = {{385, 3, 5}, {2, 513, 300}, {391, 530, 20}, {6, 16, 256}};
  for (const auto& [m, n, k] : sizes) {
    MatmulData data(m, n, k, Format::bf16, n % 2 == 1);
    data.fill(MatrixFill::normal, generator);
    const std::vector<ExactElement> all = elements_of(data.op);
    for (std::int64_t at = 0; at < m * n; at += 1 + m * n / 200) {
      expect_equal(all[static_cast<std::size_t>(at)], data.op, at / n, at % n);
    }
  }
}

TEST(ExactMatmul, ClassesLeaveOtherElementsAlone) {
  Generator generator(3);
  MatmulData data(4, 5, 40, Format::fp32, false);
  data.fill(MatrixFill::wide, generator);
  data.set_a(1, 7, std::nan(""));
  data.set_a(2, 7, std::numeric_limits<double>::infinity());
  data.set_b(7, 3, 0);
  data.set_b(9, 4, -std::numeric_limits<double>::infinity());
  const std::vector<ExactElement> all = elements_of(data.op);
  for (std::int64_t at = 0; at < 20; ++at) {
    expect_equal(all[static_cast<std::size_t>(at)], data.op, at / 5, at % 5);
  }
  EXPECT_TRUE(std::isnan(all[5].special));
  EXPECT_TRUE(std::isnan(all[13].special));
  EXPECT_EQ(all[0].special, 0);
}

TEST(ExactMatmul, DoubleOperandsAndNoProducts) {
  Generator generator(4);
  std::vector<double> numbers(60);
  for (double& x : numbers) {
    x = std::ldexp(uniform(generator) - 0.5, static_cast<int>(below(generator, 2000)) - 1000);
  }
  const auto view = [&](std::size_t first, std::int64_t rows, std::int64_t columns) {
    View made;
    made.data = numbers.data() + first;
    made.format = Format::fp64;
    made.extent[0] = rows;
    made.extent[1] = columns;
    made.stride[0] = columns;
    made.stride[1] = 1;
    return made;
  };
  Matmul op;
  op.m = 3;
  op.n = 3;
  op.k = 10;
  op.a = view(0, 3, 10);
  op.b = view(30, 10, 3);
  const std::vector<ExactElement> all = elements_of(op);
  for (std::int64_t at = 0; at < 9; ++at) {
    expect_equal(all[static_cast<std::size_t>(at)], op, at / 3, at % 3);
  }
  op.k = 0;
  for (const ExactElement& element : elements_of(op)) EXPECT_EQ(element.round(Format::fp16), 0u);
}

}  // namespace
}  // namespace halfulp::reference::simulated
