// Exact probes of flash_attention: data of which every legal kernel makes the same bits have the
// bound 0, found from the data alone, and legal kernels do make these bits.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/reference/ops/flash_attention_simulated.hpp"
#include "tests/reference/ops/judge.hpp"

namespace halfulp::reference::simulated {
namespace {

constexpr FlashSizes kSizes{1, 1, 2, 33, 4};

// Kernels of one input format, 40 of them, on data that the test has set; `wanted` for a row and a
// channel, in the output format.
template <typename Wanted>
void expect_bits(FlashData& data, bool log2e_first, Wanted wanted) {
  Generator generator(7);
  const Format input = data.op.q.format;
  const Format output = input == Format::tf32 ? Format::fp32 : input;
  int kernels = 0;
  while (kernels < 40) {
    const FlashStyle style = random_flash_style(input, data.op.keys, generator);
    if (style.declared().exponential.log2e_first != log2e_first) continue;
    if (style.declared().operand_roundoff > 0) continue;
    ++kernels;
    data.op.arithmetic = style.declared();
    data.op.arithmetic.output = output;
    const bool reciprocal = style.reciprocal_ulps >= 0;
    const std::int64_t elements = data.op.queries * data.op.dim;
    const Judged all = judged(data.op, 0, elements);
    for (std::int64_t i = 0; i < elements; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const double expected = wanted(i / data.op.dim, i % data.op.dim);
      const Enclosure truth = exact(data.op, {0, i});
      if (!reciprocal) {
        EXPECT_EQ(all.bound[at], 0) << i << " " << name_of(style.exponent);
      }
      EXPECT_EQ(round_to(output, all.value[at] - all.error[at] - all.bound[at]), expected);
      EXPECT_EQ(round_to(output, all.value[at] + all.error[at] + all.bound[at]), expected);
      EXPECT_TRUE(agree(all.value[at], all.error[at], truth)) << truth.lo;
      const auto result = run(data.op, style, 0, i / data.op.dim, generator);
      EXPECT_EQ(round_to(output, result[static_cast<std::size_t>(i % data.op.dim)]), expected);
    }
  }
}

class FlashAttentionProbes : public testing::TestWithParam<Format> {};
INSTANTIATE_TEST_SUITE_P(Formats, FlashAttentionProbes,
                         testing::Values(Format::fp16, Format::bf16, Format::tf32, Format::fp32),
                         [](const auto& format) { return std::string(traits(format.param).name); });

TEST_P(FlashAttentionProbes, OneOpenKey) {
  FlashData data(kSizes, GetParam());
  Generator generator(1);
  data.fill(FlashFill::normal, generator);
  data.set_mask(FlashMask::one_open, generator);
  std::int64_t open = 0;
  while (std::isinf(data.mask_at(0, 0, open))) ++open;
  expect_bits(data, false,
              [&](std::int64_t, std::int64_t d) { return data.op.v.at(0, 0, open, d); });
}

// The maximum's own weight may not be 1, but what it is off by is no output's bit.
TEST(FlashAttentionProbe, OneOpenKeyWhereLog2eComesFirst) {
  FlashData data(kSizes, Format::fp16);
  Generator generator(1);
  data.fill(FlashFill::normal, generator);
  data.set_mask(FlashMask::one_open, generator);
  for (int kernel = 0; kernel < 40; ++kernel) {
    data.op.arithmetic = random_flash_style(Format::fp16, kSizes.keys, generator).declared();
    data.op.arithmetic.exponential.base_2 = true;
    data.op.arithmetic.exponential.log2e_first = true;
    data.op.arithmetic.output = Format::fp16;
    const Judged all = judged(data.op, 0, 4);
    for (std::size_t d = 0; d < 4; ++d) {
      EXPECT_LT(all.bound[d], 0x1p-17 * std::abs(all.value[d]));
    }
  }
}

TEST_P(FlashAttentionProbes, EqualScoresOfValuesThatCancel) {
  FlashData data(kSizes, GetParam());
  Generator generator(2);
  data.fill(FlashFill::equal, generator);
  for (std::int64_t j = 0; j < kSizes.keys; ++j) {
    for (std::int64_t d = 0; d < 4; ++d) {
      data.set(data.op.v, 0, j, d, j + 1 == kSizes.keys ? 0 : j % 2 == 0 ? 1 : -1);
    }
  }
  for (const bool log2e_first : {false, true}) {
    expect_bits(data, log2e_first, [](std::int64_t, std::int64_t) { return 0.0; });
  }
}

TEST_P(FlashAttentionProbes, MeanOfAPowerOfTwo) {
  FlashData data({1, 1, 1, 64, 3}, GetParam());
  Generator generator(3);
  data.fill(FlashFill::equal, generator);
  double sums[3] = {};
  for (std::int64_t j = 0; j < 64; ++j) {
    for (std::int64_t d = 0; d < 3; ++d) {
      const auto v = static_cast<double>(below(generator, 15) - 7);
      data.set(data.op.v, 0, j, d, v);
      sums[d] += v;
    }
  }
  const Format output = GetParam() == Format::tf32 ? Format::fp32 : GetParam();
  for (const bool log2e_first : {false, true}) {
    expect_bits(data, log2e_first,
                [&](std::int64_t, std::int64_t d) { return round_to(output, sums[d] / 64); });
  }
}

// Of masks and products of q and k that are equal and exact, where differences come first.
TEST(FlashAttentionProbe, EqualScoresOfIntegers) {
  FlashData data({1, 1, 1, 32, 4}, Format::fp16);
  Generator generator(4);
  data.fill(FlashFill::integers, generator);
  double sums[4] = {};
  for (std::int64_t j = 0; j < 32; ++j) {
    for (std::int64_t d = 0; d < 4; ++d) {
      data.set(data.op.k, 0, j, d, 2);
      sums[d] += data.op.v.at(0, 0, j, d);
    }
  }
  data.set_mask(FlashMask::finite, generator);
  data.mask.assign(data.mask.size(), 0.3f);
  expect_bits(data, false,
              [&](std::int64_t, std::int64_t d) { return round_to(Format::fp16, sums[d] / 32); });
}

// Each key beyond the one before it by more than exp can tell from nothing.
TEST_P(FlashAttentionProbes, Ladder) {
  FlashData data({1, 1, 1, 5, 4}, GetParam());
  Generator generator(5);
  data.fill(FlashFill::ladder, generator);
  for (std::int64_t d = 0; d < 4; ++d) data.set(data.op.v, 0, 4, d, 1.5 + static_cast<double>(d));
  data.op.arithmetic.output = GetParam() == Format::tf32 ? Format::fp32 : GetParam();
  for (const double rescales : {0.0, 5.0}) {
    data.op.arithmetic.rescales = static_cast<std::int64_t>(rescales);
    const Judged all = judged(data.op, 0, 4);
    for (std::size_t d = 0; d < 4; ++d) {
      EXPECT_EQ(all.value[d], 1.5 + static_cast<double>(d));
      EXPECT_LT(all.bound[d] + all.error[d], 0x1p-170);
    }
  }
}

// A negative scale: the key with the smallest product has all the weight.
TEST_P(FlashAttentionProbes, LadderOfANegativeScale) {
  FlashData data({1, 1, 1, 5, 4}, GetParam());
  Generator generator(9);
  data.fill(FlashFill::ladder, generator);
  for (std::int64_t d = 0; d < 4; ++d) data.set(data.op.v, 0, 0, d, 1.5 + static_cast<double>(d));
  for (const float scale : {-0.5f, -0.7f}) {
    data.op.scale = scale;
    for (int kernel = 0; kernel < 20; ++kernel) {
      const FlashStyle style = random_flash_style(GetParam(), data.op.keys, generator);
      data.op.arithmetic = style.declared();
      data.op.arithmetic.output = GetParam() == Format::tf32 ? Format::fp32 : GetParam();
      const Judged all = judged(data.op, 0, 4);
      const auto result = run(data.op, style, 0, 0, generator);
      for (std::size_t d = 0; d < 4; ++d) {
        const double expected = 1.5 + static_cast<double>(d);
        EXPECT_EQ(all.value[d], expected);
        EXPECT_LT(all.bound[d] + all.error[d], 0x1p-9);
        EXPECT_LE(std::abs(result[d] - expected), all.bound[d] + all.error[d] + 0x1p-10);
        EXPECT_TRUE(agree(all.value[d], all.error[d], exact(data.op, {0, std::int64_t(d)})));
      }
    }
  }
}

// Where scaling rounds nothing, equal products have equal scores: the power of two may be negative.
TEST(FlashAttentionProbe, EqualScoresOfANegativeScale) {
  FlashData data({1, 1, 1, 32, 4}, Format::fp16);
  Generator generator(10);
  data.fill(FlashFill::integers, generator);
  data.op.scale = -0.25;
  double sums[4] = {};
  for (std::int64_t j = 0; j < 32; ++j) {
    for (std::int64_t d = 0; d < 4; ++d) {
      data.set(data.op.k, 0, j, d, 2);
      sums[d] += data.op.v.at(0, 0, j, d);
    }
  }
  expect_bits(data, false,
              [&](std::int64_t, std::int64_t d) { return round_to(Format::fp16, sums[d] / 32); });
}

TEST(FlashAttentionProbe, NoOpenKeyIsPositiveZero) {
  FlashData data(kSizes, Format::fp32);
  Generator generator(6);
  data.fill(FlashFill::normal, generator);
  data.set_mask(FlashMask::closed, generator);
  data.mask_at(0, 1, 3) = 0;
  std::vector<bool> zero;
  evaluate(data.op, [&](const Rows& rows) {
    zero.push_back(rows.positive_zero);
    for (std::size_t d = 0; rows.positive_zero && d < rows.value.size(); ++d) {
      EXPECT_EQ(rows.value[d], 0);
      EXPECT_EQ(rows.error[d], 0);
      EXPECT_EQ(rows.bound[d], 0);
    }
  });
  EXPECT_EQ(zero, (std::vector<bool>{true, false}));
  data.op.arithmetic.masked_row = MaskedRow::nan;
  EXPECT_TRUE(std::isnan(judged(data.op, 0, 1).value[0]));
  EXPECT_TRUE(std::isnan(exact(data.op, {0, 0}).lo));
  data.op.arithmetic.masked_row = MaskedRow::any;
  EXPECT_TRUE(std::isinf(judged(data.op, 0, 1).bound[0]));
}

// Scores that are equal in truth but may not be in the kernel are no probe.
TEST(FlashAttentionProbe, NotOfScoresThatMayDiffer) {
  FlashData data({1, 1, 1, 4, 3}, Format::fp32);
  Generator generator(8);
  data.fill(FlashFill::normal, generator);
  for (std::int64_t d = 0; d < 3; ++d) {
    const double k = data.op.k.at(0, 0, 0, d);
    for (std::int64_t j = 1; j < 4; ++j) data.set(data.op.k, 0, j, d, k);
  }
  EXPECT_GT(judged(data.op, 0, 1).bound[0], 0);
}

}  // namespace
}  // namespace halfulp::reference::simulated
