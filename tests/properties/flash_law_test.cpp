// Laws of flash_attention: right kernels keep them, faults break them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "properties/check.hpp"
#include "properties/law.hpp"
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
          const auto& place = relation.outputs.at(0).place;
          for (std::size_t i = 0; i < first.size(); ++i) {
            const std::int64_t j = place.empty() ? static_cast<std::int64_t>(i) : place.at(i);
            if (j < 0) continue;
            ++applied;
            // Both in double: sums of the same terms in another order.
            const double other = related.at(static_cast<std::size_t>(j));
            ASSERT_LE(std::fabs(other - first[i]), 0x1p-40) << print(c) << " " << i;
          }
        }
      }
    }
    EXPECT_GT(applied, 0) << law.name;
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
