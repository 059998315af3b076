// Laws of matmul: the truth of the related problem is what the law says of the first one's.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "properties/check.hpp"
#include "properties/matmul_laws.hpp"
#include "properties/setup.hpp"
#include "tests/properties/materialised.hpp"

namespace halfulp::properties {
namespace {

Case case_of(const std::string& fields) {
  const Parsed parsed = parse("matmul fake_right " + fields);
  EXPECT_EQ(parsed.error.what, "") << fields;
  return parsed.value;
}

std::vector<double> truth(const gpu::Problem& problem) {
  std::vector<double> values;
  const gpu::Numerics numerics;
  find_operation("matmul")->evaluate(problem, numerics, [&](const reference::Rows& rows) {
    values.insert(values.end(), rows.value.begin(), rows.value.end());
  });
  return values;
}

TEST(MatmulLaw, RelatedTruthIsTheFirst) {
  std::set<std::string_view> applied;
  for (const char* sizes :
       {"m=5 n=7 k=9", "m=1 n=4 k=1", "m=6 n=1 k=3", "m=33 n=2 k=40", "m=3 n=3 k=0"}) {
    for (const char* layout : {"packed", "gap:2", "offset:1", "mixed"}) {
      for (const char* transpose : {"none", "a", "b", "ab"}) {
        for (const char* in : {"f16", "tf32"}) {
          const Case c = case_of(std::string(sizes) + " fill=M2 seed=0x6 in=" + in +
                                 " layout=" + layout + " transpose=" + transpose);
          const gpu::Problem problem = find_operation("matmul")->materialise(c);
          const auto first = truth(problem);
          for (const Law& law : matmul_laws()) {
            const Relation relation = law.relate(c, problem);
            if (!relation.applies()) continue;
            applied.insert(law.name);
            const auto related = truth(relation.problem);
            const auto& place = relation.outputs.at(0).place;
            for (std::size_t i = 0; i < first.size(); ++i) {
              const std::int64_t j = place.empty() ? static_cast<std::int64_t>(i) : place.at(i);
              if (j < 0) continue;
              ASSERT_EQ(related.at(static_cast<std::size_t>(j)),
                        std::ldexp(first[i], relation.outputs[0].exponent))
                  << law.name << " " << print(c) << " " << i;
            }
          }
        }
      }
    }
  }
  EXPECT_EQ(applied.size(), matmul_laws().size());
}

TEST(MatmulLaw, RightKernelsKeepEveryLaw) {
  for (const Law& law : matmul_laws()) {
    for (const char* in : {"f32", "f16", "bf16", "tf32"}) {
      for (const char* fill : {"normal", "uniform", "M1"}) {
        Case c = case_of("m=9 n=6 k=50 layout=gap:1 transpose=a seed=0x3 in=" + std::string(in) +
                         " fill=" + fill);
        c.set("law", std::string(law.name));
        const Judgement j = judge(c);
        EXPECT_EQ(name(j.verdict), "pass") << print(c) << " " << j.reason;
      }
    }
  }
}

}  // namespace
}  // namespace halfulp::properties
