// Philox4x32-10 against the known-answer vectors published with Random123 (kat_vectors, philox 4x32
// 10).
#include "properties/philox.hpp"

#include <gtest/gtest.h>

namespace halfulp::properties {
namespace {

TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Philox{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (Philox{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Philox{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, DrawSeparatesItsCoordinates) {
  const Draw base(7, 1, 2, 3, 4);
  EXPECT_NE(base.words, Draw(8, 1, 2, 3, 4).words);
  EXPECT_NE(base.words, Draw(7, 2, 2, 3, 4).words);
  EXPECT_NE(base.words, Draw(7, 1, 3, 2, 4).words);
  EXPECT_NE(base.words, Draw(7, 1, 2, 4, 3).words);
}

TEST(Philox, BelowStaysBelow) {
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const Draw draw(1, 0, i);
    EXPECT_EQ(draw.below(1), 0u);
    EXPECT_LT(draw.below(7), 7u);
  }
}

}  // namespace
}  // namespace halfulp::properties
