// The device's sums in fp64 against the reference, and a large case judged by them.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdio>

#include "gpu/product_in_double.hpp"
#include "properties/check.hpp"
#include "properties/operation.hpp"
#include "properties/translate.hpp"
#include "reference/exact_sum.hpp"
#include "tests/device.hpp"

namespace halfulp::properties {
namespace {

class OuterCheckGpuTest : public testing::Test {
 protected:
  void SetUp() override { HALFULP_NEED_DEVICE(gpu::unavailable_reason(gpu::Backend::cuda)); }
};

TEST_F(OuterCheckGpuTest, SumsAreThoseOfTheOperands) {
  for (const char* in : {"f32", "f16", "bf16", "tf32"}) {
    for (const char* form :
         {"transpose=none layout=packed", "transpose=ab layout=gap:3", "transpose=a layout=mixed",
          "transpose=b layout=offset:1", "transpose=none layout=broadcast"}) {
      SCOPED_TRACE(std::string(in) + " " + form);
      const Parsed parsed = parse(
          "matmul tile backend=cuda m=601 n=503 k=3001 fill=normal seed=0x7 in=" + std::string(in) +
          " " + form);
      ASSERT_EQ(parsed.error.what, "");
      const gpu::Problem problem = find_operation("matmul")->materialise(parsed.value);
      const reference::View a = view(problem.operand("a")), b = view(problem.operand("b"));
      std::vector<double> value, magnitude;
      const std::string error = gpu::product_in_double(problem, [&](const gpu::RowsInDouble& rows) {
        EXPECT_EQ(rows.first * 503, std::ssize(value));
        value.insert(value.end(), rows.value.begin(), rows.value.end());
        magnitude.insert(magnitude.end(), rows.magnitude.begin(), rows.magnitude.end());
      });
      ASSERT_EQ(error, "");
      ASSERT_EQ(std::ssize(value), 601 * 503);
      std::vector<double> left(3001), right(3001);
      for (std::int64_t at = 0; at < 601 * 503; at += 101) {
        a.row(at / 503, 0, 0, 1, 3001, left.data());
        b.row(0, at % 503, 0, 0, 3001, right.data());
        reference::ExactSum sum, size;
        sum.add_products(left.data(), right.data(), 3001);
        for (double& x : left) x = std::fabs(x);
        for (double& x : right) x = std::fabs(x);
        size.add_products(left.data(), right.data(), 3001);
        const double off = 3001 * 0x1p-53 * size.enclosure().hi;  // [B28]
        const auto place = static_cast<std::size_t>(at);
        ASSERT_LE(std::fabs(value[place] - sum.enclosure().lo), off) << at;
        ASSERT_LE(std::fabs(magnitude[place] - size.enclosure().lo), off) << at;
      }
    }
  }
}

Judgement timed(const std::string& line) {
  const auto start = std::chrono::steady_clock::now();
  const Judgement judgement = judge(parse(line).value);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  std::printf("%s\n  %s, %.2f s (the kernel's launches %.2f s), %s; worst %.3f\n", line.c_str(),
              name(judgement.verdict).data(), taken.count(), judgement.kernel_seconds,
              judgement.reason.c_str(), judgement.worst_error_over_bound);
  return judgement;
}

TEST_F(OuterCheckGpuTest, ALargeCaseIsJudged) {
  const Judgement judgement =
      timed("matmul tile backend=cuda in=f16 m=8192 n=8192 k=8192 fill=normal seed=0x5");
  EXPECT_EQ(name(judgement.verdict), "pass") << judgement.reason;
  EXPECT_EQ(judgement.elements, 8192 * 8192);
  EXPECT_NE(judgement.reason.find("outer check"), std::string::npos) << judgement.reason;
}

}  // namespace
}  // namespace halfulp::properties
