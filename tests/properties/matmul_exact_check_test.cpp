// Large integer matrices judged by Freivalds' check: the same verdict as by the answer itself, a
// single wrong element named, in a fraction of the time.
#include "properties/matmul_exact_check.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>

#include "properties/judging.hpp"
#include "properties/layout.hpp"
#include "properties/outputs.hpp"
#include "properties/setup.hpp"
#include "properties/translate.hpp"

namespace halfulp::properties {
namespace {

// A probe, and c as a right kernel leaves it: sums that are exact, rounded once.
struct Product {
  Case c;
  const Operation* operation = find_operation("matmul");
  gpu::Numerics numerics;
  gpu::Problem problem;
  gpu::Outputs right;

  explicit Product(const std::string& fields) {
    const Parsed parsed = parse("matmul fake_right " + fields);
    EXPECT_EQ(parsed.error.what, "");
    c = parsed.value;
    numerics = set_up(c).numerics;
    problem = operation->materialise(c);
    const gpu::Operand& output = problem.operand("c");
    gpu::Operand written = output;
    written.role = gpu::Role::input;  // outputs get no storage
    fill_gaps(written);
    operation->evaluate(problem, numerics, [&](const reference::Rows& rows) {
      for (std::size_t i = 0; i < rows.value.size(); ++i) {
        put(written, gpu::storage_index(written, rows.first + static_cast<std::int64_t>(i)),
            reference::encode(reference_format(written.format), rows.value[i]));
      }
    });
    right.push_back(written.storage);
  }

  // The lowest bit of element (i, j) turned over.
  gpu::Outputs with_wrong(std::int64_t i, std::int64_t j) const {
    gpu::Operand written = problem.operand("c");
    written.storage = right[0];
    const std::int64_t at = i * written.stride[0] + j * written.stride[1];
    put(written, at, get(written, written.storage.data(), at) ^ 1u);
    return {written.storage};
  }

  bool check(std::span<const gpu::Outputs> results, const reference::Sink& sink) const {
    return operation->exact_check(c, problem, numerics, results, sink);
  }

