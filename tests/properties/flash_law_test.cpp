// Laws of flash_attention: right kernels keep them, faults break them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "properties/check.hpp"
#include "properties/law.hpp"
#include "properties/setup.hpp"
#include "tests/properties/materialised.hpp"

namespace halfulp::properties {
namespace {

Case case_of(const std::string& kernel_and_fields) {
  const Parsed parsed = parse("flash_attention " + kernel_and_fields);
  EXPECT_EQ(parsed.error.what, "") << kernel_and_fields;
  return parsed.value;
}

bool applies(const Case& c) {
  const Operation& operation = *find_operation("flash_attention");
  return find_law(operation, c.text("law"))->relate(c, operation.materialise(c)).applies();
}

TEST(FlashLaw, RightKernelsKeepThem) {
  for (const Law& law : find_operation("flash_attention")->laws) {
    int applied = 0;
    for (const char* mask : {"none", "causal_top_left", "causal_bottom_right", "bias:30",
                             "large:50", "empty_rows:1:3", "prefix_lm:3"}) {
      for (const char* kernel : {"fake_right", "fake_settings"}) {
        for (const char* rest :
             {"batches=2 heads=3 queries=5 keys=7 dim=9", "queries=1 keys=1",
              "heads=2 queries=7 keys=40 in=f16 layout=gap:3 mask_in=input mask_layout=pitch:1",
              "heads=2 queries=7 keys=16 in=f16 mask_in=input mask_layout=apart:1",
              "heads=2 queries=40 keys=3 in=bf16 layout=mixed mask_layout=broadcast:h",
              "batches=2 queries=3 keys=0"}) {
          for (const char* seed : {"1", "2"}) {
            const Case c = case_of(std::string(kernel) + " " + rest + " mask=" + mask +
                                   " law=" + std::string(law.name) + " seed=" + seed);
            if (!applies(c)) continue;
            ++applied;
            const Judgement j = judge(c);
            EXPECT_EQ(name(j.verdict), "pass") << print(c) << " " << j.reason;
          }
        }
      }
    }
    EXPECT_GT(applied, 8) << law.name;
  }
}

std::vector<double> truth(const gpu::Problem& problem) {
  std::vector<double> values(static_cast<std::size_t>(problem.operand("out").count()));
  find_operation("flash_attention")->evaluate(problem, {}, [&](const reference::Rows& rows) {
    std::ranges::copy(rows.value, values.begin() + rows.first);
  });
  return values;
}

TEST(FlashLaw, RelatedTruthIsTheFirst) {
  for (const Law& law : find_operation("flash_attention")->laws) {
    int applied = 0;
    for (const char* mask : {"none", "causal_top_left", "causal_bottom_right", "bias:30"}) {
      for (const char* layout : {"packed", "gap:2", "permuted", "mixed"}) {
        for (const char* kernel : {"fake_right", "fake_settings"}) {
          const Case c =
              case_of(std::string(kernel) + " batches=2 heads=3 queries=5 keys=7 mask=" + mask +
                      " layout=" + layout + " law=" + std::string(law.name));
          const gpu::Problem problem = find_operation("flash_attention")->materialise(c);
          const Relation relation = law.relate(c, problem);
          if (!relation.applies()) continue;
          const auto first = truth(problem), related = truth(relation.problem);
          const Relation::Output& output = relation.outputs.at(0);
          const auto& place = output.place;
          for (std::size_t i = 0; i < first.size(); ++i) {
            const std::int64_t j = place.empty() ? static_cast<std::int64_t>(i) : place.at(i);
            if (j < 0) continue;
            ++applied;
            // Both in double: sums of the same terms in another order.
            const double other = related.at(static_cast<std::size_t>(j));
            const double expected = !output.value.empty() ? output.value.at(i)
                                    : output.negated      ? -first[i]
                                                          : first[i];
            ASSERT_LE(std::fabs(other - expected), 0x1p-40) << print(c) << " " << i;
          }
        }
      }
    }
    EXPECT_GT(applied, 0) << law.name;
  }
}

// Of so many problems, those whose outputs the law finds wrong, without any other judgement.
int disagreements(const std::string& law, const std::string& kernel, const std::string& fields) {
  const Operation& operation = *find_operation("flash_attention");
  int found = 0;
  for (int seed = 1; seed <= 8; ++seed) {
    const Case c = case_of(kernel + " " + fields + " seed=" + std::to_string(seed));
    const Setup setup = set_up(c);
    const gpu::Problem problem = operation.materialise(c);
    const Relation relation = find_law(operation, law)->relate(c, problem);
    EXPECT_TRUE(relation.applies()) << print(c);
    const auto outputs = [&](const gpu::Problem& asked) {
      return gpu::run(*setup.kernel, setup.backend, asked, setup.schedule).outputs.at(0);
    };
    found += !disagreement(operation, setup.numerics, problem, outputs(problem), relation,
                           outputs(relation.problem))
                  .empty();
  }
  return found;
}

TEST(FlashLaw, ValuesConstantCatchesWhatTheDenominatorLacks) {
  const std::string tiles = "batches=2 heads=2 queries=3 keys=70 tile=16x32 fill=rising in=";
  for (const char* in : {"f32", "f16", "bf16", "tf32"}) {
    EXPECT_EQ(disagreements("values_constant", "fake_right", tiles + in), 0) << in;
    for (const char* fault : {"denominator", "numerator", "tail"}) {
      const std::string fill = fault == std::string("tail") ? "fill=low" : "fill=rising";
      EXPECT_GT(
          disagreements("values_constant", "fake_" + std::string(fault),
                        "heads=2 queries=3 keys=70 tile=16x32 in=" + std::string(in) + " " + fill),
          4)
          << fault << in;
    }
  }
  EXPECT_EQ(disagreements("values_constant", "fake_epsilon", tiles + "f32"), 8);
  // Rows without a key: NaN, or -0.
  const std::string masked = "heads=2 queries=3 keys=7 mask=empty_rows:1:2 fill=normal in=f32";
  EXPECT_EQ(disagreements("values_constant", "fake_right", masked), 0);
  EXPECT_EQ(disagreements("values_constant", "fake_unguarded", masked), 8);
}

// Half an ulp that the bound of 16-bit weights hides.
TEST(FlashLaw, ValuesNegatedCatchesRoundingThatHasADirection) {
  for (const char* in : {"f32", "f16", "bf16"}) {
    const std::string fields = "heads=2 queries=3 keys=70 fill=normal in=" + std::string(in);
    EXPECT_EQ(disagreements("values_negated", "fake_right", fields), 0) << in;
    EXPECT_EQ(disagreements("values_negated", "fake_floored", fields), 8) << in;
  }
}

// The related problem: one row of v for each head, none like another, and the numbers expected.
TEST(FlashLaw, ValuesConstantAreThoseOfTheHead) {
  const Operation& operation = *find_operation("flash_attention");
  for (const char* layout : {"packed", "mixed", "broadcast", "permuted"}) {
    const Case c = case_of(
        "fake_right batches=2 heads=3 queries=2 keys=5 dim=8 mask=empty_rows:1:2 seed=0x4 layout=" +
        std::string(layout));
    const gpu::Problem problem = operation.materialise(c);
    const Relation relation = find_law(operation, "values_constant")->relate(c, problem);
    ASSERT_TRUE(relation.applies());
    const auto v = numbers(relation.problem, "v");
    const auto& value = relation.outputs.at(0).value;
    ASSERT_EQ(value.size(), 96u);
    std::set<double> first;
    for (std::size_t i = 0; i < value.size(); ++i) {
      const std::size_t head = i / 16, query = i / 8 % 2, channel = i % 8;
      for (std::size_t j = 0; j < 5; ++j) {
        ASSERT_EQ(v[(head * 5 + j) * 8 + channel], v[head * 5 * 8 + channel]) << layout;
      }
      EXPECT_EQ(value[i], query == 1 ? 0 : v[head * 5 * 8 + channel]);
      if (channel == 0 && query == 0) first.insert(value[i]);
    }
    if (layout == std::string("packed")) {
      EXPECT_EQ(first.size(), 6u);
    }
    EXPECT_EQ(numbers(relation.problem, "q"), numbers(problem, "q"));
    EXPECT_EQ(numbers(relation.problem, "k"), numbers(problem, "k"));
  }
}

// One related problem differs from its first in what the law says, and in nothing else.
TEST(FlashLaw, HeadAloneIsThatHead) {
  const Case c = case_of(
      "fake_right batches=2 heads=3 queries=2 keys=5 dim=8 mask=bias layout=gap:1 law=head_alone "
      "seed=0x4");
  const Operation& operation = *find_operation("flash_attention");
  const gpu::Problem problem = operation.materialise(c);
  const Relation relation = find_law(operation, "head_alone")->relate(c, problem);
  ASSERT_TRUE(relation.applies());
  const auto& place = relation.outputs[0].place;
  std::int64_t head = -1;
  for (std::size_t i = 0; i < place.size(); ++i) {
    if (place[i] == 0) head = static_cast<std::int64_t>(i) / 16;
  }
  ASSERT_GE(head, 0);
  for (const auto& [operand, size] :
       {std::pair<const char*, std::size_t>{"q", 16}, {"k", 40}, {"v", 40}, {"mask", 10}}) {
    const auto all = numbers(problem, operand);
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(size) * head;
    EXPECT_EQ(numbers(relation.problem, operand),
              std::vector<double>(begin, begin + static_cast<std::ptrdiff_t>(size)))
        << operand;
  }
  EXPECT_EQ(std::ranges::count(place, -1), 80);
}

}  // namespace
}  // namespace halfulp::properties
