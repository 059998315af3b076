// What the matmul bounds catch: exact probes leave no room at all, and planted faults are found on
// random data in the fractions that were measured when the bounds were derived.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/reference/ops/judge.hpp"
#include "tests/reference/ops/simulated_matmul.hpp"

namespace halfulp::reference::simulated {
namespace {

enum class Plant { none, drop, duplicate, half_accumulator, half_partials };

Arithmetic hopper() {
  Arithmetic declared;
  declared.input = Format::fp16;
  declared.output = Format::fp16;
  declared.tensor_core = kHopper;
  return declared;
}

// The stored result of a kernel that declares `declared` and has the fault, at k = `at`.
double planted(const Arithmetic& declared, Plant plant, std::size_t at,
               const std::vector<double>& a, const std::vector<double>& b, Generator& generator) {
  DotStyle style;
  style.declared = declared;
  std::vector<double> left = a, right = b;
  if (plant == Plant::drop) left[at] = 0;
  if (plant == Plant::duplicate) {
    left.push_back(a[at]);
    right.push_back(b[at]);
  }
  if (plant == Plant::half_accumulator) {
    style.declared.tensor_core = {};
    style.declared.compute = Format::fp16;
    style.fma = true;
  }
  if (plant == Plant::half_partials) {
    style.declared.partials = 8;
    style.declared.partial_longest = (std::ssize(a) + 7) / 8;
    style.declared.partial = Format::fp16;
  }
  style.declared.sum_order = SumOrder::contiguous;
  return round_to(declared.output, dot(style, left, right, generator));
}

// The fraction of elements whose result is refused.
double caught(const MatmulData& data, Plant plant, Generator& generator) {
  const Matmul& op = data.op;
  const Judged all = judged(op, 0, op.m * op.n);
  std::int64_t refused = 0;
  for (std::int64_t i = 0; i < op.m * op.n; ++i) {
    const std::size_t e = static_cast<std::size_t>(i);
    const std::size_t at = static_cast<std::size_t>(below(generator, op.k));
    const double result =
        planted(op.arithmetic, plant, at, data.row(i / op.n), data.column(i % op.n), generator);
    const double room = all.error[e] + all.bound[e];
    refused += !(round_to(op.arithmetic.output, all.value[e] - room) <= result &&
                 result <= round_to(op.arithmetic.output, all.value[e] + room));
  }
  return static_cast<double>(refused) / static_cast<double>(op.m * op.n);
}

double caught(Plant plant, MatrixFill fill, SumOrder order) {
  Generator generator(11);
  MatmulData data(16, 16, 8192, Format::fp16, false);
  data.fill(fill, generator);
  data.op.arithmetic = hopper();
  data.op.arithmetic.sum_order = order;
  return caught(data, plant, generator);
}

void expect_exact(const Matmul& op) {
  const Judged all = judged(op, 0, op.m * op.n);
  for (std::int64_t i = 0; i < op.m * op.n; ++i) {
    const std::size_t e = static_cast<std::size_t>(i);
    ASSERT_EQ(all.bound[e], 0) << i;
    ASSERT_EQ(all.error[e], 0) << i;
    ASSERT_EQ(all.value[e], exact(op, {0, i}).lo) << i;
  }
}

TEST(ProbeM1, SignsAreExactAndEveryDroppedOrDoubledProductIsCaught) {
  Generator generator(1);
  MatmulData data(32, 32, 8192, Format::fp16, false);
  data.fill(MatrixFill::signs, generator);
  data.op.arithmetic = hopper();
  expect_exact(data.op);
  EXPECT_EQ(caught(data, Plant::none, generator), 0);
  EXPECT_EQ(caught(data, Plant::drop, generator), 1);  // 1024 positions
  EXPECT_EQ(caught(data, Plant::duplicate, generator), 1);
  data.op.arithmetic.tensor_core = kVolta;
  expect_exact(data.op);
}

TEST(ProbeM3, SparseSignsAreExactWithHalfPartialSums) {
  Generator generator(2);
  MatmulData data(8, 8, 4096, Format::fp16, true);
  for (std::int64_t k = 0; k < 4096; ++k) {
    for (std::int64_t i = 0; i < 8; ++i) {
      data.set_a(i, k, k % 2 == 0 ? static_cast<double>(2 * below(generator, 2) - 1) : 0);
      data.set_b(k, i, static_cast<double>(2 * below(generator, 2) - 1));
    }
  }
  data.op.arithmetic = hopper();
  data.op.arithmetic.partials = 32;
  data.op.arithmetic.partial = Format::fp16;
  expect_exact(data.op);
  EXPECT_EQ(caught(data, Plant::none, generator), 0);
  const double drop = caught(data, Plant::drop, generator);
  EXPECT_GT(drop, 0.25) << "half of the products are zeros";
  EXPECT_LT(drop, 0.75);
}

TEST(ProbeM4, PermutationsAreExactDownToSubnormalNumbers) {
  for (const Format input : {Format::fp16, Format::bf16, Format::tf32, Format::fp32}) {
    Generator generator(3);
    MatmulData data(40, 8, 40, input, false);
    data.fill(MatrixFill::any_bits, generator);
    for (std::int64_t i = 0; i < 40; ++i) {
      for (std::int64_t k = 0; k < 40; ++k) data.set_a(i, k, (7 * i + 3) % 40 == k ? 1 : 0);
    }
    data.op.arithmetic.input = input;
    data.op.arithmetic.output = input;
    expect_exact(data.op);
  }
}

TEST(ProbeM5, StraddlesTellTheAccumulator) {
  Generator generator(4);
  MatmulData data(16, 16, 2048, Format::fp16, false);
  data.fill(MatrixFill::signs, generator);
  for (std::int64_t i = 0; i < 16; ++i) {
    data.set_a(i, 5, 64);
    data.set_b(5, i, 64);
    data.set_a(i, 2040, -64);
    data.set_b(2040, i, 64);
  }
  data.op.arithmetic = hopper();
  expect_exact(data.op);
  EXPECT_EQ(caught(data, Plant::none, generator), 0);
  EXPECT_EQ(caught(data, Plant::drop, generator), 1);
  EXPECT_GT(caught(data, Plant::half_accumulator, generator), 0.9);
  EXPECT_GT(caught(data, Plant::half_partials, generator), 0.3);
  // Declared, the same accumulator is right, and the bound has room for it.
  data.op.arithmetic.tensor_core = {};
  data.op.arithmetic.compute = Format::fp16;
  EXPECT_GT(judged(data.op, 0, 1).bound[0], 0);
}

// One k of 8192 dropped in one element, at 1000 random places.
struct Dropped {
  MatmulData data{25, 40, 8192, Format::fp16, false};
  std::vector<double> results;

