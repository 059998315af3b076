// What wide_test.cpp is able to see: kernels whose offsets are 32 bits wide (wide_mutants/) are
// right where rows lie next to each other. They are wrong, on each backend that their records name,
// where the operands that these name lie apart.
#include <gtest/gtest.h>

#include <iterator>
#include <ostream>
#include <sstream>
#include <string>

#include "gpu/simt/session.hpp"
#include "tests/gpu/wide_call.hpp"
#include "tests/gpu/wide_problems.hpp"
#include "tests/mutants/mutant.hpp"

namespace halfulp::mutants {

// For GoogleTest, which would print addresses.
static void PrintTo(const Mutant& mutant, std::ostream* stream) { *stream << mutant.full_name; }

}  // namespace halfulp::mutants

namespace halfulp::gpu {
namespace {

using mutants::Mutant;
using test::WideLayout;
using test::WideResult;

std::vector<std::string> words(std::string_view text) {
  std::istringstream stream{std::string(text)};
  return {std::istream_iterator<std::string>(stream), {}};
}

// What a mutant is built with: tests/mutants/mutant.cpp.
std::vector<Problem> problems_of(const Kernel& kernel) {
  std::vector<Problem> problems;
  for (const Format storage : kernel.storage) {
    const bool built = storage == Format::f16 || storage == Format::f32;
    if (built) problems.push_back(test::wide_problems(kernel, storage).front());
  }
  return problems;
}

struct Calls {
  int same = 0, different = 0;
  bool no_memory = false;  // not even addresses
};

// Calls on every layout; with `name` apart until one differs, or with nothing where it is empty.
Calls calls(const Mutant& mutant, bool checked, const std::string& name) {
  const Kernel& kernel = *find_kernel(mutant.operation, mutant.kernel);
  const EntryPoint right = kernel.entry[static_cast<std::size_t>(Backend::host)];
  Calls calls;
  for (const Problem& problem : problems_of(kernel)) {
    for (const std::vector<WideLayout>& layouts : test::near_layouts(problem)) {
      const WideResult wanted = test::call_on_host(right, false, problem, layouts);
      const WideResult got = test::call_on_host(
          checked ? mutant.host_checked_entry : mutant.host_entry, checked, problem,
          name.empty() ? layouts : test::apart(problem, layouts, std::int64_t{1} << 31, name));
      if (!wanted.no_memory.empty() || !got.no_memory.empty()) return {.no_memory = true};
      const bool same = test::first_difference(problem, got, wanted).empty();
      ++(same ? calls.same : calls.different);
      if (!same && !name.empty()) return calls;
    }
  }
  return calls;
}

class WideMutants : public testing::TestWithParam<Mutant> {};

TEST_P(WideMutants, AreWrongWhereRowsLieApart) {
  const Mutant& mutant = GetParam();
  for (const bool checked : {false, true}) {
    if ((checked ? mutant.host_checked : mutant.host).empty()) continue;
    if (checked && !simt::checker_available()) continue;
    SCOPED_TRACE(checked ? "host-checked" : "host");
    const Calls near = calls(mutant, checked, "");
    EXPECT_GT(near.same, 0);
    EXPECT_EQ(near.different, 0) << "rows next to each other";
    for (const std::string& operand : words(mutant.killer)) {
      const Calls wide = calls(mutant, checked, operand);
      if (wide.no_memory) GTEST_SKIP() << "no addresses";
      EXPECT_GT(wide.different, 0) << operand << " apart";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, WideMutants, testing::ValuesIn(mutants::mutant_table()),
                         [](const auto& instance) {
                           const Mutant& mutant = instance.param;
                           return std::string(mutant.operation) + "_" + std::string(mutant.kernel) +
                                  "_" + std::string(mutant.name);
                         });

}  // namespace
}  // namespace halfulp::gpu
