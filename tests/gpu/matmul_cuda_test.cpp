// Every matmul kernel on a device, at its own default settings: exact answers on every layout.
// Skipped with the reason where there is no device; HALFULP_REQUIRE_GPU=1 makes that a failure.
#include <gtest/gtest.h>

#include <string>

#include "tests/device.hpp"
#include "tests/gpu/matmul_problems.hpp"

namespace halfulp::gpu {
namespace {

using test::MatmulLayout;
using test::MatmulSize;

class MatmulCudaTest : public testing::Test {
 protected:
  void SetUp() override { HALFULP_NEED_DEVICE(unavailable_reason(Backend::cuda)); }
};

std::string wrong(const Kernel& kernel, const Problem& problem) {
  const Outcome outcome = run(kernel, Backend::cuda, problem, {});
  if (outcome.fault) return std::string(name(outcome.fault.kind)) + ": " + outcome.fault.text;
  if (outcome.outputs.size() != 1) return "exact sums differ between calls";
  return test::first_wrong_product(problem, outcome.outputs[0]);
}

// Calls visit(kernel, storage) for what has a device build, with a trace of the two.
template <class Visit>
void for_each_kernel(const Visit& visit) {
  for (const Kernel& kernel : kernels()) {
    const bool built = kernel.entry[static_cast<std::size_t>(Backend::cuda)] != nullptr;
    if (kernel.operation != "matmul" || !built) continue;
    for (const Format storage : kernel.storage) {
      SCOPED_TRACE(std::string(kernel.name) + " " + std::string(name(storage)));
      visit(kernel, storage);
    }
  }
}

TEST_F(MatmulCudaTest, EveryLayoutIsExact) {
  for_each_kernel([](const Kernel& kernel, Format storage) {
    for (int a = 0; a < test::kMatmulLayouts; ++a) {
      for (int b = 0; b < test::kMatmulLayouts; ++b) {
        const auto layout_a = static_cast<MatmulLayout>(a);
        const auto layout_b = static_cast<MatmulLayout>(b);
        const Problem problem =
            test::matmul({35, 41, 67}, storage, layout_a, layout_b, layout_a, {});
        ASSERT_EQ(wrong(kernel, problem), "")
            << "a " << test::name(layout_a) << ", b " << test::name(layout_b);
      }
    }
  });
}

// Sizes with nothing to add, with nothing to store, of one element, and around tiles.
TEST_F(MatmulCudaTest, EverySizeIsExact) {
  constexpr MatmulSize kSizes[] = {{0, 3, 5},       {3, 0, 5},     {5, 3, 0},  {1, 3, 0},
                                   {3, 1, 0},       {1, 1, 1},     {1, 7, 33}, {7, 1, 33},
                                   {129, 65, 31},   {65, 257, 97}, {2, 8, 1},  {8, 2, 1},
                                   {127, 128, 129}, {255, 129, 64}};
  for_each_kernel([&](const Kernel& kernel, Format storage) {
    for (const MatmulSize& size : kSizes) {
      for (const MatmulLayout layout : {MatmulLayout::rows, MatmulLayout::columns_odd}) {
        const Problem problem = test::matmul(size, storage, layout, layout, layout, {});
        ASSERT_EQ(wrong(kernel, problem), "")
            << size.m << " " << size.n << " " << size.k << " " << test::name(layout);
      }
    }
  });
}

}  // namespace
}  // namespace halfulp::gpu