  explicit Dropped(MatrixFill fill) {
    Generator generator(77);
    data.fill(fill, generator);
    data.op.arithmetic = hopper();
    for (std::int64_t i = 0; i < 1000; ++i) {
      const std::size_t at = static_cast<std::size_t>(below(generator, data.op.k));
      results.push_back(
          planted(hopper(), Plant::drop, at, data.row(i / 40), data.column(i % 40), generator));
    }
  }
  double refused(SumOrder order, bool advisory) {
    data.op.arithmetic.sum_order = order;
    int count = 0;
    const auto judge = [&](const Rows& rows) {
      for (std::size_t i = 0; i < rows.value.size(); ++i) {
        const double room = rows.error[i] + rows.bound[i], value = rows.value[i];
        const double result = results[static_cast<std::size_t>(rows.first) + i];
        count += !(round_to(Format::fp16, value - room) <= result &&
                   result <= round_to(Format::fp16, value + room));
      }
    };
    advisory ? evaluate_advisory(data.op, judge) : evaluate(data.op, judge);
    return count / 1000.0;
  }
};

TEST(PlantedMatmul, OneDroppedProductOf8192IsCaughtByTheProbeForCertain) {
  Dropped signs(MatrixFill::signs), normal(MatrixFill::normal);
  const double any = normal.refused(SumOrder::any, false);
  const double contiguous = normal.refused(SumOrder::contiguous, false);
  const double advisory = normal.refused(SumOrder::contiguous, true);
  const double probe = signs.refused(SumOrder::any, false);
  std::printf("signs %.3f; N(0,1): any order %.3f, contiguous %.3f, statistical %.3f\n", probe, any,
              contiguous, advisory);
  EXPECT_EQ(probe, 1);
  EXPECT_EQ(signs.refused(SumOrder::contiguous, false), 1);
  EXPECT_GT(any, 0.2);
  EXPECT_GT(contiguous, 0.8);
  EXPECT_GE(advisory, contiguous);
}

TEST(PlantedMatmul, RandomDataCatchWhatTheDerivationMeasured) {
  const MatrixFill normal = MatrixFill::normal;
  EXPECT_EQ(caught(Plant::none, normal, SumOrder::contiguous), 0);
  EXPECT_EQ(caught(Plant::none, MatrixFill::positive, SumOrder::contiguous), 0);
  const double drop = caught(Plant::drop, normal, SumOrder::any);
  const double drop_contiguous = caught(Plant::drop, normal, SumOrder::contiguous);
  const double half = caught(Plant::half_accumulator, normal, SumOrder::any);
  const double half_contiguous = caught(Plant::half_accumulator, normal, SumOrder::contiguous);
  std::printf("drop %.3f %.3f, fp16 accumulator %.3f %.3f\n", drop, drop_contiguous, half,
              half_contiguous);
  EXPECT_GT(drop, 0.2);
  EXPECT_GT(drop_contiguous, 0.8);
  EXPECT_GT(half, 0.2);
  EXPECT_GT(half_contiguous, 0.88);
}

}  // namespace
}  // namespace halfulp::reference::simulated
