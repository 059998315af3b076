// What the bound of flash_attention can see: how near to it legal kernels come on data that make it
// tight, and how often it refuses kernels with a fault, which are legal ones on other data.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/reference/ops/flash_attention_simulated.hpp"
#include "tests/reference/ops/judge.hpp"

namespace halfulp::reference::simulated {
namespace {

// FlashAttention-2's arithmetic on Hopper.
FlashStyle tensor_core_style(std::int64_t keys) {
  FlashStyle style;
  Arithmetic& declared = style.dot.declared;
  declared.input = declared.weight = declared.output = Format::fp16;
  declared.tensor_core = kHopper;
  declared.sum_order = SumOrder::contiguous;
  declared.exponential.base_2 = true;
  declared.exponential.log2e_first = true;
  style.exponent = Exponent::fused;
  style.fma = style.online = true;
  style.exp_ulps = 2;
  style.tile = 64;
  declared.rescales = (keys + 63) / 64;
  return style;
}

// The share of elements whose rounded result is refused; `run` gets a fresh case each time.
struct Seen {
  double refused = 0;
  double worst = 0;  // error/bound before rounding, of the kernels that are run
};
Seen seen(FlashFill fill, const FlashSizes& sizes, int cases,
          const std::function<std::vector<double>(FlashData&, FlashStyle, std::int64_t row,
                                                  Generator&)>& kernel) {
  Generator generator(11);
  const FlashStyle style = tensor_core_style(sizes.keys);
  Seen result;
  std::int64_t refused = 0, elements = 0;
  for (int i = 0; i < cases; ++i) {
    FlashData data(sizes, Format::fp16);
    data.fill(fill, generator);
    data.op.arithmetic = style.declared();
    const Judged after = judged(data.op, 0, sizes.queries * sizes.dim);
    data.op.arithmetic.output = Format::fp64;
    const Judged before = judged(data.op, 0, sizes.queries * sizes.dim);
    for (std::int64_t row = 0; row < sizes.queries; ++row) {
      const std::vector<double> out = kernel(data, style, row, generator);
      for (std::int64_t d = 0; d < sizes.dim; ++d, ++elements) {
        const auto at = static_cast<std::size_t>(row * sizes.dim + d);
        const double x = out[static_cast<std::size_t>(d)];
        const Enclosure truth{before.value[at], before.value[at]};
        result.worst = std::max(result.worst, error_over_bound(x, truth, before.bound[at]));
        refused += !accepted(Format::fp16, round_to(Format::fp16, x),
                             {after.value[at], after.value[at]}, after.error[at] + after.bound[at]);
      }
    }
  }
  result.refused = static_cast<double>(refused) / static_cast<double>(elements);
  return result;
}

std::vector<double> legal(FlashData& data, FlashStyle style, std::int64_t row, Generator& g) {
  return run(data.op, style, 0, row, g);
}
std::vector<double> scaled(FlashData& data, FlashStyle style, std::int64_t row, Generator& g) {
  FlashAttention op = data.op;
  op.scale = static_cast<float>((1 + 0x1p-10) / std::sqrt(static_cast<double>(op.dim)));
  return run(op, style, 0, row, g);
}
std::vector<double> narrow_weights(FlashData& data, FlashStyle style, std::int64_t row,
                                   Generator& g) {
  style.dot.declared.weight = Format::bf16;
  return run(data.op, style, 0, row, g);
}
std::vector<double> dropped(FlashData& data, FlashStyle style, std::int64_t row, Generator& g) {
  FlashAttention op = data.op;
  --op.keys;
  return run(op, style, 0, row, g);
}
constexpr FlashSizes kPair{1, 1, 4, 2, 16};
constexpr FlashSizes kIdentity{1, 1, 8, 256, 64};

TEST(FlashAttentionPower, TightOnTwoKeys) {
  const Seen right = seen(FlashFill::two_keys, kPair, 500, legal);
  std::printf("two keys: error/bound %.3f, scale %.3f, bf16 weights %.3f\n", right.worst,
              seen(FlashFill::two_keys, kPair, 500, scaled).refused,
              seen(FlashFill::two_keys, kPair, 500, narrow_weights).refused);
  EXPECT_EQ(right.refused, 0);
  EXPECT_LE(right.worst, 1);
  EXPECT_GT(right.worst, 0.8);
  EXPECT_GT(seen(FlashFill::two_keys, kPair, 500, scaled).refused, 0.6);
  EXPECT_GT(seen(FlashFill::two_keys, kPair, 500, narrow_weights).refused, 0.5);
}

TEST(FlashAttentionPower, TightOnAWindowOfTheIdentity) {
  const Seen right = seen(FlashFill::identity, kIdentity, 10, legal);
  std::printf("identity: error/bound %.3f, scale %.3f, bf16 weights %.3f, dropped key %.3f\n",
              right.worst, seen(FlashFill::identity, kIdentity, 10, scaled).refused,
              seen(FlashFill::identity, kIdentity, 10, narrow_weights).refused,
              seen(FlashFill::identity, kIdentity, 10, dropped).refused);
  EXPECT_EQ(right.refused, 0);
  EXPECT_LE(right.worst, 1);
  EXPECT_GT(right.worst, 0.7);
  EXPECT_GT(seen(FlashFill::identity, kIdentity, 10, scaled).refused, 0.3);
  EXPECT_GT(seen(FlashFill::identity, kIdentity, 10, narrow_weights).refused, 0.4);
}

TEST(FlashAttentionPower, ADroppedKeyOnNormalData) {
  const FlashSizes sizes{1, 1, 8, 256, 64};
  const Seen right = seen(FlashFill::normal, sizes, 4, legal);
  const Seen wrong = seen(FlashFill::normal, sizes, 4, dropped);
  std::printf("normal: error/bound %.3f, dropped key %.3f\n", right.worst, wrong.refused);
  EXPECT_EQ(right.refused, 0);
  EXPECT_GT(wrong.refused, 0.6);
}

// A closed form against a mask of numbers, and against one that is off by a key.
TEST(FlashAttentionPower, AMaskOffByOne) {
  Generator generator(3);
  for (const FlashMask mask : {FlashMask::causal, FlashMask::window}) {
    FlashData data({1, 2, 9, 13, 4}, Format::fp16);
    data.fill(FlashFill::normal, generator);
    data.set_mask(mask, generator);
    FlashAttention form = data.op, numbers = data.op;
    form.mask = {};
    numbers.open = OpenKeys::all;
    const Judged one = judged(form, 0, 72), other = judged(numbers, 0, 72);
    EXPECT_EQ(one.value, other.value);
    ++form.shift;
    EXPECT_NE(judged(form, 0, 72).value, other.value);
  }
}

}  // namespace
}  // namespace halfulp::reference::simulated
