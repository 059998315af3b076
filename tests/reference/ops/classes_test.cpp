// NaN, infinities and overflow in graph attention and scatter_normalize: what every legal kernel
// gives is stated as a class with bound 0, and what depends on order is left open (an infinite
// bound).
#include <gtest/gtest.h>

#include <cmath>

#include "tests/reference/ops/judge.hpp"
#include "tests/reference/ops/simulated.hpp"

namespace halfulp::reference::simulated {
namespace {

const float kNan = std::nanf("");
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// One node 0 with edges from nodes 1 and 2, dim 4, one head; every factor is 1, v of node n is n.
struct Pair {
  AttentionData data;
  Pair() {
    Generator generator(1);
    data = attention_data({4, 2, 1, 4}, Fill::normal, generator);
    for (auto* operand : {&data.q, &data.k, &data.e}) operand->assign(operand->size(), 1);
    for (std::size_t i = 0; i < data.v.size(); ++i) data.v[i] = static_cast<float>(i / 4);
    data.source = {1, 2};
    data.destination = {0, 0};
  }
  GraphAttention& op() { return data.op; }
};

struct Given {
  double value, bound;
};
Given given(const GraphAttention& op, int output, std::int64_t index) {
  const Judged all = judged(op, output, index + 1);
  const std::size_t at = static_cast<std::size_t>(index);
  const Enclosure truth = exact(op, {output, index});
  if (!std::isinf(all.bound[at])) {
    EXPECT_TRUE(agree(all.value[at], all.error[at], truth))
        << all.value[at] << " against " << truth.lo << " .. " << truth.hi;
  }
  double sum = 0;
  for (const BoundTerm& term : explain(op, {output, index})) sum += term.amount;
  if (std::isinf(all.bound[at]) || std::isnan(all.value[at])) {
    EXPECT_EQ(sum, all.bound[at]);
  }
  return {all.value[at], all.bound[at]};
}
testing::AssertionResult is_nan(const Given& answer) {
  if (std::isnan(answer.value) && answer.bound == 0) return testing::AssertionSuccess();
  return testing::AssertionFailure() << answer.value << " bound " << answer.bound;
}
testing::AssertionResult is_exactly(const Given& answer, double value) {
  if (answer.value == value && answer.bound == 0) return testing::AssertionSuccess();
  return testing::AssertionFailure() << answer.value << " bound " << answer.bound;
}
testing::AssertionResult is_open(const Given& answer) {
  if (std::isinf(answer.bound)) return testing::AssertionSuccess();
  return testing::AssertionFailure() << answer.value << " bound " << answer.bound;
}
testing::AssertionResult is_ordinary(const Given& answer) {
  if (std::isfinite(answer.value) && answer.bound < 1e-5) return testing::AssertionSuccess();
  return testing::AssertionFailure() << answer.value << " bound " << answer.bound;
}

TEST(Classes, NanInAKeyReachesItsEdgeAndTheWholeHead) {
  Pair pair;
  pair.data.k[1 * 4 + 2] = kNan;
  EXPECT_TRUE(is_ordinary(given(pair.op(), 1, 0)));
  EXPECT_TRUE(is_nan(given(pair.op(), 1, 2)));
  EXPECT_TRUE(is_ordinary(given(pair.op(), 1, 6)));
  for (int d = 0; d < 4; ++d) EXPECT_TRUE(is_nan(given(pair.op(), 0, d)));
  EXPECT_TRUE(is_exactly(given(pair.op(), 0, 4), 0));  // another node
}

TEST(Classes, ClampMaySwallowNan) {
  Pair pair;
  pair.data.k[1 * 4 + 2] = kNan;
  pair.op().arithmetic.clamp_nan = ClampNan::to_low;
  EXPECT_TRUE(is_exactly(given(pair.op(), 1, 2), -5));
  EXPECT_TRUE(is_ordinary(given(pair.op(), 0, 0)));
  pair.op().arithmetic.clamp_nan = ClampNan::to_high;
  EXPECT_TRUE(is_exactly(given(pair.op(), 1, 2), 5));
  pair.op().arithmetic.clamp_nan = ClampNan::any;
  EXPECT_TRUE(is_open(given(pair.op(), 1, 2)));
  EXPECT_TRUE(is_ordinary(given(pair.op(), 1, 1)));
  EXPECT_TRUE(is_open(given(pair.op(), 0, 0)));
}

TEST(Classes, InfiniteFactors) {
  Pair pair;
  pair.data.k[1 * 4 + 2] = -kInfinity;  // clamps
  EXPECT_TRUE(is_exactly(given(pair.op(), 1, 2), -5));
  EXPECT_TRUE(is_ordinary(given(pair.op(), 0, 1)));
  pair.data.q[2] = 0;  // 0 * infinity
  EXPECT_TRUE(is_nan(given(pair.op(), 1, 2)));
  EXPECT_TRUE(is_nan(given(pair.op(), 0, 1)));
  pair.data.q[2] = 0x1p-149f;  // lost when it is scaled first
  EXPECT_TRUE(is_open(given(pair.op(), 1, 2)));
  EXPECT_TRUE(is_open(given(pair.op(), 0, 1)));
}

TEST(Classes, InfiniteEdges) {
  Pair pair;
  pair.data.e[2] = kInfinity;  // the logit is infinite, and clamps
  EXPECT_TRUE(is_exactly(given(pair.op(), 1, 2), kInfinity));
  EXPECT_TRUE(is_ordinary(given(pair.op(), 0, 1)));
  pair.data.e[1] = -kInfinity;  // infinity - infinity
  EXPECT_TRUE(is_nan(given(pair.op(), 0, 1)));
  pair.data.e[1] = -3e38f;
  pair.data.e[0] = -3e38f;  // these may overflow together before they meet the infinity
  EXPECT_TRUE(is_open(given(pair.op(), 0, 1)));
  pair.data.e[0] = pair.data.e[1] = 1;
  pair.data.q[2] = 0;
  EXPECT_TRUE(is_nan(given(pair.op(), 1, 2)));
}

TEST(Classes, ValuesReachTheirChannelOnly) {
  Pair pair;
  pair.data.v[1 * 4 + 1] = kInfinity;
  EXPECT_TRUE(is_ordinary(given(pair.op(), 0, 0)));
  EXPECT_TRUE(is_exactly(given(pair.op(), 0, 1), kInfinity));
  pair.data.v[2 * 4 + 1] = -kInfinity;
  EXPECT_TRUE(is_nan(given(pair.op(), 0, 1)));
  pair.data.v[2 * 4 + 1] = kNan;
  EXPECT_TRUE(is_nan(given(pair.op(), 0, 1)));
  pair.data.v[2 * 4 + 1] = -3e38f;  // may overflow against the infinity
  EXPECT_TRUE(is_open(given(pair.op(), 0, 1)));
  EXPECT_TRUE(is_ordinary(given(pair.op(), 0, 2)));
}

TEST(Classes, OverflowOfTheNumeratorIsOpen) {
  Pair pair;
  pair.data.v[1 * 4 + 3] = 3e38f;
  pair.data.v[2 * 4 + 3] = 3e38f;
  EXPECT_TRUE(is_open(given(pair.op(), 0, 3)));
  EXPECT_TRUE(is_ordinary(given(pair.op(), 0, 2)));
}

TEST(Classes, OverflowInsideALogit) {
  Pair pair;
  for (std::size_t d = 0; d < 4; ++d)
    pair.data.e[d] = 3e38f;  // +infinity in every order, and clamps
  const Given out = given(pair.op(), 0, 1);
  EXPECT_LT(out.bound, 1e-5);
  pair.data.e[2] = pair.data.e[3] = -3e38f;  // infinity - infinity in some orders
  for (std::size_t d = 0; d < 4; ++d) pair.data.q[d] = 10;
  EXPECT_TRUE(is_open(given(pair.op(), 0, 1)));
}

TEST(Classes, HopelessCancellationIsNoFalseAlarm) {
  Pair pair;
  pair.data.e = {1e20f, 1, -1e20f, 0.5f, 1, 1, 1, 1};
  const Given out = given(pair.op(), 0, 1);  // 1 and 2 in unknown proportion
  EXPECT_TRUE(std::isinf(out.bound) || out.bound > 0.1);
}

ScatterData scatter(std::vector<float> values, std::vector<float> scores) {
  Generator generator(1);
  ScatterData data = scatter_data({2, std::ssize(values), 1, 1}, Fill::normal, generator);
  data.values = std::move(values);
  data.scores = std::move(scores);
  for (std::int32_t& to : data.destination) to = 0;
  data.op.values = view_of(data.values, data.op.edges, 1, 1);
  data.op.scores = view_of(data.scores, data.op.edges, 1, 1);
  return data;
}
Given given(const ScatterData& data) {
  const Judged all = judged(data.op, 0, 2);
  const Enclosure truth = exact(data.op, {0, 0});
  if (!std::isinf(all.bound[0])) {
    EXPECT_TRUE(agree(all.value[0], all.error[0], truth));
  }
  EXPECT_EQ(all.value[1], 0);
  EXPECT_EQ(all.bound[1], 0);
  return {all.value[0], all.bound[0]};
}

TEST(ScatterClasses, NanAndInfinity) {
  EXPECT_TRUE(is_nan(given(scatter({1, kNan}, {1, 1}))));
  EXPECT_TRUE(is_nan(given(scatter({1, 1}, {1, kNan}))));
  EXPECT_TRUE(is_exactly(given(scatter({1, kInfinity}, {1, 1})), kInfinity));
  EXPECT_TRUE(is_exactly(given(scatter({1, kInfinity}, {-1, -1})), -kInfinity));
  EXPECT_TRUE(is_exactly(given(scatter({1, 1}, {kInfinity, 1})), 0));
  EXPECT_TRUE(is_nan(given(scatter({kInfinity, 1}, {kInfinity, 1}))));
  EXPECT_TRUE(is_nan(given(scatter({kInfinity, -kInfinity}, {1, 1}))));
  EXPECT_TRUE(is_nan(given(scatter({1, 1}, {kInfinity, -kInfinity}))));
}

TEST(ScatterClasses, OverflowIsOpen) {
  EXPECT_TRUE(is_open(given(scatter({3e38f, 3e38f, -3e38f}, {1, 1, 1}))));
  EXPECT_TRUE(is_open(given(scatter({1, 1, 1}, {3e38f, 3e38f, -3e38f}))));
  EXPECT_TRUE(is_open(given(scatter({kInfinity, -3e38f, -3e38f}, {1, 1, 1}))));
  EXPECT_TRUE(is_open(given(scatter({1, 1, 1}, {kInfinity, -3e38f, -3e38f}))));
  EXPECT_TRUE(is_open(given(scatter({kInfinity, 1}, {64, -64}))));
}

TEST(ScatterClasses, ReciprocalsOutOfRangeAreOpen) {
  ScatterData data = scatter({1, 1}, {0x1p127f, 1});
  EXPECT_FALSE(is_open(given(data)));
  data.op.arithmetic.division_roundings = 2.01;
  EXPECT_TRUE(is_open(given(data)));
}

}  // namespace
}  // namespace halfulp::reference::simulated
