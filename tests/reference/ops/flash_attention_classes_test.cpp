// NaN, infinities and overflow in flash_attention: what every legal kernel gives is stated as a
// class with bound 0, and what depends on the kernel is left open (an infinite bound).
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/reference/ops/flash_attention_simulated.hpp"
#include "tests/reference/ops/judge.hpp"

namespace halfulp::reference::simulated {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

// Two queries, three keys, two channels: q = 1, k_j = j / 4, v_j = j + 1 and -(j + 1); key 2 is
// closed to query 1.
struct Triple : FlashData {
  explicit Triple(Format input = Format::fp32) : FlashData({1, 1, 2, 3, 2}, input) {
    for (std::int64_t d = 0; d < 2; ++d) {
      for (std::int64_t i = 0; i < 2; ++i) set(op.q, 0, i, d, 1);
      for (std::int64_t j = 0; j < 3; ++j) {
        set(op.k, 0, j, d, static_cast<double>(j) / 4);
        set(op.v, 0, j, d, static_cast<double>(d == 0 ? j + 1 : -j - 1));
      }
    }
    Generator generator(1);
    set_mask(FlashMask::closed, generator);
    mask.assign(mask.size(), 0);
    mask_at(0, 1, 2) = -std::numeric_limits<float>::infinity();
    op.arithmetic.output = input;
  }
};

// "nan", "inf", "-inf", "open", or "" for an ordinary answer, of channel d of query i.
std::string kind(const FlashAttention& op, std::int64_t i, std::int64_t d) {
  const Judged all = judged(op, 0, 4);
  const auto at = static_cast<std::size_t>(2 * i + d);
  double sum = 0;
  for (const BoundTerm& term : explain(op, {0, 2 * i + d})) sum += term.amount;
  if (std::isinf(all.bound[at])) {
    EXPECT_EQ(sum, kInfinity);
    return "open";
  }
  EXPECT_LE(std::abs(sum - all.bound[at]), 0x1p-40 * all.bound[at]);
  EXPECT_TRUE(agree(all.value[at], all.error[at], exact(op, {0, 2 * i + d})));
  if (std::isnan(all.value[at])) return all.bound[at] == 0 ? "nan" : "?";
  if (std::isinf(all.value[at]))
    return all.bound[at] > 0 ? "?" : all.value[at] > 0 ? "inf" : "-inf";
  return "";
}
// All four elements.
std::string kinds(const FlashAttention& op) {
  return kind(op, 0, 0) + "," + kind(op, 0, 1) + "," + kind(op, 1, 0) + "," + kind(op, 1, 1);
}

TEST(FlashAttentionClasses, OrdinaryDataAreOrdinary) { EXPECT_EQ(kinds(Triple().op), ",,,"); }

TEST(FlashAttentionClasses, NanInAQuery) {
  Triple data;
  data.set(data.op.q, 0, 0, 1, kNan);
  EXPECT_EQ(kinds(data.op), "nan,nan,,");
}

TEST(FlashAttentionClasses, NanInAKey) {
  Triple data;
  data.set(data.op.k, 0, 1, 0, kNan);
  EXPECT_EQ(kinds(data.op), "nan,nan,nan,nan");
  Triple closed;
  closed.set(closed.op.k, 0, 2, 0, kNan);
  EXPECT_EQ(kinds(closed.op), "nan,nan,open,open");
  closed.op.arithmetic.masked_nan_ignored = true;
  EXPECT_EQ(kinds(closed.op), "nan,nan,,");
}

TEST(FlashAttentionClasses, NanInAValue) {
  Triple data;
  data.set(data.op.v, 0, 1, 0, kNan);
  EXPECT_EQ(kinds(data.op), "nan,,nan,");
  Triple closed;
  closed.set(closed.op.v, 0, 2, 0, kNan);
  EXPECT_EQ(kinds(closed.op), "nan,,open,");
  closed.op.arithmetic.masked_nan_ignored = true;
  EXPECT_EQ(kinds(closed.op), "nan,,,");
  EXPECT_GT(judged(closed.op, 0, 4).value[2], 1);
}

// 0 * NaN is NaN, but 0 * infinity too: whether a weight is 0 decides.
TEST(FlashAttentionClasses, ValuesOfNegligibleKeys) {
  for (const auto& [value, expected] : {std::pair{kNan, "nan"}, std::pair{kInfinity, "open"}}) {
    Triple data;
    data.mask_at(0, 0, 1) = -300;
    data.set(data.op.v, 0, 1, 0, value);
    EXPECT_EQ(kind(data.op, 0, 0), expected);
  }
  Triple half(Format::fp16);
  half.op.arithmetic.weight = Format::fp16;
  half.mask_at(0, 0, 1) = -17;  // e^-17 is below the smallest half
  half.set(half.op.v, 0, 1, 0, kInfinity);
  EXPECT_EQ(kind(half.op, 0, 0), "open");
  half.op.arithmetic.weight = Format::fp32;
  EXPECT_EQ(kind(half.op, 0, 0), "inf");
}

TEST(FlashAttentionClasses, InfinitiesInValues) {
  Triple data;
  data.set(data.op.v, 0, 1, 0, -kInfinity);
  EXPECT_EQ(kinds(data.op), "-inf,,-inf,");
  data.set(data.op.v, 0, 0, 0, kInfinity);
  EXPECT_EQ(kinds(data.op), "nan,,nan,");
  Triple closed;
  closed.set(closed.op.v, 0, 2, 1, kInfinity);
  EXPECT_EQ(kinds(closed.op), ",inf,,open");
}

TEST(FlashAttentionClasses, InfiniteScores) {
  Triple data;
  data.set(data.op.k, 0, 0, 0, kInfinity);
  EXPECT_EQ(kinds(data.op), "nan,nan,nan,nan");  // infinity - infinity
  data.set(data.op.k, 0, 0, 0, -kInfinity);
  EXPECT_EQ(kinds(data.op), ",,,");  // a weight of 0
  data.set(data.op.v, 0, 0, 0, kNan);
  EXPECT_EQ(kinds(data.op), "open,,open,");
  Triple both;
  both.set(both.op.k, 0, 0, 0, kInfinity);
  both.set(both.op.k, 0, 0, 1, -kInfinity);
  EXPECT_EQ(kinds(both.op), "nan,nan,nan,nan");
  Triple query;
  query.set(query.op.q, 0, 0, 0, -kInfinity);  // key 0 is 0: NaN
  EXPECT_EQ(kinds(query.op), "nan,nan,,");
  Triple all;
  for (std::int64_t j = 0; j < 3; ++j) all.set(all.op.k, 0, j, 0, -kInfinity);
  EXPECT_EQ(kinds(all.op), "open,open,open,open");
}

// A negative scale turns infinite products into scores of the other sign.
TEST(FlashAttentionClasses, InfiniteScoresOfANegativeScale) {
  Triple data;
  data.op.scale = -0.5;
  data.set(data.op.k, 0, 0, 0, kInfinity);
  EXPECT_EQ(kinds(data.op), ",,,");  // a weight of 0
  data.set(data.op.v, 0, 0, 0, kNan);
  EXPECT_EQ(kinds(data.op), "open,,open,");
  Triple above;
  above.op.scale = -0.5;
  above.set(above.op.k, 0, 0, 0, -kInfinity);
  EXPECT_EQ(kinds(above.op), "nan,nan,nan,nan");
}

TEST(FlashAttentionClasses, Masks) {
  Triple data;
  data.mask_at(0, 0, 1) = std::nanf("");
  data.mask_at(0, 1, 0) = std::numeric_limits<float>::infinity();
  EXPECT_EQ(kinds(data.op), "nan,nan,nan,nan");
  Triple large;  // not masked: its values' mean, somehow
  for (std::int64_t j = 0; j < 3; ++j) large.mask_at(0, 0, j) = -std::numeric_limits<float>::max();
  EXPECT_EQ(kinds(large.op), ",,,");
  EXPECT_LE(judged(large.op, 0, 1).bound[0], 2);
  EXPECT_EQ(judged(large.op, 0, 1).error[0] < 1e-6, true);
}

TEST(FlashAttentionClasses, MaskedRowsOfSpecialData) {
  Triple data;
  for (std::int64_t j = 0; j < 3; ++j) {
    data.mask_at(0, 0, j) = -std::numeric_limits<float>::infinity();
  }
  EXPECT_EQ(kinds(data.op), ",,,");
  data.set(data.op.v, 0, 0, 0, kNan);
  EXPECT_EQ(kinds(data.op), "open,,nan,");
  data.set(data.op.q, 0, 0, 0, kNan);
  EXPECT_EQ(kind(data.op, 0, 1), "open");
  data.op.arithmetic.masked_nan_ignored = true;
  EXPECT_EQ(kinds(data.op), ",,nan,");
}

TEST(FlashAttentionClasses, Overflow) {
  Triple scores;
  scores.set(scores.op.q, 0, 0, 0, 3e38);
  scores.set(scores.op.k, 0, 1, 0, 2);
  EXPECT_EQ(kind(scores.op, 0, 0), "open");
  EXPECT_EQ(kind(scores.op, 1, 0), "");
  Triple closed;  // infinity - infinity
  closed.set(closed.op.q, 0, 1, 0, 3e38);
  closed.set(closed.op.k, 0, 2, 0, 2);
  closed.set(closed.op.k, 0, 1, 0, 0);
  EXPECT_EQ(kind(closed.op, 1, 0), "open");
  closed.op.arithmetic.masked_nan_ignored = true;
  EXPECT_EQ(kind(closed.op, 1, 0), "");
  // A score beyond all numbers of a closed key, of either sign of the scale.
  Triple scaled;
  scaled.set(scaled.op.q, 0, 1, 0, 1e36);
  scaled.set(scaled.op.k, 0, 2, 0, 2);
  for (std::int64_t j = 0; j < 2; ++j) scaled.set(scaled.op.k, 0, j, 0, 0);
  for (const double scale : {1.0, -1.0}) {
    scaled.op.scale = scale;
    EXPECT_EQ(kind(scaled.op, 1, 0), "") << scale;
  }
  for (const double scale : {1000.0, -1000.0}) {
    scaled.op.scale = scale;
    EXPECT_EQ(kind(scaled.op, 1, 0), "open") << scale;
  }
  Triple sums;
  for (std::int64_t j = 0; j < 3; ++j) sums.set(sums.op.v, 0, j, 0, 2e38);
  EXPECT_EQ(kinds(sums.op), "open,,open,");
  // Early sums of keys that a later maximum leaves next to nothing.
  Triple early;
  for (std::int64_t j = 0; j < 2; ++j) early.set(early.op.v, 0, j, 0, 3e38);
  for (std::int64_t j = 0; j < 2; ++j) early.mask_at(0, 0, j) = -40;
  EXPECT_EQ(kind(early.op, 0, 0), "");
  early.op.arithmetic.rescales = 1;
  EXPECT_EQ(kind(early.op, 0, 0), "open");
}

// Large maxima are lost in rounding where they are multiplied by log2 e.
TEST(FlashAttentionClasses, LargeScoresWhereLog2eComesFirst) {
  Triple data;
  for (std::int64_t j = 0; j < 3; ++j) data.mask_at(0, 0, j) = -1e8f;
  EXPECT_EQ(kinds(data.op), ",,,");
  data.op.arithmetic.exponential.base_2 = true;
  EXPECT_EQ(kinds(data.op), ",,,");
  data.op.arithmetic.exponential.log2e_first = true;
  EXPECT_EQ(kinds(data.op), "open,open,,");
}

}  // namespace
}  // namespace halfulp::reference::simulated
