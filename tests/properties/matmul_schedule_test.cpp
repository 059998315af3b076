// Schedules of matmul against an enumeration of every iteration of every program.
#include "properties/matmul_schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "gpu/kernels/matmul.hpp"

namespace halfulp::properties {
namespace {

// Products of each program in each tile, by the definition: program p takes iterations
// [p full + min(p, rest), (p + 1) full + min(p + 1, rest)) of the shared tiles.
std::map<std::int64_t, std::map<std::int64_t, std::int64_t>> enumerated(const MatmulSchedule& s,
                                                                        std::int64_t shared) {
  std::map<std::int64_t, std::map<std::int64_t, std::int64_t>> products;
  const std::int64_t all = shared * s.iterations();
  const std::int64_t full = all / s.programs, rest = all % s.programs;
  for (std::int64_t p = 0; p < s.programs; ++p) {
    const std::int64_t end = (p + 1) * full + std::min(p + 1, rest);
    for (std::int64_t i = p * full + std::min(p, rest); i < end; ++i) {
      const std::int64_t k = i % s.iterations() * s.tile.k;
      products[i / s.iterations()][p] += std::min(s.tile.k, s.k - k);
    }
  }
  for (std::int64_t tile = shared; tile < s.tiles(); ++tile) {
    products[tile][(tile - shared) % s.programs] = s.k;
  }
  return products;
}

gpu::Numerics declared(gpu::Partials partials) {
  gpu::Numerics numerics;
  numerics.partials = partials;
  return numerics;
}

TEST(MatmulSchedule, BoundsTheSumsOfEveryProgram) {
  for (std::int64_t tiles = 1; tiles <= 9; ++tiles) {
    for (std::int64_t k : {1, 4, 5, 8, 9, 17, 39, 40, 41}) {
      for (std::int64_t programs = 1; programs <= 45; ++programs) {
        for (const bool two_tile : {false, true}) {
          MatmulSchedule s{.m = tiles * 8 - 3, .n = 5, .k = k, .tile = {8, 8, 4}};
          s.programs = programs;
          s.two_tile = two_tile;
          const PartialSums bound = partial_sums(declared(gpu::Partials::programs), s);
          const std::int64_t longest = bound.longest == 0 ? k : bound.longest;
          const auto products = enumerated(s, s.shared_tiles());
          std::int64_t most = 0;
          for (const auto& [tile, programs_of_tile] : products) {
            most = std::max(most, static_cast<std::int64_t>(programs_of_tile.size()));
            const auto shares = program_shares(s, tile);
            ASSERT_EQ(shares.size(), programs_of_tile.size());
            std::int64_t next = 0;
            for (const KShare& share : shares) {
              ASSERT_EQ(share.begin, next);
              next = share.end;
              ASSERT_EQ(share.end - share.begin, programs_of_tile.at(share.part));
              ASSERT_LE(share.end - share.begin, longest);
            }
            ASSERT_EQ(next, k);
          }
          ASSERT_LE(most, bound.most);
          ASSERT_LE(bound.most, std::min(programs, s.iterations()));
        }
      }
    }
  }
}

// Seen on a device: bounds of fp32 and tf32 took blocks of 64 for kernels that cut k into 32.
TEST(MatmulSchedule, BlocksOfKAreThoseOfTheKernels) {
  for (const gpu::MatmulTileSize& size : gpu::kMatmulTileSizes) {
    for (const auto storage :
         {gpu::Format::f16, gpu::Format::bf16, gpu::Format::tf32, gpu::Format::f32}) {
      const auto bytes = static_cast<std::size_t>(gpu::size_bytes(storage));
      const TileSize tile = tile_size(size.word, storage);
      EXPECT_EQ(tile.k, gpu::matmul_tile_k(size.k, bytes)) << size.word << gpu::name(storage);
      EXPECT_EQ(tile.m, size.m);
      EXPECT_EQ(tile.n, size.n);
    }
  }
  EXPECT_EQ(tile_size("64x64x64", gpu::Format::f16).k, 64);
  EXPECT_EQ(tile_size("64x64x64", gpu::Format::f32).k, 32);
}

// Not knowing how many programs there will be must cover every number of them.
TEST(MatmulSchedule, UnknownProgramsAreCovered) {
  MatmulSchedule s{.m = 20, .n = 20, .k = 41, .tile = {8, 8, 4}};
  EXPECT_EQ(partial_sums(declared(gpu::Partials::programs), s).most, 11);
  EXPECT_EQ(partial_sums(declared(gpu::Partials::programs), s).longest, 0);
}

TEST(MatmulSchedule, SplitsAreEven) {
  MatmulSchedule s{.m = 20, .n = 20, .k = 41, .tile = {8, 8, 4}};
  s.splits = 3;
  EXPECT_EQ(partial_sums(declared(gpu::Partials::splits), s).most, 3);
  EXPECT_EQ(partial_sums(declared(gpu::Partials::splits), s).longest, 16);
  s.splits = 64;
  EXPECT_EQ(partial_sums(declared(gpu::Partials::splits), s).most, 11);
  EXPECT_EQ(partial_sums(declared(gpu::Partials::one), s).most, 1);
}

TEST(MatmulSchedule, TileOrderIsAPermutation) {
  for (std::int64_t group : {1, 2, 3, 5, 64}) {
    MatmulSchedule s{.m = 8 * 7, .n = 8 * 3, .k = 1, .tile = {8, 8, 4}};
    s.group = group;
    std::set<std::int64_t> seen;
    for (std::int64_t row = 0; row < 7; ++row) {
      for (std::int64_t column = 0; column < 3; ++column) seen.insert(s.tile_index(row, column));
    }
    EXPECT_EQ(seen.size(), 21u);
    EXPECT_EQ(*seen.begin(), 0);
    EXPECT_EQ(*seen.rbegin(), 20);
  }
  MatmulSchedule s{.m = 8 * 5, .n = 8 * 3, .k = 1, .tile = {8, 8, 4}};
  s.group = 2;
  EXPECT_EQ(s.tile_index(1, 0), 1);
  EXPECT_EQ(s.tile_index(0, 1), 2);
  EXPECT_EQ(s.tile_index(2, 0), 6);
  EXPECT_EQ(s.tile_index(4, 2), 14);  // the last group has one row
}

}  // namespace
}  // namespace halfulp::properties
