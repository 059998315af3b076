// Online softmax in fp32 on the host backends: every tile, layouts, masks, empty sizes and rows.
#include <gtest/gtest.h>

#include "gpu/kernels/flash_attention.hpp"
#include "tests/gpu/flash_attention_problems.hpp"

namespace halfulp::gpu {
namespace {

using test::FlashLayout;
using test::FlashMaskChoice;
using test::FlashMaskLayout;
using test::FlashSize;

constexpr Format kStorages[] = {Format::f32, Format::f16, Format::bf16};

std::vector<Setting> tile(std::int64_t index) { return {{"tile", index, {}}}; }

void check(Backend backend, const Problem& problem) {
  const Kernel* kernel = find_kernel("flash_attention", "online_f32");
  ASSERT_NE(kernel, nullptr);
  const Outcome outcome = run(*kernel, backend, problem, {.order = Order::reverse, .resident = 2});
  ASSERT_EQ(outcome.fault.kind, FaultKind::none) << outcome.fault.text;
  ASSERT_EQ(outcome.outputs.size(), 1u);
  ASSERT_EQ(test::first_wrong_attention(problem, outcome.outputs[0]), "");
}

class FlashAttentionOnlineF32Tile : public testing::TestWithParam<int> {
 protected:
  const FlashTileSize& size() const {
    return kFlashTilesF32.at(static_cast<std::size_t>(GetParam()));
  }
};

// Queries and keys around the tile's, rows whose first tile has no open key, dims around every part
// that is in shared memory at a time.
TEST_P(FlashAttentionOnlineF32Tile, IsRightAroundItsTile) {
  const std::int64_t m = size().queries;
  const std::int64_t n = size().keys;
  const FlashSize sizes[] = {{1, 2, m - 1, n, 31},     {2, 1, m, n + 1, 33},
                             {1, 1, m + 1, n - 1, 64}, {1, 1, 2 * m + 1, 2 * n + 1, 40},
                             {1, 1, 3, 4 * n, 65},     {1, 1, 2, n + 3, 256}};
  for (const FlashSize& each : sizes) {
    for (const Format storage : kStorages) {
      SCOPED_TRACE(std::string(name(storage)) + " queries " + std::to_string(each.queries) +
                   " keys " + std::to_string(each.keys) + " dim " + std::to_string(each.dim));
      check(Backend::host,
            test::flash_attention(each, storage, FlashLayout::padded,
                                  {FlashMaskLayout::dense, false}, tile(GetParam())));
      check(Backend::host,
            test::flash_attention(each, storage, FlashLayout::mixed, {}, tile(GetParam())));
    }
  }
}

// The first tile with every pair of layout and mask, the others with each of either.
TEST_P(FlashAttentionOnlineF32Tile, IsRightAndCleanOnEveryLayoutAndMask) {
  for (int layout = 0; layout < test::kFlashLayouts; ++layout) {
    for (int mask = 0; mask < test::kFlashMaskLayouts; ++mask) {
      if (GetParam() > 0 && mask % test::kFlashLayouts != layout) continue;
      const auto lies = static_cast<FlashLayout>(layout);
      const FlashMaskChoice choice{static_cast<FlashMaskLayout>(mask), layout % 2 == 0};
      const Format storage = kStorages[(layout + mask) % 3];
      SCOPED_TRACE(std::string(name(storage)) + " " + test::name(lies) + " mask " +
                   test::name(choice.layout));
      check(Backend::host_checked, test::flash_attention({2, 3, 7, size().keys + 5, 19}, storage,
                                                         lies, choice, tile(GetParam())));
    }
  }
}

TEST_P(FlashAttentionOnlineF32Tile, EmptySizesSucceedAndNoKeysGiveZeros) {
  for (const FlashSize& each : {FlashSize{0, 2, 3, 4, 8}, FlashSize{2, 0, 3, 4, 8},
                                FlashSize{2, 2, 0, 4, 8}, FlashSize{2, 2, 3, 0, 8}}) {
    for (const FlashMaskLayout mask : {FlashMaskLayout::absent, FlashMaskLayout::dense}) {
      check(Backend::host_checked, test::flash_attention(each, Format::f16, FlashLayout::contiguous,
                                                         {mask, true}, tile(GetParam())));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Tiles, FlashAttentionOnlineF32Tile,
                         testing::Range(0, static_cast<int>(kFlashTilesF32.size())));

TEST(FlashAttentionOnlineF32, IsRightOnTinySizes) {
  for (const std::int64_t keys : {1, 2, 3, 17}) {
    for (const std::int64_t dim : {8, 9, 16, 63}) {
      for (const Format storage : kStorages) {
        check(Backend::host_checked,
              test::flash_attention({1, 1, 1, keys, dim}, storage, FlashLayout::odd,
                                    {FlashMaskLayout::all_repeated, false}, {}));
      }
    }
  }
}

TEST(FlashAttentionOnlineF32, RefusesTilesOutOfRange) {
  const Kernel* kernel = find_kernel("flash_attention", "online_f32");
  for (const std::int64_t index : {-1, 3}) {
    const Problem problem = test::flash_attention({1, 1, 2, 2, 8}, Format::f16,
                                                  FlashLayout::contiguous, {}, tile(index));
    const Outcome outcome = run(*kernel, Backend::host, problem, {});
    EXPECT_EQ(outcome.fault.kind, FaultKind::refused);
    EXPECT_NE(outcome.fault.text.find("tile: is"), std::string::npos) << outcome.fault.text;
  }
}

}  // namespace
}  // namespace halfulp::gpu
