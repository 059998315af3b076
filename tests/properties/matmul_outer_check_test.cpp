// Products judged by sums from elsewhere: here those of a plain loop, so that no device is needed.
#include "properties/matmul_outer_check.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "properties/judging.hpp"
#include "properties/layout.hpp"
#include "properties/matmul_rows.hpp"
#include "properties/outputs.hpp"
#include "properties/setup.hpp"
#include "properties/translate.hpp"

namespace halfulp::properties {
namespace {

// A problem, c as a right kernel leaves it, and what the device would say of it.
struct Scene {
  Case c;
  const Operation* operation = find_operation("matmul");
  gpu::Numerics numerics;
  gpu::Problem problem;
  reference::Matmul op;
  std::vector<double> value, magnitude;
  gpu::Operand written;

  explicit Scene(const std::string& fields) {
    const Parsed parsed = parse("matmul fake_right " + fields);
    EXPECT_EQ(parsed.error.what, "");
    c = parsed.value;
    numerics = set_up(c).numerics;
    problem = operation->materialise(c);
    const gpu::Operand &a = problem.operand("a"), &b = problem.operand("b");
    written = problem.operand("c");
    op.m = a.extent[0];
    op.k = a.extent[1];
    op.n = b.extent[1];
    op.a = view(a);
    op.b = view(b);
    op.arithmetic = arithmetic(numerics, a.format, written.format);
    sum();
    written.role = gpu::Role::input;  // outputs get no storage
    fill_gaps(written);
    for (std::size_t i = 0; i < value.size(); ++i) {
      put(written, gpu::storage_index(written, static_cast<std::int64_t>(i)),
          reference::encode(reference_format(written.format), value[i]));
    }
  }

  void sum() {
    for (std::int64_t i = 0; i < op.m; ++i) {
      for (std::int64_t j = 0; j < op.n; ++j) {
        double total = 0, size = 0;
        for (std::int64_t k = op.k; k-- > 0;) {
          const double product = op.a.at(i, k) * op.b.at(k, j);
          total += product;
          size += std::fabs(product);
        }
        value.push_back(total);
        magnitude.push_back(size);
      }
    }
  }

  // 32 ulps off.
  gpu::Outputs with_wrong(std::int64_t i, std::int64_t j) const {
    gpu::Operand changed = written;
    const std::int64_t at = i * written.stride[0] + j * written.stride[1];
    put(changed, at, get(changed, changed.storage.data(), at) ^ 32u);
    return {changed.storage};
  }

  // Of the first `rows` rows, in pieces.
  ProductInDouble device(std::int64_t rows, const std::string& error = "") const {
    return [this, rows, error](const gpu::RowsInDoubleSink& sink) {
      for (std::int64_t first = 0; first < rows; first += 17) {
        const auto from = static_cast<std::size_t>(first * op.n);
        const auto count =
            static_cast<std::size_t>(std::min<std::int64_t>(17, rows - first) * op.n);
        sink({first, std::span(value).subspan(from, count),
              std::span(magnitude).subspan(from, count)});
      }
      return error;
    };
  }

  // A tenth of the rows computed here.
  double tenth() const { return static_cast<double>(op.m * op.n) * static_cast<double>(op.k) / 10; }

