// The partition of a matmul over programs, exhaustively over small sizes, against definitions spelt
// out one iteration at a time.
#include "gpu/kernels/matmul_partition.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace halfulp::gpu {
namespace {

using host::MatmulPartition;
using host::MatmulSegment;
using host::MatmulTile;
using host::MatmulTiles;

struct Sizes {
  int tiles, iterations, programs;
  bool two_tile;
  std::string print() const {
    return std::to_string(tiles) + " tiles of " + std::to_string(iterations) + ", " +
           std::to_string(programs) + " programs" + (two_tile ? ", two_tile" : "");
  }
};

template <class Body>
void for_all_sizes(const Body& body) {
  for (int tiles = 0; tiles <= 21; ++tiles) {
    for (int iterations = 1; iterations <= 9; ++iterations) {
      for (int programs = 1; programs <= tiles * iterations + 3; ++programs) {
        body(Sizes{tiles, iterations, programs, false});
        body(Sizes{tiles, iterations, programs, true});
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

MatmulPartition partition(const Sizes& s) {
  return {s.tiles, s.iterations, s.programs, s.two_tile};
}

// Who computes each iteration of each tile: deals the shared ones out one by one, the first
// programs getting one more, and the whole tiles round robin.
std::vector<std::vector<int>> dealt(const Sizes& s) {
  int shared = s.tiles;
  while (shared >= s.programs) shared -= s.programs;
  if (s.two_tile && shared + s.programs <= s.tiles) shared += s.programs;
  std::vector<int> share(static_cast<std::size_t>(s.programs), 0);
  for (int i = 0; i < shared * s.iterations; ++i) {
    ++share[static_cast<std::size_t>(i % s.programs)];
  }
  std::vector<std::vector<int>> owner(static_cast<std::size_t>(s.tiles));
  int program = 0;
  int taken = 0;
  for (int tile = 0; tile < s.tiles; ++tile) {
    for (int i = 0; i < s.iterations; ++i) {
      while (tile < shared && taken == share[static_cast<std::size_t>(program)]) {
        ++program;
        taken = 0;
      }
      ++taken;
      owner[static_cast<std::size_t>(tile)].push_back(tile < shared ? program
                                                                    : (tile - shared) % s.programs);
    }
  }
  return owner;
}

TEST(MatmulPartition, EveryIterationOfEveryTileOnce) {
  for_all_sizes([](const Sizes& s) {
    const MatmulPartition work = partition(s);
    std::vector<std::vector<int>> owner(
        static_cast<std::size_t>(s.tiles),
        std::vector<int>(static_cast<std::size_t>(s.iterations), -1));
    for (int program = 0; program < s.programs; ++program) {
      for (std::int64_t i = 0; i < work.segments(program); ++i) {
        const MatmulSegment segment = work.segment(program, i);
        ASSERT_TRUE(segment.tile >= 0 && segment.tile < s.tiles) << s.print();
        ASSERT_TRUE(segment.begin >= 0 && segment.begin < segment.end) << s.print();
        ASSERT_LE(segment.end, s.iterations) << s.print();
        for (std::int64_t k = segment.begin; k < segment.end; ++k) {
          int& who = owner[static_cast<std::size_t>(segment.tile)][static_cast<std::size_t>(k)];
          ASSERT_EQ(who, -1) << s.print() << ": tile " << segment.tile << " iteration " << k;
          who = program;
        }
      }
    }
    ASSERT_EQ(owner, dealt(s)) << s.print();
  });
}

TEST(MatmulPartition, ContributorsKnowEachOther) {
  for_all_sizes([](const Sizes& s) {
    const MatmulPartition work = partition(s);
    const std::vector<std::vector<int>> owner = dealt(s);
    for (int program = 0; program < s.programs; ++program) {
      for (std::int64_t i = 0; i < work.segments(program); ++i) {
        const MatmulSegment segment = work.segment(program, i);
        std::vector<int> programs = owner[static_cast<std::size_t>(segment.tile)];
        programs.erase(std::unique(programs.begin(), programs.end()), programs.end());
        const auto count = static_cast<std::int64_t>(programs.size());
        ASSERT_EQ(segment.contributors, count) << s.print() << ": tile " << segment.tile;
        ASSERT_EQ(work.contributors(segment.tile), count) << s.print() << ": tile " << segment.tile;
        ASSERT_EQ(segment.shared(), count > 1) << s.print();
        ASSERT_EQ(segment.program_first, programs.front()) << s.print();
        ASSERT_EQ(programs[static_cast<std::size_t>(segment.order)], program) << s.print();
        ASSERT_EQ(segment.owns_first(), segment.begin == 0) << s.print();
        ASSERT_EQ(segment.owns_last(), segment.end == s.iterations) << s.print();
      }
    }
  });
}

// What the fix-ups rely on: a program that shares a tile with earlier ones does so first of all,
// and one that shares a tile with later ones does so last of the shared tiles.
TEST(MatmulPartition, EndsOfTilesComeFirst) {
  for_all_sizes([](const Sizes& s) {
    const MatmulPartition work = partition(s);
    for (int program = 0; program < s.programs; ++program) {
      for (std::int64_t i = 0; i < work.segments(program); ++i) {
        const MatmulSegment segment = work.segment(program, i);
        ASSERT_TRUE(i == 0 || segment.begin == 0) << s.print() << ": program " << program;
        if (segment.end == s.iterations || i + 1 == work.segments(program)) continue;
        ASSERT_GE(work.segment(program, i + 1).tile, work.streamk_tiles()) << s.print();
      }
    }
  });
}

TEST(MatmulPartition, WorkIsEven) {
  for_all_sizes([](const Sizes& s) {
    const MatmulPartition work = partition(s);
    std::vector<std::int64_t> iterations;
    for (int program = 0; program < s.programs; ++program) {
      iterations.push_back(0);
      for (std::int64_t i = 0; i < work.segments(program); ++i) {
        const MatmulSegment segment = work.segment(program, i);
        iterations.back() += segment.end - segment.begin;
      }
    }
    const auto [least, most] = std::minmax_element(iterations.begin(), iterations.end());
    ASSERT_LE(*most - *least, 1) << s.print();
    const auto idle = std::find(iterations.begin(), iterations.end(), 0);
    ASSERT_EQ(work.programs_used(), idle - iterations.begin()) << s.print();
    ASSERT_EQ(std::count(iterations.begin(), iterations.end(), 0), iterations.end() - idle)
        << s.print() << ": a program in the middle has nothing to do";
  });
}

// systems.md's formulas at sizes beyond the exhaustive range, where products need 64 bits.
TEST(MatmulPartition, LargeSizes) {
  constexpr std::int64_t kTiles = (std::int64_t{1} << 40) + 12345;
  constexpr std::int64_t kIterations = (std::int64_t{1} << 26) + 1;
  const MatmulPartition work(kTiles, kIterations, 65536, true);
  EXPECT_EQ(work.streamk_tiles(), 12345 + 65536);
  EXPECT_EQ(work.segment(0, 0).tile, 0);
  EXPECT_EQ(work.segment(0, 0).begin, 0);
  std::int64_t sum = 0;
  for (std::int64_t program = 0; program < 65536; ++program) {
    for (std::int64_t i = 0; i < 3 && i < work.segments(program); ++i) {
      const MatmulSegment segment = work.segment(program, i);
      if (segment.tile < work.streamk_tiles()) sum += segment.end - segment.begin;
    }
  }
  EXPECT_EQ(sum, (12345 + 65536) * kIterations);
  const MatmulSegment last = work.segment(65535, work.segments(65535) - 1);
  EXPECT_EQ(last.tile, kTiles - 1);
  EXPECT_FALSE(last.shared());
}

// Group by group of rows, down the columns of each group: as two loops that count.
TEST(MatmulPartition, TileOrder) {
  for (int rows = 0; rows <= 9; ++rows) {
    for (int columns = 0; columns <= 7; ++columns) {
      for (int group = 1; group <= 11; ++group) {
        const MatmulTiles tiles{rows, columns, group};
        ASSERT_EQ(tiles.count(), rows * columns);
        int index = 0;
        for (int row0 = 0; row0 < rows; row0 += group) {
          for (int column = 0; column < columns; ++column) {
            for (int row = row0; row < std::min(row0 + group, rows); ++row, ++index) {
              const MatmulTile tile = tiles.at(index);
              ASSERT_TRUE(tile.row == row && tile.column == column)
                  << rows << "x" << columns << " group " << group << " tile " << index;
            }
          }
        }
        ASSERT_EQ(index, tiles.count());
      }
    }
  }
}

TEST(MatmulPartition, GroupOfOneIsRowByRow) {
  const MatmulTiles tiles{5, 7, 1};
  for (std::int64_t index = 0; index < tiles.count(); ++index) {
    EXPECT_EQ(tiles.at(index).row, index / 7);
    EXPECT_EQ(tiles.at(index).column, index % 7);
  }
}

}  // namespace
}  // namespace halfulp::gpu
