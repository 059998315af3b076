// The data-parallel matmul and with it the bodies of every storage format and tile: exact answers
// on the host backends.
#include <gtest/gtest.h>

#include "gpu/kernels/matmul.hpp"
#include "tests/gpu/matmul_problems.hpp"

namespace halfulp::gpu {
namespace {

using test::MatmulLayout;
using test::MatmulSize;

constexpr Format kStorages[] = {Format::f16, Format::bf16, Format::tf32, Format::f32};

std::vector<Setting> settings(std::int64_t tile, std::int64_t group) {
  return {{"tile", tile, std::string(kMatmulTileSizes.at(static_cast<std::size_t>(tile)).word)},
          {"group", group, {}}};
}

void check(Backend backend, const Problem& problem) {
  const Kernel* kernel = find_kernel("matmul", "tile");
  ASSERT_NE(kernel, nullptr);
  const Outcome outcome = run(*kernel, backend, problem, {.order = Order::reverse, .resident = 2});
  ASSERT_EQ(outcome.fault.kind, FaultKind::none) << outcome.fault.text;
  ASSERT_EQ(outcome.outputs.size(), 1u);
  ASSERT_EQ(test::first_wrong_product(problem, outcome.outputs[0]), "");
}

class MatmulTileTest : public testing::TestWithParam<int> {};

// Sizes around the tile's, all of them different from each other.
TEST_P(MatmulTileTest, IsExactAroundItsTile) {
  const auto& tile = kMatmulTileSizes.at(static_cast<std::size_t>(GetParam()));
  const MatmulSize sizes[] = {{tile.m - 1, tile.n + 1, tile.k},
                              {tile.m + 1, tile.n, tile.k + 1},
                              {1, tile.n - 1, 2 * tile.k - 1}};
  for (const Format storage : kStorages) {
    for (const MatmulSize& size : sizes) {
      SCOPED_TRACE(std::string(gpu::name(storage)) + " " + std::to_string(size.m) + " " +
                   std::to_string(size.n) + " " + std::to_string(size.k));
      for (const MatmulLayout b : {MatmulLayout::rows_padded, MatmulLayout::columns_padded}) {
        check(Backend::host, test::matmul(size, storage, MatmulLayout::columns_padded, b,
                                          MatmulLayout::rows, settings(GetParam(), 1)));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Tiles, MatmulTileTest,
                         testing::Range(0, static_cast<int>(kMatmulTileSizes.size())));

constexpr std::int64_t kSmallTile = 0;

// Every layout of A with every layout of B.
TEST(MatmulTile, IsExactAndCleanOnEveryLayout) {
  for (const Format storage : kStorages) {
    for (int a = 0; a < test::kMatmulLayouts; ++a) {
      for (int b = 0; b < test::kMatmulLayouts; ++b) {
        const auto layout_a = static_cast<MatmulLayout>(a);
        const auto layout_b = static_cast<MatmulLayout>(b);
        SCOPED_TRACE(std::string(gpu::name(storage)) + ", a " + test::name(layout_a) + ", b " +
                     test::name(layout_b));
        check(Backend::host_checked, test::matmul({35, 41, 67}, storage, layout_a, layout_b,
                                                  layout_a, settings(kSmallTile, 2)));
      }
    }
  }
}

TEST(MatmulTile, IsExactOnTinySizes) {
  for (const Format storage : kStorages) {
    for (const std::int64_t m : {0, 1, 2, 9}) {
      for (const std::int64_t n : {0, 1, 3, 8}) {
        for (const std::int64_t k : {0, 1, 7, 16}) {
          SCOPED_TRACE(std::string(gpu::name(storage)) + " " + std::to_string(m) + " " +
                       std::to_string(n) + " " + std::to_string(k));
          check(Backend::host_checked,
                test::matmul({m, n, k}, storage, MatmulLayout::rows, MatmulLayout::rows,
                             MatmulLayout::rows_odd, settings(kSmallTile, 1)));
        }
      }
    }
  }
}

// The last group has fewer rows of tiles than the others, and some groups are larger than C.
TEST(MatmulTile, IsExactInEveryOrderOfTiles) {
  for (const std::int64_t group : {1, 2, 3, 4, 5, 8, 64}) {
    SCOPED_TRACE(group);
    check(Backend::host,
          test::matmul({5 * 32 - 7, 3 * 32 + 1, 40}, Format::f16, MatmulLayout::rows,
                       MatmulLayout::rows, MatmulLayout::rows, settings(kSmallTile, group)));
  }
}

TEST(MatmulTile, RefusesSettingsOutOfRange) {
  const Kernel* kernel = find_kernel("matmul", "tile");
  const auto refused = [&](const std::vector<Setting>& chosen) {
    const Problem problem = test::matmul({3, 4, 5}, Format::f16, MatmulLayout::rows,
                                         MatmulLayout::rows, MatmulLayout::rows, chosen);
    const Outcome outcome = run(*kernel, Backend::host, problem, {});
    EXPECT_EQ(outcome.fault.kind, FaultKind::refused);
    return outcome.fault.text;
  };
  EXPECT_NE(refused({{"tile", 99, {}}}).find("tile"), std::string::npos);
  EXPECT_NE(refused({{"group", 0, {}}}).find("group"), std::string::npos);
  EXPECT_NE(refused({{"group", 65, {}}}).find("group"), std::string::npos);
}

}  // namespace
}  // namespace halfulp::gpu
