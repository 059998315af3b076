// The unfused attention on the host backends: values, layouts, masks, empty sizes.
#include <gtest/gtest.h>

#include "tests/gpu/flash_attention_problems.hpp"

namespace halfulp::gpu {
namespace {

using test::FlashLayout;
using test::FlashMaskChoice;
using test::FlashMaskLayout;
using test::FlashSize;

constexpr Format kStorages[] = {Format::f32, Format::f16, Format::bf16};

void check(Backend backend, const Problem& problem) {
  const Kernel* kernel = find_kernel("flash_attention", "naive");
  ASSERT_NE(kernel, nullptr);
  const Outcome outcome = run(*kernel, backend, problem, {.order = Order::reverse, .resident = 2});
  ASSERT_EQ(outcome.fault.kind, FaultKind::none) << outcome.fault.text;
  ASSERT_EQ(outcome.outputs.size(), 1u);
  ASSERT_EQ(test::first_wrong_attention(problem, outcome.outputs[0]), "");
}

TEST(FlashAttentionNaive, IsRightOnEveryLayoutAndMask) {
  for (const Format storage : kStorages) {
    for (int layout = 0; layout < test::kFlashLayouts; ++layout) {
      for (int mask = 0; mask < test::kFlashMaskLayouts; ++mask) {
        const auto lies = static_cast<FlashLayout>(layout);
        const FlashMaskChoice choice{static_cast<FlashMaskLayout>(mask), layout % 2 == 0};
        SCOPED_TRACE(std::string(name(storage)) + " " + test::name(lies) + " mask " +
                     test::name(choice.layout));
        check(Backend::host_checked,
              test::flash_attention({2, 3, 5, 37, 11}, storage, lies, choice, {}));
      }
    }
  }
}

TEST(FlashAttentionNaive, IsRightOnSizesAroundItsBlocks) {
  for (const FlashSize& size :
       {FlashSize{1, 1, 1, 1, 8}, FlashSize{1, 2, 4, 31, 16}, FlashSize{2, 1, 5, 33, 40},
        FlashSize{1, 1, 3, 129, 256}, FlashSize{3, 1, 130, 2, 9}, FlashSize{1, 37, 1, 7, 8}}) {
    SCOPED_TRACE(size.queries);
    for (const Format storage : kStorages) {
      check(Backend::host, test::flash_attention(size, storage, FlashLayout::contiguous,
                                                 {FlashMaskLayout::dense, false}, {}));
    }
  }
}

TEST(FlashAttentionNaive, EmptySizesSucceedAndNoKeysGiveZeros) {
  for (const FlashSize& size :
       {FlashSize{0, 2, 3, 4, 8}, FlashSize{2, 0, 3, 4, 8}, FlashSize{2, 2, 0, 4, 8},
        FlashSize{2, 2, 3, 0, 8}, FlashSize{0, 0, 0, 0, 8}}) {
    for (const FlashMaskLayout mask : {FlashMaskLayout::absent, FlashMaskLayout::dense}) {
      check(Backend::host_checked,
            test::flash_attention(size, Format::f16, FlashLayout::contiguous, {mask, true}, {}));
    }
  }
}

TEST(FlashAttentionNaive, TakesTheScaleThatItIsGiven) {
  Problem problem = test::flash_attention({1, 2, 3, 5, 8}, Format::f32, FlashLayout::contiguous,
                                          {FlashMaskLayout::dense, false}, {});
  problem.scale = 1.5f;
  check(Backend::host, problem);
}

}  // namespace
}  // namespace halfulp::gpu
