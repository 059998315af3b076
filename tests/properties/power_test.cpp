// Power: each impostor on outputs that it passes and on outputs that it does not.
#include "properties/power.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace halfulp::properties {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kNaN = std::numeric_limits<double>::quiet_NaN();

std::string lacking(const std::vector<Expected>& elements) {
  Power power;
  for (const Expected& element : elements) power.see(element);
  return power.lacking();
}

TEST(Power, TightBoundsHavePower) {
  EXPECT_EQ(lacking({{1, 0, 0.1}, {-2, 0, 0.1}, {3, 0, 0.1}}), "");
}

TEST(Power, ZerosPassWideBounds) {
  EXPECT_EQ(lacking({{1, 0, 1}, {-2, 0, 2.5}}), "zeros would pass");
  EXPECT_EQ(lacking({{1, 0.5, 0.5}, {-2, 0, 2.5}}), "zeros would pass");
  EXPECT_EQ(lacking({{1, 0, 0.99}, {-2, 0, 1.9}}), "");  // one element is enough
}

TEST(Power, OneConstantPassesWhereIntervalsMeet) {
  EXPECT_EQ(lacking({{1, 0, 0.6}, {2, 0, 0.6}}), "a constant would pass");
  EXPECT_EQ(lacking({{1, 0, 0.4}, {2, 0, 0.4}}), "");
}

TEST(Power, NoiseInRangePassesWhereNeighboursAreAccepted) {
  // Each element accepts the one before it, no constant suits 1 and 4 both.
  EXPECT_EQ(lacking({{1, 0, 0.5}, {2, 0, 1.1}, {3, 0, 1.1}, {4, 0, 1.1}}),
            "noise in range would pass");
  EXPECT_EQ(lacking({{1, 0, 0.5}, {2, 0, 1.1}, {3, 0, 0.9}, {4, 0, 1.1}}), "");
}

TEST(Power, ImpostorsThatAreRightDoNotCount) {
  EXPECT_EQ(lacking({{0, 0, 0}, {0, 0, 0}}), "");  // zeros are the answer
  EXPECT_EQ(lacking({{3, 0, 0}, {3, 0, 0}}), "");  // so is a constant
  EXPECT_EQ(lacking({{1, 0, 1e-3}, {1.0005, 0, 1e-3}}),
            "");                          // nearly a constant, to a part in 2000
  EXPECT_EQ(lacking({{5, 0, 0.1}}), "");  // one element
  EXPECT_EQ(lacking({}), "");             // nothing to write
}

TEST(Power, ClassesHavePower) {
  EXPECT_EQ(lacking({{1, 0, 2}, {kNaN, 0, 0}}), "");
  EXPECT_EQ(lacking({{1, 0, 2}, {kInfinity, 0, 0}}), "");
}

TEST(Power, UnboundedElementsHaveNone) {
  EXPECT_EQ(lacking({{1, 0, kInfinity}, {0, 0, kInfinity}}), "no element has a bound");
  EXPECT_EQ(lacking({{1, 0, kInfinity}, {2, 0, 0.1}}), "");
  EXPECT_EQ(lacking({{1, 0, kInfinity}, {2, 0, 2.1}}), "zeros would pass");
  Power power;
  power.see({1, 0, kInfinity});
  power.see({2, 0, 0.1});
  EXPECT_EQ(power.unbounded(), 1);
  EXPECT_EQ(power.elements(), 2);
}

}  // namespace
}  // namespace halfulp::properties
