// The masks that are compiled into kernels: open keys, classes of tiles and the keys that loops
// visit, for every tile of every mask over all small sizes, against definitions spelt out one pair
// at a time; and the ends of the range of positions.
#include "gpu/kernels/flash_attention_mask.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <string>

namespace halfulp::gpu {
namespace {

using host::CausalMask;
using host::FlashTile;
using host::key_tiles;
using host::KeyRange;
using host::NoMask;
using host::PrefixMask;
using host::TileClass;
using host::WindowMask;

constexpr int kMost = 40;  // queries and keys

// Sums of an open-or-not matrix over all rectangles from its corner on.
class OpenPairs {
 public:
  template <class Open>
  explicit OpenPairs(const Open& open) {
    for (int i = 0; i < kMost; ++i) {
      for (int j = 0; j < kMost; ++j) {
        sums_[at(i + 1, j + 1)] =
            sums_[at(i, j + 1)] + sums_[at(i + 1, j)] - sums_[at(i, j)] + (open(i, j) ? 1 : 0);
      }
    }
  }
  int count(int i0, int i1, int j0, int j1) const {
    return sums_[at(i1, j1)] - sums_[at(i0, j1)] - sums_[at(i1, j0)] + sums_[at(i0, j0)];
  }

 private:
  static std::size_t at(int i, int j) { return static_cast<std::size_t>(i * (kMost + 1) + j); }
  std::array<int, (kMost + 1) * (kMost + 1)> sums_{};
};

TileClass class_of(int open, int pairs) {
  if (open == 0) return TileClass::skipped;
  return open == pairs ? TileClass::full : TileClass::partial;
}

// Empty when right; else what is wrong with the loop of one tile of queries.
template <int kKeys, class Mask>
std::string check_loop(const Mask& mask, const OpenPairs& pairs, int i0, int i1, int keys) {
  const KeyRange seen = key_tiles<kKeys>(mask, i0, i1 - i0, keys);
  const std::string where = " queries " + std::to_string(i0) + " to " + std::to_string(i1) +
                            " of " + std::to_string(keys) + " keys by " + std::to_string(kKeys);
  if (seen.begin < 0 || seen.begin % kKeys != 0 || seen.end > keys) return "bad range" + where;
  for (int j0 = 0; j0 < keys; j0 += kKeys) {
    const int j1 = std::min(j0 + kKeys, keys);
    const int open = pairs.count(i0, i1, j0, j1);
    const bool visited = j0 >= seen.begin && j0 < seen.end;
    if (!visited && open > 0) return "misses key " + std::to_string(j0) + where;
    const TileClass wanted = class_of(open, (i1 - i0) * (j1 - j0));
    if (mask.classify(FlashTile{i0, i1 - i0, j0, j1 - j0}) != wanted) {
      return "wrong class at key " + std::to_string(j0) + where;
    }
  }
  // No run of skipped tiles at either end is walked through.
  if (seen.begin < seen.end) {
    const auto begin = static_cast<int>(seen.begin);
    const auto last = static_cast<int>((seen.end - 1) / kKeys * kKeys);
    if (pairs.count(i0, i1, begin, std::min(begin + kKeys, keys)) == 0)
      return "begins early" + where;
    if (pairs.count(i0, i1, last, std::min(last + kKeys, keys)) == 0) return "ends late" + where;
  }
  return {};
}

template <class Mask>
void check_mask(const Mask& mask, const std::function<bool(int, int)>& open, int queries,
                int keys) {
  const OpenPairs pairs(open);
  for (int i = 0; i < queries; ++i) {
    for (int j = 0; j < keys; ++j) ASSERT_EQ(mask.open(i, j), open(i, j)) << i << " " << j;
  }
  for (const int rows : {1, 2, 5, 8, 16, 64}) {
    for (int i0 = 0; i0 < queries; i0 += rows) {
      const int i1 = std::min(i0 + rows, queries);
      ASSERT_EQ(check_loop<1>(mask, pairs, i0, i1, keys), "");
      ASSERT_EQ(check_loop<3>(mask, pairs, i0, i1, keys), "");
      ASSERT_EQ(check_loop<4>(mask, pairs, i0, i1, keys), "");
      ASSERT_EQ(check_loop<16>(mask, pairs, i0, i1, keys), "");
      ASSERT_EQ(check_loop<64>(mask, pairs, i0, i1, keys), "");
    }
  }
}

template <class Body>
void for_all_sizes(const Body& body) {
  for (int queries = 0; queries <= kMost; ++queries) {
    for (int keys = 0; keys <= kMost; ++keys) {
      SCOPED_TRACE(std::to_string(queries) + " queries, " + std::to_string(keys) + " keys");
      body(queries, keys);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(FlashAttentionMask, NoneOpensEverything) {
  for_all_sizes([](int queries, int keys) {
    check_mask(
        NoMask{}, [](int, int) { return true; }, queries, keys);
  });
}

TEST(FlashAttentionMask, CausalAtTheTopLeftAndAtTheBottomRight) {
  for_all_sizes([](int queries, int keys) {
    check_mask(
        CausalMask{0}, [](int i, int j) { return j <= i; }, queries, keys);
    // The last query sees the last key.
    check_mask(
        CausalMask{keys - queries}, [=](int i, int j) { return keys - 1 - j >= queries - 1 - i; },
        queries, keys);
  });
}

TEST(FlashAttentionMask, CausalWithAnyShift) {
  for (const int shift : {-41, -40, -17, -3, -1, 1, 2, 16, 39, 40, 41}) {
    for (const int queries : {1, 7, 40}) {
      for (const int keys : {1, 9, 40}) {
        check_mask(
            CausalMask{shift}, [=](int i, int j) { return j - i <= shift; }, queries, keys);
      }
    }
  }
}

TEST(FlashAttentionMask, PrefixIsCausalAndASquare) {
  for (const int prefix : {0, 1, 2, 5, 15, 16, 17, 39, 40, 41, 1000}) {
    SCOPED_TRACE(prefix);
    for_all_sizes([=](int queries, int keys) {
      if (queries % 3 == 2 || keys % 3 == 2) return;
      check_mask(
          PrefixMask{prefix}, [=](int i, int j) { return std::max(i, j) < prefix || i >= j; },
          queries, keys);
    });
  }
}

TEST(FlashAttentionMask, WindowsIncludeBothEnds) {
  constexpr int kSides[][2] = {{0, 0},  {1, 0},  {0, 1},   {2, 3},         {16, 15},
                               {40, 0}, {0, 40}, {100, 0}, {INT32_MAX, 2}, {1, INT32_MAX}};
  for (const auto& side : kSides) {
    SCOPED_TRACE(std::to_string(side[0]) + " " + std::to_string(side[1]));
    const std::int64_t left = side[0];
    const std::int64_t right = side[1];
    for_all_sizes([=](int queries, int keys) {
      if (queries % 3 == 2 || keys % 3 == 1) return;
      const int shift = keys - queries;
      check_mask(
          WindowMask{shift, side[0], side[1]},
          [=](int i, int j) { return j >= i + shift - left && j <= i + shift + right; }, queries,
          keys);
    });
  }
}

// Queries and keys as many as there may be, and a tile past the last.
TEST(FlashAttentionMask, PositionsReachToTheEndOf32Bits) {
  constexpr auto kLargest = static_cast<std::int32_t>(kFlashSizeMost);
  constexpr std::int32_t kPast = 4095;
  for (const std::int32_t queries : {1, 2, 1000, kLargest / 2, kLargest}) {
    for (const std::int32_t keys : {1, 2, 1000, kLargest / 2, kLargest}) {
      const std::int32_t shift = keys - queries;
      for (const std::int32_t i : {0, queries / 2, queries - 1, queries + kPast}) {
        for (const std::int32_t j : {0, keys / 2, keys - 1, keys + kPast}) {
          const std::int64_t apart = std::int64_t{j} - i - shift;
          EXPECT_EQ((CausalMask{shift}.open(i, j)), apart <= 0);
          for (const std::int32_t side : {0, 1, 4097, kLargest, INT32_MAX}) {
            EXPECT_EQ((WindowMask{shift, side, 0}.open(i, j)), apart <= 0 && apart >= -side);
            EXPECT_EQ((WindowMask{shift, 0, side}.open(i, j)), apart >= 0 && apart <= side);
            EXPECT_EQ((PrefixMask{side}.open(i, j)), j <= i || (i < side && j < side));
          }
        }
      }
    }
  }
}

TEST(FlashAttentionMask, IsTheOneThatTheArgumentsName) {
  FlashAttention g;
  g.queries = 7;
  g.keys = 4;
  g.prefix = 3;
  g.window_left = 1;
  g.window_right = 2;
  const auto closed = [&g](KeyMask mask) {
    g.mask = mask;
    std::string text;
    host::with_key_mask(g, [&text](const auto& functor) {
      for (int i = 0; i < 7; ++i) {
        for (int j = 0; j < 4; ++j) text += functor.open(i, j) ? '1' : '0';
        text += ' ';
      }
    });
    return text;
  };
  EXPECT_EQ(closed(KeyMask::none), "1111 1111 1111 1111 1111 1111 1111 ");
  EXPECT_EQ(closed(KeyMask::causal_top_left), "1000 1100 1110 1111 1111 1111 1111 ");
  EXPECT_EQ(closed(KeyMask::causal_bottom_right), "0000 0000 0000 1000 1100 1110 1111 ");
  EXPECT_EQ(closed(KeyMask::prefix_lm), "1110 1110 1110 1111 1111 1111 1111 ");
  EXPECT_EQ(closed(KeyMask::window), "0000 1000 1100 1110 1111 0111 0011 ");
}

}  // namespace
}  // namespace halfulp::gpu