  Judgement judged(const std::vector<gpu::Outputs>& results) const {
    Judging judging(*operation, numerics, problem, results, c.seed());
    EXPECT_TRUE(check(results, [&](const reference::Rows& rows) { judging.see(rows); }));
    Judgement judgement;
    judging.finish(judgement);
    return judgement;
  }
};

TEST(MatmulExactCheck, ARightProductPasses) {
  for (const char* in : {"f32", "f16", "bf16", "tf32"}) {
    for (const char* layout : {"packed", "mixed"}) {
      const Product product("m=512 n=300 k=512 fill=M1 transpose=b seed=0x5 in=" + std::string(in) +
                            " layout=" + layout);
      const Judgement judgement = product.judged({product.right});
      EXPECT_EQ(name(judgement.verdict), "pass") << in << " " << judgement.reason;
      EXPECT_EQ(judgement.elements, 512 * 300);
      EXPECT_EQ(judgement.worst_error_over_bound, 0);
    }
  }
}

TEST(MatmulExactCheck, OneWrongElementIsFoundAndNamed) {
  const Product product("m=512 n=512 k=512 fill=M1 seed=0x5 in=f16");
  for (const auto& [i, j] : {std::pair{0, 0}, std::pair{511, 511}, std::pair{130, 77}}) {
    for (const bool second : {false, true}) {  // of two results, either
      std::vector<gpu::Outputs> results{product.with_wrong(i, j)};
      if (second) results.insert(results.begin(), product.right);
      const Judgement judgement = product.judged(results);
      EXPECT_EQ(name(judgement.verdict), "fail");
      EXPECT_EQ(judgement.failed, 1);
      EXPECT_EQ(judgement.worst.at(0).index, (std::vector<std::int64_t>{i, j}));
      EXPECT_EQ(judgement.worst.at(0).bound, 0);
    }
  }
}

// The whole way, from the case line to the report.
TEST(MatmulExactCheck, ThePipelineNamesOneLostProduct) {
  const Case c = parse("matmul fake_dropped m=410 n=410 k=400 fill=M1 in=f16").value;
  ASSERT_TRUE(
      pays_to_check_exactly({.m = 410, .n = 410, .k = 400, .a = {}, .b = {}, .arithmetic = {}}));
  const Judgement judgement = judge(c);
  EXPECT_EQ(name(judgement.verdict), "fail");
  EXPECT_EQ(judgement.failed, 1);
  EXPECT_EQ(judgement.elements, 410 * 410);
  EXPECT_EQ(judgement.worst.at(0).index, (std::vector<std::int64_t>{1, 0}));
}

TEST(MatmulExactCheck, ComputesOnlyTheRowsThatAreWrong) {
  const Product product("m=512 n=512 k=512 fill=M1 seed=0x5 in=f16");
  std::int64_t rows_at_once = 0, elements = 0;
  const std::vector<gpu::Outputs> results{product.with_wrong(7, 3)};
  EXPECT_TRUE(product.check(results, [&](const reference::Rows& rows) {
    elements += std::ssize(rows.value);
    rows_at_once = std::max(rows_at_once, std::ssize(rows.value) / 512);
  }));
  EXPECT_EQ(elements, 512 * 512);
  EXPECT_EQ(rows_at_once, 1);
}

TEST(MatmulExactCheck, LeavesTheRestToTheAnswer) {
  const auto streams = [](const std::string& fields) {
    const Product product(fields);
    int streamed = 0;
    const std::vector<gpu::Outputs> results{product.right};
    const bool applies = product.check(results, [&](const reference::Rows&) { ++streamed; });
    EXPECT_EQ(applies, streamed > 0);
    return applies;
  };
  EXPECT_TRUE(streams("m=512 n=512 k=512 fill=M1 in=f16"));
  EXPECT_FALSE(streams("m=64 n=64 k=64 fill=M1 in=f16"));         // small
  EXPECT_FALSE(streams("m=16 n=2048 k=2048 fill=M1 in=f16"));     // no quicker
  EXPECT_FALSE(streams("m=512 n=512 k=512 fill=normal in=f16"));  // no probe
  // Numbers that repeat make no probe: the sums are not known to be exact.
  const Product repeated("m=512 n=512 k=512 fill=M1 seed=0x2 in=f16 layout=broadcast");
  const auto strides = [&](const char* operand) {
    return repeated.problem.operand(operand).stride;
  };
  const bool repeats =
      std::ranges::count(strides("a"), 0) + std::ranges::count(strides("b"), 0) > 0;
  ASSERT_TRUE(repeats);
  const std::vector<gpu::Outputs> results{repeated.right};
  EXPECT_FALSE(repeated.check(results, [](const reference::Rows&) { FAIL(); }));
  // All wrong: nothing would be saved.
  const Product product("m=512 n=512 k=512 fill=M1 seed=0x5 in=f16");
  const std::vector<gpu::Outputs> zeros{{std::vector<std::byte>(product.right[0].size())}};
  EXPECT_FALSE(product.check(zeros, [](const reference::Rows&) { FAIL(); }));
}

// Wherever it is used on a probe, the answer's own bound is zero: what the rows streamed claim.
TEST(MatmulExactCheck, BoundsOfProbesAreZero) {
  for (const gpu::Kernel& kernel : gpu::kernels()) {
    if (kernel.operation != "matmul" || kernel.numerics.partial_in_output) continue;
    for (const char* fill : {"M1", "M2", "M3", "M5", "M6", "M7", "M8"}) {
      const Parsed parsed =
          parse("matmul " + std::string(kernel.name) + " m=40 n=50 k=600 in=f16 fill=" + fill);
      ASSERT_EQ(parsed.error.what, "");
      const gpu::Problem problem = find_operation("matmul")->materialise(parsed.value);
      const gpu::Numerics numerics = set_up(parsed.value).numerics;
      double most = 0;
      find_operation("matmul")->evaluate(problem, numerics, [&](const reference::Rows& rows) {
        for (const double bound : rows.bound) most = std::max(most, bound);
      });
      EXPECT_EQ(most, 0) << kernel.name << " " << fill;
    }
  }
}

double seconds(const std::function<void()>& work) {
  double least = 1e9;
  for (int i = 0; i < 3; ++i) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    least = std::min(least, taken.count());
  }
  return least;
}

TEST(MatmulExactCheck, TakesAFractionOfTheTime) {
  const Product product("m=1024 n=1024 k=2048 fill=M1 seed=0x5 in=f16");
  const std::vector<gpu::Outputs> results{product.with_wrong(7, 3)};
  const reference::Sink nothing = [](const reference::Rows&) {};
  const double quick = seconds([&] { EXPECT_TRUE(product.check(results, nothing)); });
  const double whole =
      seconds([&] { product.operation->evaluate(product.problem, product.numerics, nothing); });
  RecordProperty("check_ms", static_cast<int>(1000 * quick));
  RecordProperty("answer_ms", static_cast<int>(1000 * whole));
  EXPECT_LT(quick, whole / 2);
  std::printf("check %.1f ms, answer %.1f ms\n", 1000 * quick, 1000 * whole);
}

}  // namespace
}  // namespace halfulp::properties
