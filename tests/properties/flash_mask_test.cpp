// Masks: what each family opens, cell by cell, from its statement; and how kernels get it.
#include "properties/flash_mask.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "properties/flash_problem.hpp"
#include "tests/properties/materialised.hpp"

namespace halfulp::properties {
namespace {

using Open = std::function<bool(std::int64_t, std::int64_t)>;

std::vector<double> cells(const std::string& text, const MaskShape& shape, MaskRow place = {}) {
  std::vector<double> result;
  for (place.query = 0; place.query < shape.queries; ++place.query) {
    std::vector<double> row(static_cast<std::size_t>(shape.keys), 99.0);
    mask_row(parse_mask(text), shape, place, row);
    result.insert(result.end(), row.begin(), row.end());
  }
  return result;
}

void expect_open(const std::string& text, const MaskShape& shape, const Open& open) {
  const std::vector<double> found = cells(text, shape);
  for (std::int64_t i = 0; i < shape.queries; ++i) {
    for (std::int64_t j = 0; j < shape.keys; ++j) {
      EXPECT_EQ(found[static_cast<std::size_t>(i * shape.keys + j)], open(i, j) ? 0.0 : -HUGE_VAL)
          << text << " " << i << " " << j << " of " << shape.queries << " x " << shape.keys;
    }
  }
}

TEST(FlashMask, FamiliesOpenWhatTheySay) {
  for (const MaskShape shape : {MaskShape{1, 1, 5, 5}, {1, 1, 2, 5}, {1, 1, 5, 2}, {1, 1, 7, 0}}) {
    const std::int64_t shift = shape.keys - shape.queries;
    expect_open("none", shape, [](auto, auto) { return true; });
    expect_open("causal_top_left", shape, [](auto i, auto j) { return j <= i; });
    expect_open("causal_bottom_right", shape, [&](auto i, auto j) { return j - shift <= i; });
    for (const std::int64_t p : {0, 1, 3, 9}) {
      expect_open("prefix_lm:" + std::to_string(p), shape,
                  [&](auto i, auto j) { return j <= i || (i < p && j < p); });
    }
    expect_open("window:0:0", shape, [&](auto i, auto j) { return j == i + shift; });
    expect_open("window:1:2", shape,
                [&](auto i, auto j) { return i + shift - 1 <= j && j <= i + shift + 2; });
    expect_open("window:2147483647:0", shape, [&](auto i, auto j) { return j <= i + shift; });
    expect_open("window:0:2147483647", shape, [&](auto i, auto j) { return j >= i + shift; });
    expect_open("documents:2147483647", shape, [](auto, auto) { return true; });
    expect_open("documents:3", shape, [](auto i, auto j) { return i / 3 == j / 3; });
    expect_open("empty_rows:1:3", shape, [](auto i, auto) { return i < 1 || i >= 3; });
    expect_open("closed:1:4", shape, [](auto, auto j) { return j < 1 || j >= 4; });
    expect_open("only:1", shape, [](auto, auto j) { return j == 1; });
    expect_open("random:0", shape, [](auto, auto) { return true; });
    expect_open("random:100", shape, [](auto, auto) { return false; });
  }
}

TEST(FlashMask, KeysOpensThatMany) {
  for (const std::int64_t keys : {1, 2, 3, 7, 64, 65}) {
    for (const std::int64_t count : {1, 2, 3}) {
      const MaskShape shape{1, 1, 40, keys};
      const auto found = cells("keys:" + std::to_string(count), shape, {.seed = 5});
      std::set<std::int64_t> opened;
      for (std::int64_t i = 0; i < shape.queries; ++i) {
        std::int64_t open = 0;
        for (std::int64_t j = 0; j < keys; ++j) {
          if (found[static_cast<std::size_t>(i * keys + j)] != 0) continue;
          ++open;
          opened.insert(j);
        }
        EXPECT_EQ(open, std::min(count, keys));
      }
      EXPECT_GT(std::ssize(opened), std::min<std::int64_t>(keys, 20) * 3 / 4);
    }
  }
}

TEST(FlashMask, DrawnFamilies) {
  const MaskShape shape{1, 1, 50, 200};
  const auto count = [](const std::vector<double>& all, double value) {
    return std::ranges::count(all, value);
  };
  const auto random = cells("random:30", shape);
  EXPECT_GT(count(random, -HUGE_VAL), 2700);
  EXPECT_LT(count(random, -HUGE_VAL), 3300);
  EXPECT_EQ(count(random, -HUGE_VAL) + count(random, 0), 10000);
  const auto bias = cells("bias:30", shape);
  EXPECT_EQ(count(bias, -HUGE_VAL), count(random, -HUGE_VAL));
  double least = 0, most = 0;
  for (const double value : bias) {
    if (std::isinf(value)) continue;
    least = std::min(least, value);
    most = std::max(most, value);
    EXPECT_EQ(value * 64, std::round(value * 64));
  }
  EXPECT_EQ(least, -2);
  EXPECT_EQ(most, 2 - 0x1p-6);
  EXPECT_EQ(count(cells("bias_far:30", shape), -HUGE_VAL), count(random, -HUGE_VAL));
  EXPECT_EQ(count(cells("large:100", shape), -10000), 10000);
  EXPECT_EQ(count(cells("lowest:100", shape, {.lowest = -65504}), -65504), 10000);
}

// Within 2 of a number of its row's, far from zero, with bits that fp16 has not.
TEST(FlashMask, BiasesFarOut) {
  const MaskShape shape{1, 1, 50, 200};
  const auto far = cells("bias_far", shape);
  double least = HUGE_VAL, most = 0;
  std::set<bool> signs;
  std::int64_t narrow = 0;
  for (std::int64_t i = 0; i < shape.queries; ++i) {
    const auto begin = far.begin() + i * shape.keys;
    const auto [low, high] = std::ranges::minmax(std::vector<double>(begin, begin + shape.keys));
    EXPECT_LT(high - low, 4);
    EXPECT_GT(high - low, 3);
    for (const double value : {low, high}) {
      least = std::min(least, std::fabs(value));
      most = std::max(most, std::fabs(value));
      signs.insert(value < 0);
    }
  }
  for (const double x : far) narrow += reference::round_to(reference::Format::fp16, x) == x;
  EXPECT_GE(least, 14);
  EXPECT_LT(least, 32);
  EXPECT_GT(most, 256);
  EXPECT_LE(most, 514);
  EXPECT_EQ(signs.size(), 2u);
  EXPECT_LT(narrow, 20);
}

TEST(FlashMask, SlopesHalveFromHeadToHead) {
  const MaskShape shape{1, 5, 3, 70000};
  for (const std::int64_t head : {0, 1, 3, 4}) {
    const double slope = 300.0 / 1024 / std::pow(2.0, static_cast<double>(head % 4));
    const auto found = cells("alibi:300", shape, {.head = head});
    for (std::int64_t i = 0; i < 3; ++i) {
      for (const std::int64_t j : {0, 1, 2, 3, 999, 69999}) {
        EXPECT_EQ(found[static_cast<std::size_t>(i * shape.keys + j)],
                  static_cast<double>(j - i) * slope);
      }
    }
  }
  EXPECT_EQ(cells("alibi:1024", shape)[69999], 65504);
}

TEST(FlashMask, PaddingDiffersBetweenBatches) {
  const MaskShape shape{1, 1, 1, 9};
  std::set<std::int64_t> lengths;
  for (std::int64_t batch = 0; batch < 60; ++batch) {
    for (const bool left : {true, false}) {
      const auto row = cells(left ? "padded_left:5" : "padded_right:5", shape, {.batch = batch});
      const auto length = std::ranges::count(row, -HUGE_VAL);
      const auto first_open = std::ranges::find(row, 0) - row.begin();
      EXPECT_EQ(first_open, left ? length : 0);
      lengths.insert(length);
    }
  }
  EXPECT_EQ(lengths, (std::set<std::int64_t>{0, 1, 2, 3, 4, 5}));
}

TEST(FlashMask, ErrorsNameTheField) {
  EXPECT_EQ(mask_error("none"), "");
  EXPECT_EQ(mask_error("bias:30"), "");
  EXPECT_EQ(mask_error("bias_far"), "");
  EXPECT_EQ(mask_error("alibi"), "mask=alibi: alibi takes one number from 1 to 1024");
  EXPECT_EQ(mask_error("none:3"), "mask=none:3: none takes no number");
  EXPECT_EQ(mask_error("window:3"), "mask=window:3: window takes two numbers from 0 to 2147483647");
  EXPECT_EQ(mask_error("random:101"),
            "mask=random:101: random takes numbers from 0 to 100, not 101");
  EXPECT_EQ(mask_error("prefix_lm:99999999999"),
            "mask=prefix_lm:99999999999: prefix_lm takes numbers from 0 to 2147483647, not "
            "99999999999");
  EXPECT_EQ(mask_error("closed:3:2"), "mask=closed:3:2: closed ends before it begins");
  EXPECT_NE(mask_error("causal_top_lef").find("did you mean causal_top_left?"), std::string::npos)
      << mask_error("causal_top_lef");
  for (const char* layout :
       {"dense", "transposed", "pitch:3", "apart:3", "offset:1", "broadcast:bhqk"}) {
    EXPECT_EQ(mask_layout_error(layout, MaskFamily::random), "") << layout;
  }
  EXPECT_EQ(mask_layout_error("broadcast:hb", MaskFamily::random),
            "mask_layout=broadcast:hb: broadcast takes some of bhqk, in this order");
  EXPECT_EQ(mask_layout_error("broadcast:q", MaskFamily::causal_top_left),
            "mask_layout=broadcast:q: mask=causal_top_left differs along q");
  EXPECT_NE(mask_layout_error("pitch:64", MaskFamily::none), "");
  EXPECT_NE(mask_layout_error("broadcast", MaskFamily::none), "");
}

gpu::Problem problem(const std::string& kernel_and_fields) {
  const Parsed parsed = parse("flash_attention " + kernel_and_fields);
  EXPECT_EQ(parsed.error.what, "") << kernel_and_fields;
  return find_operation("flash_attention")->materialise(parsed.value);
}

const gpu::Setting* setting(const gpu::Problem& p, std::string_view name) {
  const auto found = std::ranges::find(p.settings, name, &gpu::Setting::name);
  return found == p.settings.end() ? nullptr : &*found;
}

bool has_mask(const gpu::Problem& p) {
  return std::ranges::find(p.operands, "mask", &gpu::Operand::name) != p.operands.end();
}

TEST(FlashMask, ClosedFormsAreSettingsWhereKnown) {
  const gpu::Problem told = problem("fake_settings queries=3 keys=4 mask=window:2:1");
  EXPECT_FALSE(has_mask(told));
  EXPECT_EQ(setting(told, "mask")->word, "window");
  EXPECT_EQ(setting(told, "mask")->value, 3);
  EXPECT_EQ(setting(told, "window_left")->value, 2);
  EXPECT_EQ(setting(told, "window_right")->value, 1);
  EXPECT_EQ(setting(problem("fake_settings mask=prefix_lm:7"), "prefix")->value, 7);
  const gpu::Problem dense = problem("fake_right queries=3 keys=4 mask=window:2:1");
  EXPECT_EQ(setting(dense, "mask")->word, "additive");
  EXPECT_EQ(numbers(dense, "mask"), cells("window:2:1", {1, 1, 3, 4}));
  const gpu::Problem unknown = problem("fake_settings queries=3 keys=4 mask=documents:2");
  EXPECT_EQ(setting(unknown, "mask")->word, "additive");
  EXPECT_TRUE(has_mask(unknown));
  EXPECT_FALSE(has_mask(problem("fake_right mask=none")));
  EXPECT_EQ(parse("flash_attention fake_plain mask=random:3").error.what,
            "mask=random:3: fake_plain takes only none");
}

TEST(FlashMask, OperandsLieAsNamed) {
  using Strides = std::vector<std::int64_t>;
  const auto mask = [](const std::string& layout, const std::string& family = "random:50") {
    return problem("fake_right in=f16 batches=2 heads=3 queries=5 keys=7 mask=" + family +
                   " mask_layout=" + layout)
        .operand("mask");
  };
  EXPECT_EQ(mask("dense").stride, (Strides{105, 35, 7, 1}));
  EXPECT_EQ(mask("transposed").stride, (Strides{105, 35, 1, 5}));
  EXPECT_EQ(mask("pitch:1").stride, (Strides{120, 40, 8, 1}));
  EXPECT_EQ(mask("apart:2").stride, (Strides{113, 37, 7, 1}));
  EXPECT_EQ(mask("offset:1").base_offset, 1);
  EXPECT_EQ(mask("broadcast:hq").stride, (Strides{7, 0, 0, 1}));
  EXPECT_EQ(mask("broadcast:b").stride, (Strides{0, 35, 7, 1}));
  EXPECT_EQ(mask("broadcast:bhq", "padded_left:3").stride, (Strides{0, 0, 0, 1}));
  EXPECT_EQ(mask("dense").format, gpu::Format::f32);
  EXPECT_EQ(problem("fake_right in=f16 mask=bias mask_in=input").operand("mask").format,
            gpu::Format::f16);
  EXPECT_EQ(problem("fake_right in=tf32 mask=bias mask_in=input").operand("mask").format,
            gpu::Format::f32);
}

TEST(FlashMask, LayoutsHoldTheSameCells) {
  const auto all = [](const std::string& layout) {
    return numbers(problem("fake_right batches=2 heads=3 queries=5 keys=7 mask=bias:20 seed=0x5 "
                           "mask_layout=" +
                           layout),
                   "mask");
  };
  const auto dense = all("dense");
  for (const char* layout : {"transposed", "pitch:1", "apart:2", "offset:1"})
    EXPECT_EQ(all(layout), dense);
  const auto heads = all("broadcast:h");
  for (std::size_t i = 0; i < heads.size(); ++i) {
    const std::size_t batch = i / 105, cell = i % 35;
    EXPECT_EQ(heads[i], dense[batch * 105 + cell]);
  }
}

}  // namespace
}  // namespace halfulp::properties
