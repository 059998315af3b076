// Attention on tensor cores on the host backends: every kernel and tile, channels, layouts, masks
// in memory, sizes around tiles, repeatability.
#include "gpu/kernels/flash_attention_mma.hpp"

#include <gtest/gtest.h>

#include <algorithm>

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
            test::flash_attention({2, 2, 3, 66 + layout, 11}, storage(), lies, choice, on_tile(0)));
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

// The sign bits of a 16- or 32-bit operand turned.
void negate(Operand& operand) {
  const auto bytes = static_cast<std::size_t>(size_bytes(operand.format));
  for (std::size_t i = bytes - 1; i < operand.storage.size(); i += bytes) {
    operand.storage[i] ^= std::byte{0x80};
  }
}

Outputs output(const Kernel& kernel, const Problem& problem) {
  const Outcome outcome = run(kernel, Backend::host, problem, {});
  EXPECT_EQ(outcome.fault.kind, FaultKind::none) << outcome.fault.text;
  return outcome.outputs.at(0);
}

TEST_P(FlashAttentionMma, ANegativeScaleIsThatOfNegatedKeys) {
  for (const FlashMaskLayout mask : {FlashMaskLayout::absent, FlashMaskLayout::dense}) {
    Problem problem = test::flash_attention({1, 2, 3, 70, 8}, storage(), FlashLayout::contiguous,
                                            {mask, false}, on_tile(0));
    problem.scale = 0.75f;
    const Outputs expected = output(kernel(), problem);
    problem.scale = -0.75f;
    negate(problem.operands[1]);
    EXPECT_EQ(output(kernel(), problem), expected);
  }
}

TEST_P(FlashAttentionMma, RepeatsItselfBitForBitAfterAnotherSize) {
  const auto problem = [this](std::int64_t queries, std::int64_t keys) {
    return test::flash_attention({1, 2, queries, keys, 40}, storage(), FlashLayout::mixed,
                                 {FlashMaskLayout::dense, false}, on_tile(0));
  };
  const Outputs first = output(kernel(), problem(40, 130));
  output(kernel(), problem(3, 5));
  EXPECT_EQ(output(kernel(), problem(40, 130)), first);
}

// NaN in a query makes its row NaN and no other; NaN in a value makes its channel NaN.
TEST_P(FlashAttentionMma, NanGoesWhereItIsUsed) {
  const Problem clean = test::flash_attention({1, 1, 3, 70, 8}, storage(), FlashLayout::contiguous,
                                              {FlashMaskLayout::absent, false}, on_tile(0));
  const Outputs expected = output(kernel(), clean);
  const auto bytes = static_cast<std::size_t>(size_bytes(storage()));
  const auto spoil = [&](std::size_t operand, std::size_t element) {
    Problem problem = clean;
    std::fill_n(
        problem.operands[operand].storage.begin() + static_cast<std::ptrdiff_t>(element * bytes),
        bytes, std::byte{0xff});
    return output(kernel(), problem);
  };
  const Outputs with_query = spoil(0, 8 + 3);
  const Outputs with_value = spoil(2, 69 * 8 + 5);
  const auto is_nan = [&](const Outputs& outputs, std::size_t element) {
    const std::byte* at = outputs[0].data() + element * bytes;
    const auto high =
        std::to_integer<unsigned>(at[bytes - 1]) << 8 | std::to_integer<unsigned>(at[bytes - 2]);
    return (high & 0x7fff) > (storage() == Format::f16 ? 0x7c00u : 0x7f80u);
  };
  for (std::size_t element = 0; element < 24; ++element) {
    SCOPED_TRACE(element);
    EXPECT_EQ(is_nan(with_query, element), element / 8 == 1);
    EXPECT_EQ(is_nan(with_value, element), element % 8 == 5);
    EXPECT_FALSE(is_nan(expected, element));
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, FlashAttentionMma, testing::ValuesIn(kNames));

}  // namespace
}  // namespace halfulp::gpu
