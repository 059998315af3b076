// Attention on tensor cores on the host backends: every kernel and tile, channels, layouts, masks
// in memory, sizes around tiles, repeatability.
#include "gpu/kernels/flash_attention_mma.hpp"

#include <gtest/gtest.h>

#include "tests/gpu/flash_attention_problems.hpp"

namespace halfulp::gpu {
namespace {

using test::FlashLayout;
using test::FlashMaskChoice;
using test::FlashMaskLayout;
using test::FlashSize;

constexpr const char* kNames[] = {"mma_f16",       "mma_bf16",       "mma_tf32",
                                  "mma_f16_added", "mma_bf16_added", "mma_tf32_added"};

// What a weight and tensor cores may be off by.
double weight_roundoff(Format storage) {
  const double weight = storage == Format::f16    ? 0x1p-11
                        : storage == Format::bf16 ? 0x1p-8
                                                  : 0x1p-10;
  return 1.1 * weight;
}

void check(const Kernel& kernel, Backend backend, const Problem& problem) {
  const Outcome outcome = run(kernel, backend, problem, {.order = Order::reverse, .resident = 2});
  ASSERT_EQ(outcome.fault.kind, FaultKind::none) << outcome.fault.text;
  ASSERT_EQ(outcome.outputs.size(), 1u);
  ASSERT_EQ(test::first_wrong_attention(problem, outcome.outputs[0], nullptr,
                                        weight_roundoff(kernel.storage[0])),
            "");
}

std::vector<Setting> on_tile(std::int64_t tile) {
  return {{"tile", tile, std::string(kFlashTilesMma.at(static_cast<std::size_t>(tile)).word)}};
}

class FlashAttentionMma : public testing::TestWithParam<const char*> {
 protected:
  const Kernel& kernel() const {
    const Kernel* found = find_kernel("flash_attention", GetParam());
    EXPECT_NE(found, nullptr);
    return *found;
  }
  Format storage() const { return kernel().storage[0]; }
};

TEST_P(FlashAttentionMma, IsRightForAnyNumberOfChannels) {
  for (const std::int64_t dim : {8, 20, 40, 64, 72, 128, 200, 256}) {
    SCOPED_TRACE(dim);
    check(kernel(), Backend::host,
          test::flash_attention({1, 2, 35, 70, dim}, storage(), FlashLayout::padded,
                                {FlashMaskLayout::dense, false}, on_tile(0)));
  }
}

TEST_P(FlashAttentionMma, IsRightAroundItsTiles) {
  for (std::int64_t tile = 0; tile < std::ssize(kFlashTilesMma); ++tile) {
    const std::int64_t rows = kFlashTilesMma.at(static_cast<std::size_t>(tile)).queries;
    for (const FlashSize& size :
         {FlashSize{1, 1, 1, 1, 8}, FlashSize{2, 1, rows - 1, 65, 16},
          FlashSize{1, 1, rows, 64, 24}, FlashSize{1, 2, rows + 1, 63, 8},
          FlashSize{1, 1, 2 * rows + 1, 193, 8}, FlashSize{3, 2, 2, 129, 8}}) {
      SCOPED_TRACE(std::string(kFlashTilesMma.at(static_cast<std::size_t>(tile)).word) + " " +
                   std::to_string(size.queries) + " " + std::to_string(size.keys));
      check(kernel(), Backend::host,
            test::flash_attention(size, storage(), FlashLayout::contiguous,
                                  {FlashMaskLayout::absent, false}, on_tile(tile)));
    }
  }
}

TEST_P(FlashAttentionMma, IsRightAndCleanOnEveryLayoutAndMask) {
  for (int layout = 0; layout < test::kFlashLayouts; ++layout) {
    for (int mask = 0; mask < test::kFlashMaskLayouts; ++mask) {
      const auto lies = static_cast<FlashLayout>(layout);
      const FlashMaskChoice choice{static_cast<FlashMaskLayout>(mask),
                                   (layout + mask) % 2 == 0 && storage() != Format::tf32};
      SCOPED_TRACE(std::string(test::name(lies)) + " mask " + test::name(choice.layout));
      check(kernel(), Backend::host_checked,
            test::flash_attention({2, 3, 5, 72 + layout, 11}, storage(), lies, choice, {}));
    }
  }
}

TEST_P(FlashAttentionMma, EmptySizesSucceedAndNoKeysGiveZeros) {
  for (const FlashSize& size :
       {FlashSize{0, 2, 3, 4, 8}, FlashSize{2, 0, 3, 4, 8}, FlashSize{2, 2, 0, 4, 8},
        FlashSize{2, 2, 3, 0, 8}, FlashSize{0, 0, 0, 0, 8}}) {
    for (const FlashMaskLayout mask : {FlashMaskLayout::absent, FlashMaskLayout::dense}) {
      check(kernel(), Backend::host_checked,
            test::flash_attention(size, storage(), FlashLayout::contiguous, {mask, false}, {}));
    }
  }
}

TEST_P(FlashAttentionMma, TakesTheScaleThatItIsGiven) {
  for (const FlashMaskLayout mask : {FlashMaskLayout::absent, FlashMaskLayout::dense}) {
    Problem problem = test::flash_attention({1, 2, 3, 70, 8}, storage(), FlashLayout::contiguous,
                                            {mask, false}, {});
    problem.scale = 0.75f;
    check(kernel(), Backend::host, problem);
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, FlashAttentionMma, testing::ValuesIn(kNames));

}  // namespace
}  // namespace halfulp::gpu
