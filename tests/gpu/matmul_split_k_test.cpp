// matmul split along k: exact answers on the host backends, for every number of splits.
#include <gtest/gtest.h>

#include "gpu/kernels/matmul.hpp"
#include "tests/gpu/matmul_problems.hpp"

namespace halfulp::gpu {
namespace {

using test::MatmulLayout;

constexpr std::int64_t kSmallTile = 0;

void check(Backend backend, Order order, const test::MatmulSize& size, Format storage,
           std::int64_t splits) {
  SCOPED_TRACE(std::string(name(storage)) + " k " + std::to_string(size.k) + " splits " +
               std::to_string(splits));
  const Kernel* kernel = find_kernel("matmul", "split_k");
  ASSERT_NE(kernel, nullptr);
  const Problem problem =
      test::matmul(size, storage, MatmulLayout::rows, MatmulLayout::columns, MatmulLayout::rows_odd,
                   {{"tile", kSmallTile, "32x32x32"}, {"group", 2, {}}, {"splits", splits, {}}});
  const Outcome outcome = run(*kernel, backend, problem, {.order = order, .resident = 3});
  ASSERT_EQ(outcome.fault.kind, FaultKind::none) << outcome.fault.text;
  ASSERT_EQ(outcome.outputs.size(), 1u);
  ASSERT_EQ(test::first_wrong_product(problem, outcome.outputs[0]), "");
}

// Fewer, as many and more splits than blocks of k; ranges of different lengths.
TEST(MatmulSplitK, IsExactForEveryNumberOfSplits) {
  for (const std::int64_t k : {1, 32, 33, 96, 160, 200}) {
    for (const std::int64_t splits : {1, 2, 3, 4, 5, 7, 64}) {
      check(Backend::host, Order::burst, {33, 35, k}, Format::f16, splits);
    }
  }
}

TEST(MatmulSplitK, IsExactAndCleanForEveryFormat) {
  for (const Format storage : {Format::f16, Format::bf16, Format::tf32, Format::f32}) {
    check(Backend::host_checked, Order::reverse, {35, 66, 107}, storage, 3);
  }
}

TEST(MatmulSplitK, GivesZerosWithoutProducts) {
  check(Backend::host_checked, Order::round_robin, {5, 7, 0}, Format::f16, 4);
  check(Backend::host_checked, Order::round_robin, {0, 7, 40}, Format::f16, 4);
  check(Backend::host_checked, Order::round_robin, {5, 0, 40}, Format::f16, 4);
}

TEST(MatmulSplitK, RefusesSplitsOutOfRange) {
  const Kernel* kernel = find_kernel("matmul", "split_k");
  for (const std::int64_t splits : {0, 65}) {
    const Problem problem =
        test::matmul({3, 4, 5}, Format::f16, MatmulLayout::rows, MatmulLayout::rows,
                     MatmulLayout::rows, {{"splits", splits, {}}});
    const Outcome outcome = run(*kernel, Backend::host, problem, {});
    EXPECT_EQ(outcome.fault.kind, FaultKind::refused);
    EXPECT_NE(outcome.fault.text.find("splits"), std::string::npos);
  }
}

}  // namespace
}  // namespace halfulp::gpu