  Judgement judged(const gpu::Outputs& result, const ProductInDouble& product,
                   std::string* note = nullptr) const {
    const std::vector<gpu::Outputs> results{result};
    Judging judging(*operation, numerics, problem, results, c.seed());
    const OuterCheck outer = matmul_outer_check(
        op, product, c.seed(), [&](const reference::Rows& rows) { judging.see(rows); }, tenth());
    EXPECT_TRUE(outer.streamed);
    if (note != nullptr) *note = outer.note;
    Judgement judgement;
    judging.finish(judgement);  // asserts that each element came
    return judgement;
  }
};

TEST(MatmulOuterCheck, ARightProductPasses) {
  for (const char* in : {"f32", "f16", "bf16", "tf32"}) {
    for (const char* layout : {"packed", "mixed", "gap:3"}) {
      const Scene scene("m=120 n=70 k=300 fill=normal transpose=a seed=0x5 in=" + std::string(in) +
                        " layout=" + layout);
      std::string note;
      const Judgement judgement =
          scene.judged({scene.written.storage}, scene.device(scene.op.m), &note);
      EXPECT_EQ(name(judgement.verdict), "pass") << in << " " << judgement.reason;
      EXPECT_EQ(judgement.elements, 120 * 70);
      EXPECT_EQ(note, "outer check: fp64 of cuBLAS, 12 of 120 rows by the reference");
    }
  }
}

TEST(MatmulOuterCheck, OneWrongElementIsFoundAndNamed) {
  const Scene scene("m=120 n=70 k=300 fill=normal seed=0x5 in=f16");
  for (std::int64_t i = 0; i < 120; i += 7) {  // computed here, and not
    const Judgement judgement = scene.judged(scene.with_wrong(i, i % 70), scene.device(120));
    EXPECT_EQ(name(judgement.verdict), "fail");
    EXPECT_EQ(judgement.failed, 1);
    EXPECT_EQ(judgement.worst.at(0).index, (std::vector<std::int64_t>{i, i % 70}));
    EXPECT_GT(judgement.worst.at(0).error_over_bound, 1);
  }
}

// Wrong sums are nobody's failure but ours.
TEST(MatmulOuterCheck, WrongSumsAreABugOfTheReference) {
  Scene scene("m=120 n=70 k=300 fill=normal seed=0x5 in=f16");
  for (double& value : scene.value) value += 1;
  const Judgement judgement = scene.judged({scene.written.storage}, scene.device(120));
  EXPECT_EQ(name(judgement.verdict), "faulted");
  EXPECT_NE(judgement.reason.find("BUG IN THE REFERENCE"), std::string::npos) << judgement.reason;
}

TEST(MatmulOuterCheck, RowsThatTheDeviceLeavesOutAreComputedHere) {
  const Scene scene("m=120 n=70 k=300 fill=normal seed=0x5 in=f16");
  for (const std::int64_t rows : {1, 50, 119}) {
    std::string note;
    const Judgement right =
        scene.judged({scene.written.storage}, scene.device(rows, "device lost"), &note);
    EXPECT_EQ(name(right.verdict), "pass") << right.reason;
    EXPECT_NE(note.find("; device lost"), std::string::npos) << note;
    const Judgement wrong = scene.judged(scene.with_wrong(119, 3), scene.device(rows, "lost"));
    EXPECT_EQ(name(wrong.verdict), "fail");
  }
  const OuterCheck none = matmul_outer_check(scene.op, scene.device(0, "no library"), 1,
                                             [](const reference::Rows&) { FAIL(); });
  EXPECT_FALSE(none.streamed);
  EXPECT_EQ(none.note, "no outer check: no library");
}

// The bound of what is computed here is the kernel's own: below that of any order.
TEST(MatmulOuterCheck, SampledRowsHaveTheDeclaredBound) {
  const Scene scene("m=120 n=70 k=300 fill=normal seed=0x5 in=f16");
  reference::Matmul op = scene.op;
  op.arithmetic.sum_order = reference::SumOrder::contiguous;
  std::vector<double> own, outer(own);
  evaluate(op, [&](const reference::Rows& rows) {
    own.insert(own.end(), rows.bound.begin(), rows.bound.end());
  });
  outer.resize(own.size(), -1);
  matmul_outer_check(
      op, scene.device(120), 1,
      [&](const reference::Rows& rows) {
        std::ranges::copy(rows.bound, outer.begin() + rows.first);
      },
      scene.tenth());
  int same_rows = 0;
  for (std::size_t i = 0; i < own.size(); i += 70) {
    ASSERT_GE(outer[i] * (1 + 0x1p-40), own[i]);
    same_rows += std::equal(own.begin() + static_cast<std::ptrdiff_t>(i),
                            own.begin() + static_cast<std::ptrdiff_t>(i) + 70,
                            outer.begin() + static_cast<std::ptrdiff_t>(i));
  }
  EXPECT_EQ(same_rows, 12);
}

TEST(MatmulOuterCheck, IsForLargeProductsOnADevice) {
  const auto needs = [](std::int64_t m, std::int64_t n, std::int64_t k) {
    return needs_outer_check({.m = m, .n = n, .k = k, .a = {}, .b = {}, .arithmetic = {}});
  };
  EXPECT_TRUE(needs(2048, 2048, 2048));
  EXPECT_FALSE(needs(2048, 2048, 2047));
  EXPECT_FALSE(needs(0, 1 << 24, 1 << 24));
  const Scene small("m=2 n=3 k=4 seed=0x5 in=f16");
  const OuterCheck outer = small.operation->outer(small.c, small.problem, small.numerics,
                                                  [](const reference::Rows&) { FAIL(); });
  EXPECT_FALSE(outer.streamed);
  EXPECT_EQ(outer.note, "");
}

}  // namespace
}  // namespace halfulp::properties
