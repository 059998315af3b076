// Laws of matmul: the truth of the related problem is what the law says of the first one's.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "properties/check.hpp"
#include "properties/law.hpp"
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
            if (const auto& value = relation.outputs.at(0).value; !value.empty()) {
              ASSERT_EQ(related.size(), value.size());
              for (std::size_t i = 0; i < value.size(); ++i) {
                ASSERT_EQ(related[i], value[i]) << law.name << " " << print(c) << " " << i;
              }
              continue;
            }
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

// Without any reference: kernels that mix up or convert what they read do not give it back.
TEST(MatmulLaw, IdentityCatchesWhatWrongKernelsGive) {
  const Operation& operation = *find_operation("matmul");
  const Law& law = *find_law(operation, "identity");
  const auto disagreements = [&](const std::string& kernel, const std::string& in, bool of_rows) {
    int found = 0;
    for (int seed = 1; seed <= 8; ++seed) {
      Case c = case_of("m=9 n=6 k=5 fill=normal in=" + in + " seed=" + std::to_string(seed));
      c.kernel = kernel;
      const auto setup = set_up(c);
      const gpu::Problem problem = operation.materialise(c);
      const Relation relation = law.relate(c, problem);
      const bool a_changed = relation.problem.operands[0].storage != problem.operands[0].storage;
      if (a_changed != of_rows) continue;
      const auto outputs = [&](const gpu::Problem& asked) {
        return gpu::run(*setup.kernel, setup.backend, asked, setup.schedule).outputs.at(0);
      };
      found += !disagreement(operation, setup.numerics, problem, outputs(problem), relation,
                             outputs(relation.problem))
                    .empty();
    }
    return found;
  };
  for (const bool of_rows : {true, false}) {
    for (const char* in : {"f32", "f16", "bf16", "tf32"}) {
      EXPECT_EQ(disagreements("fake_right", in, of_rows), 0) << in;
    }
    EXPECT_GT(disagreements("fake_converted", "f32", of_rows), 0);
    // The last two k take the rows of b in the wrong order.
    EXPECT_GT(disagreements("fake_swapped", "f16", of_rows), 0);
  }
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
