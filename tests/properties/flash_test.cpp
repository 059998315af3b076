// flash_attention from case line to verdict, with kernels of plain loops.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "properties/check.hpp"
#include "properties/fill.hpp"
#include "properties/flash_problem.hpp"
#include "properties/spec.hpp"
#include "tests/properties/materialised.hpp"

namespace halfulp::properties {
namespace {

Case case_of(const std::string& kernel_and_fields) {
  const Parsed parsed = parse("flash_attention " + kernel_and_fields);
  EXPECT_EQ(parsed.error.what, "") << kernel_and_fields;
  return parsed.error ? Case{} : parsed.value;
}

gpu::Problem problem(const std::string& fields) {
  return find_operation("flash_attention")->materialise(case_of("fake_right " + fields));
}

std::string verdict(const Case& c) {
  const Judgement j = judge(c);
  return std::string(name(j.verdict)) + (j.verdict == Verdict::pass ? "" : " " + j.reason);
}

TEST(Flash, LinesReadBack) {
  for (const char* line :
       {"flash_attention fake_right backend=host in=f16 batches=2 heads=3 queries=5 keys=7 dim=16 "
        "fill=normal seed=0x1",
        "flash_attention fake_right backend=host in=tf32 batches=1 heads=1 queries=1 keys=0 dim=8 "
        "scale=0.3 mask=closed:3:64 mask_in=input mask_layout=broadcast:bh tile=32x64 fill=A1 "
        "layout=mixed law=tiling seed=0x7"}) {
    const Parsed parsed = parse(line);
    ASSERT_EQ(parsed.error.what, "");
    EXPECT_EQ(print(parsed.value), line);
  }
}

TEST(Flash, ErrorsNameTheField) {
  const auto error = [](const std::string& fields) {
    return parse("flash_attention fake_right " + fields).error.what;
  };
  EXPECT_EQ(error("dim=7"), "dim=7: expected an integer from 8 to 256");
  EXPECT_EQ(error("tile=8x8"), "tile=8x8: fake_right takes 16x32, 32x64, 64x32");
  EXPECT_EQ(parse("flash_attention fake_untiled tile=64x64").error.what,
            "tile=64x64: fake_untiled has no parameter tile; it takes mask");
  EXPECT_EQ(parse("flash_attention fake_plain tile=64x64").error.what,
            "tile=64x64: fake_plain takes no launch parameters");
  EXPECT_EQ(error("mask=causal_top_left mask_layout=broadcast:k"),
            "mask_layout=broadcast:k: mask=causal_top_left differs along k");
  EXPECT_NE(error("batches=1000 heads=100 queries=4000 keys=5000 dim=64")
                .find("keys=5000: the operands would take"),
            std::string::npos);
  // A mask of zero strides takes no room.
  EXPECT_NE(error("queries=100000 keys=100000 mask=none"), "x");
  EXPECT_EQ(error("queries=100000 keys=100000 mask=random:5 mask_layout=broadcast:q"), "");
  EXPECT_NE(error("queries=100000 keys=100000 mask=random:5"), "");
}

// Either sign; what fp32 has no number for is refused.
TEST(Flash, Scales) {
  const auto error = [](const std::string& text) {
    return parse("flash_attention fake_right scale=" + text).error.what;
  };
  for (const char* text :
       {"nan", "-nan", "inf", "-inf", "1e400", "-1e400", "10001", "-10001", "x"}) {
    EXPECT_EQ(error(text),
              "scale=" + std::string(text) + ": expected a number from -10000 to 10000");
  }
  for (const char* text : {"1e-400", "-1e-400", "1e-46", "-1e-46"}) {
    EXPECT_EQ(error(text), "scale=" + std::string(text) +
                               ": expected a number from -10000 to 10000; fp32 takes this one for "
                               "0");
  }
  const auto read = [](const std::string& text) {
    const Case c = case_of("fake_right scale=" + text);
    return std::string(c.text("scale"));
  };
  EXPECT_EQ(read("-0.5"), "-0.5");
  EXPECT_EQ(read("-0.50"), "-0.5");
  EXPECT_EQ(read("-0"), "0");
  EXPECT_EQ(read("-1e-45"), "-1e-45");
  EXPECT_EQ(read("-10000"), "-10000");
  EXPECT_EQ(problem("scale=-0.5").scale, -0.5f);
  EXPECT_EQ(problem("scale=0").scale, 0);
}

TEST(Flash, LayoutsOfFourDimensions) {
  using Strides = std::vector<std::int64_t>;
  const auto q = [](const std::string& layout) {
    return problem("batches=2 heads=3 queries=5 keys=4 dim=8 layout=" + layout).operand("q");
  };
  EXPECT_EQ(q("packed").stride, (Strides{120, 40, 8, 1}));
  EXPECT_EQ(q("permuted").stride, (Strides{120, 8, 24, 1}));
  EXPECT_EQ(q("every:2").stride, (Strides{240, 80, 16, 1}));
  EXPECT_EQ(q("gap:1").stride, (Strides{139, 46, 9, 1}));
  EXPECT_EQ(q("offset:1").base_offset, 1);
  const auto values = numbers(problem("batches=2 heads=3 queries=5 keys=4"), "q");
  for (const char* layout : {"permuted", "every:2", "gap:1", "offset:1"}) {
    EXPECT_EQ(
        numbers(problem("batches=2 heads=3 queries=5 keys=4 layout=" + std::string(layout)), "q"),
        values);
  }
  int different = 0;
  for (int seed = 1; seed < 30; ++seed) {
    const gpu::Problem mixed =
        problem("batches=2 heads=3 queries=5 keys=5 layout=mixed seed=" + std::to_string(seed));
    different += mixed.operand("k").stride != mixed.operand("v").stride;
  }
  EXPECT_GT(different, 15);
}

// A smaller case keeps the values of the elements that it keeps.
TEST(Flash, ValuesDoNotDependOnTheExtents) {
  const auto small = numbers(problem("batches=2 heads=2 keys=3 dim=8"), "k");
  const auto large = numbers(problem("batches=3 heads=4 keys=5 dim=16"), "k");
  for (std::size_t i = 0; i < small.size(); ++i) {
    const std::size_t d = i % 8, row = i / 8 % 3, head = i / 24 % 2, batch = i / 48;
    EXPECT_EQ(small[i], large[((batch * 4 + head) * 5 + row) * 16 + d]);
  }
}

TEST(Flash, RightKernelsPassEveryFill) {
  for (const std::string_view fill : split(fill_words("flash_attention"), '|')) {
    for (const char* in : {"f32", "f16", "bf16", "tf32"}) {
      for (const char* rest :
           {"queries=3 keys=70 dim=16", "queries=17 keys=1 dim=8 mask=random:50",
            "heads=2 queries=2 keys=65 dim=24 mask=bias:20 scale=0.3", "queries=2 keys=0",
            "batches=2 queries=5 keys=40 mask=causal_bottom_right tile=32x64"}) {
        const Case c = case_of("fake_right " + std::string(rest) + " seed=0x9 in=" + in +
                               " fill=" + std::string(fill));
        const std::string found = verdict(c);
        if (found.starts_with("powerless")) continue;
        EXPECT_EQ(found, "pass") << print(c);
      }
    }
  }
}

TEST(Flash, RightKernelsPassEveryMask) {
  for (const char* mask : {"none",
                           "causal_top_left",
                           "causal_bottom_right",
                           "prefix_lm:3",
                           "window:1:0",
                           "window:0:2",
                           "documents:2",
                           "empty_rows:0:2",
                           "closed:0:32",
                           "only:39",
                           "keys:2",
                           "random:50",
                           "bias",
                           "bias:50",
                           "bias_far",
                           "bias_far:50",
                           "alibi:900",
                           "window:2147483647:0",
                           "window:3:2147483647",
                           "prefix_lm:2147483647",
                           "documents:2147483584",
                           "large:50",
                           "large:100",
                           "padded_left:9",
                           "padded_right:40"}) {
    for (const char* kernel : {"fake_right", "fake_settings"}) {
      for (const char* rest : {"queries=5 keys=40", "queries=40 keys=5 in=f16 mask_in=input",
                               "queries=33 keys=33 in=bf16 mask_in=input"}) {
        const Case c = case_of(std::string(kernel) + " heads=2 dim=8 " + rest + " mask=" + mask);
        EXPECT_EQ(verdict(c), "pass") << print(c);
      }
    }
  }
}

// Takes the first proposal that still fails, until none does.
Case smallest(Case c, const std::function<bool(const Case&)>& fails) {
  const Operation& operation = *find_operation("flash_attention");
  for (bool progress = true; progress;) {
    progress = false;
    for (const Case& simpler : operation.shrinks(c)) {
      EXPECT_LT(operation.weight(simpler), operation.weight(c)) << print(simpler);
      if (!fails(simpler)) continue;
      c = simpler;
      progress = true;
      break;
    }
  }
  return c;
}

TEST(Flash, ShrinksToWhatMatters) {
  const Case c = case_of(
      "fake_right in=bf16 batches=3 heads=5 queries=70 keys=99 dim=72 scale=0.3 mask=closed:32:64 "
      "mask_in=input mask_layout=broadcast:bq tile=64x32 fill=A5 layout=every:2 order=burst "
      "resident=7 seed=0xabc");
  EXPECT_EQ(print(smallest(c, [](const Case&) { return true; })),
            "flash_attention fake_right backend=host in=f32 batches=0 heads=0 queries=0 keys=0 "
            "dim=8 tile=16x32 fill=ones seed=0x1");
  const auto masked = [](const Case& tried) {
    return tried.integer("keys") > 40 && tried.text("mask") != "none" &&
           tried.text("mask_layout") != "dense";
  };
  EXPECT_EQ(print(smallest(c, masked)),
            "flash_attention fake_right backend=host in=f32 batches=0 heads=0 queries=0 keys=41 "
            "dim=8 mask=closed:0:0 mask_layout=broadcast:bq tile=16x32 fill=ones seed=0x1");
}

// A planted leak of the padding ends at one query and one tile of keys.
TEST(Flash, TailLeakShrinks) {
  const Case c = case_of(
      "fake_tail in=f16 batches=2 heads=2 queries=19 keys=130 dim=40 tile=32x64 fill=normal "
      "layout=gap:3 seed=0x3");
  const auto fails = [](const Case& tried) { return judge(tried).verdict == Verdict::fail; };
  ASSERT_TRUE(fails(c));
  const Case end = smallest(c, fails);
  EXPECT_LE(end.integer("keys"), 33);
  EXPECT_EQ(end.integer("queries"), 1);
  EXPECT_EQ(end.integer("batches"), 1);
  EXPECT_EQ(end.integer("heads"), 1);
  EXPECT_EQ(end.integer("dim"), 8);
  EXPECT_EQ(end.text("tile"), "16x32");
}

}  // namespace
}  // namespace halfulp::properties
