// What special values do to the fp32 kernels of flash_attention, each at one place of an operand:
// where they show, and where they do not.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "tests/gpu/flash_attention_problems.hpp"

namespace halfulp::gpu {
namespace {

using test::FlashLayout;
using test::FlashMaskLayout;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr std::int64_t kQueries = 5;
constexpr std::int64_t kKeys = 70;  // more than a tile
constexpr std::int64_t kDim = 8;

Problem problem(FlashMaskLayout mask = FlashMaskLayout::absent) {
  return test::flash_attention({1, 1, kQueries, kKeys, kDim}, Format::f32, FlashLayout::contiguous,
                               {mask, false}, {});
}

void set(Problem& p, std::string_view name, std::int64_t row, std::int64_t column, float value) {
  for (Operand& each : p.operands) {
    if (each.name != name) continue;
    const std::int64_t index = row * each.stride[2] + column * each.stride[3];
    std::memcpy(each.storage.data() + index * 4, &value, sizeof value);
  }
}

class FlashAttentionValues : public testing::TestWithParam<const char*> {
 protected:
  // The output, row by row.
  std::vector<float> output(const Problem& p) {
    const Kernel* kernel = find_kernel("flash_attention", GetParam());
    const Outcome outcome = run(*kernel, Backend::host_checked, p, {});
    EXPECT_EQ(outcome.fault.kind, FaultKind::none) << outcome.fault.text;
    std::vector<float> values(kQueries * kDim);
    std::memcpy(values.data(), outcome.outputs.at(0).at(0).data(), values.size() * 4);
    return values;
  }
};

TEST_P(FlashAttentionValues, NanInAQueryShowsInItsRowAlone) {
  Problem p = problem();
  const std::vector<float> before = output(p);
  set(p, "q", 2, 3, kNan);
  const std::vector<float> after = output(p);
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (i / kDim == 2) {
      EXPECT_TRUE(std::isnan(after[i])) << i;
    } else {
      EXPECT_EQ(after[i], before[i]) << i;
    }
  }
}

TEST_P(FlashAttentionValues, NanInAnOpenKeyShowsEverywhere) {
  for (const std::int64_t key : {std::int64_t{0}, std::int64_t{31}, kKeys - 1}) {
    Problem p = problem();
    set(p, "k", key, 7, kNan);
    for (const float x : output(p)) EXPECT_TRUE(std::isnan(x)) << key;
  }
}

TEST_P(FlashAttentionValues, NanAndInfinityInAnOpenValueShowInTheirChannel) {
  for (const std::int64_t key : {std::int64_t{1}, kKeys - 1}) {
    for (const float special : {kNan, kInfinity, -kInfinity}) {
      Problem p = problem();
      const std::vector<float> before = output(p);
      set(p, "v", key, 4, special);
      const std::vector<float> after = output(p);
      for (std::size_t i = 0; i < after.size(); ++i) {
        if (i % kDim != 4) {
          EXPECT_EQ(after[i], before[i]) << i;
        } else if (std::isnan(special)) {
          EXPECT_TRUE(std::isnan(after[i])) << i;
        } else {
          EXPECT_EQ(after[i], special) << i;
        }
      }
    }
  }
}

// A key with -inf in its mask has no part in the answer: the same bits whatever is in it.
TEST_P(FlashAttentionValues, ClosedKeysDoNotShow) {
  for (const std::int64_t key : {std::int64_t{0}, std::int64_t{40}, kKeys - 1}) {
    Problem p = problem(FlashMaskLayout::dense);
    for (std::int64_t i = 0; i < kQueries; ++i) set(p, "mask", i, key, -kInfinity);
    const std::vector<float> before = output(p);
    for (std::int64_t d = 0; d < kDim; ++d) {
      set(p, "k", key, d, 1e10f);
      set(p, "v", key, d, -1e30f);
    }
    EXPECT_EQ(output(p), before) << key;
  }
}

// Maxima that grow at every tile, then none that does; one key so far ahead that it is the answer.
TEST_P(FlashAttentionValues, FollowsAGrowingAndAFallingMaximum) {
  for (const bool grows : {true, false}) {
    Problem p = problem();
    for (std::int64_t j = 0; j < kKeys; ++j) {
      for (std::int64_t d = 0; d < kDim; ++d) {
        set(p, "k", j, d, d == 0 ? static_cast<float>(grows ? j : kKeys - 1 - j) / 4 : 0.0f);
      }
    }
    for (std::int64_t i = 0; i < kQueries; ++i) set(p, "q", i, 0, 2.0f);
    const Kernel* kernel = find_kernel("flash_attention", GetParam());
    const Outcome outcome = run(*kernel, Backend::host, p, {});
    EXPECT_EQ(test::first_wrong_attention(p, outcome.outputs.at(0)), "");
    for (std::int64_t i = 0; i < kQueries; ++i) set(p, "q", i, 0, 4096.0f);
    const std::vector<float> values = output(p);
    const std::int64_t ahead = grows ? kKeys - 1 : 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      float wanted = 0;
      const std::size_t index =
          static_cast<std::size_t>(ahead * kDim) + i % static_cast<std::size_t>(kDim);
      std::memcpy(&wanted, p.operand("v").storage.data() + index * 4, sizeof wanted);
      EXPECT_EQ(values[i], wanted) << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, FlashAttentionValues, testing::Values("naive", "online_f32"),
                         [](const auto& each) { return std::string(each.param); });

}  // namespace
}  // namespace halfulp::gpu
