// Every kernel on operands whose strides are 2^30 and 2^31 elements and more, on the host backends:
// the same bits as on operands whose rows lie next to each other. Rows are up to 2^40 elements from
// the base, so that no index, offset or address of 32 bits would do.
#include <gtest/gtest.h>

#include <string>

#include "tests/gpu/wide_call.hpp"
#include "tests/gpu/wide_problems.hpp"

namespace halfulp::gpu {
namespace {

using test::WideLayout;
using test::WideResult;

// What a problem is worth.
enum class Effort : std::uint8_t {
  all,     // every layout, and on the first two operands apart one by one as well
  first,   // the first four layouts
  single,  // one layout, another one each time
};

class WideStrides : public testing::TestWithParam<std::string> {
 protected:
  void compare(EntryPoint entry, bool checked, const Problem& problem,
               const std::vector<WideLayout>& layouts, bool in_turn) {
    const WideResult near = test::call_on_host(entry, checked, problem, layouts);
    std::vector<std::string> names{"all"};
    for (const Operand& operand : problem.operands) {
      if (in_turn && test::is_stretchable(operand)) names.push_back(operand.name);
    }
    for (const std::string& name : names) {
      const std::int64_t elements = std::int64_t{1} << (name == "all" ? 31 : 30);
      const WideResult wide = test::call_on_host(entry, checked, problem,
                                                 test::apart(problem, layouts, elements, name));
      if (!wide.no_memory.empty()) GTEST_SKIP() << wide.no_memory;
      ASSERT_EQ(test::first_difference(problem, wide, near), "") << name << " apart";
    }
  }

  void compare(EntryPoint entry, bool checked, const Problem& problem, Effort effort) {
    const std::vector<std::vector<WideLayout>> all = test::near_layouts(problem);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (effort == Effort::single && i != turn_ % all.size()) continue;
      if (effort == Effort::first && i >= 4) continue;
      SCOPED_TRACE("layout " + std::to_string(i));
      compare(entry, checked, problem, all[i], effort == Effort::all && i < 2);
      if (HasFatalFailure() || IsSkipped()) return;
    }
    ++turn_;
  }

 private:
  std::size_t turn_ = 0;  // which layout it is where one has to do
};

// The first problem of a kernel on every layout, in formats after the first on fewer; the others,
// of larger tiles or few rows, and all checked calls on one layout each.
TEST_P(WideStrides, AnswersHaveTheSameBits) {
  for (const Kernel& kernel : kernels()) {
    if (kernel.operation != GetParam()) continue;
    for (const Format storage : kernel.storage) {
      const std::vector<Problem> problems = test::wide_problems(kernel, storage);
      for (std::size_t i = 0; i < problems.size(); ++i) {
        for (const Backend backend : {Backend::host, Backend::host_checked}) {
          SCOPED_TRACE(std::string(kernel.name) + " " + std::string(name(storage)) + " problem " +
                       std::to_string(i) + " " + std::string(name(backend)));
          const EntryPoint entry = kernel.entry[static_cast<std::size_t>(backend)];
          const bool checked = backend == Backend::host_checked;
          if (entry == nullptr || (checked && i > 0)) continue;
          const Effort most = storage == kernel.storage[0] ? Effort::all : Effort::first;
          compare(entry, checked, problems[i], i > 0 || checked ? Effort::single : most);
          if (HasFatalFailure() || IsSkipped()) return;
        }
      }
    }
  }
}

// Where an axis has one element its stride says nothing, however large.
TEST_P(WideStrides, AxesOfOneElementHaveAnyStride) {
  constexpr std::int64_t kLarge = std::int64_t{1} << 62;
  for (const Kernel& kernel : kernels()) {
    const EntryPoint entry = kernel.entry[static_cast<std::size_t>(Backend::host_checked)];
    if (kernel.operation != GetParam() || entry == nullptr) continue;
    for (const Format storage : kernel.storage) {
      const Problem problem = test::single_problem(kernel, storage);
      std::vector<WideLayout> layouts(problem.operands.size());
      const WideResult near = test::call_on_host(entry, true, problem, layouts);
      for (std::size_t i = 0; i < layouts.size(); ++i) {
        const Operand& operand = problem.operands[i];
        layouts[i].inner_strided = operand.extent.back() == 1;
        layouts[i].apart.assign(operand.extent.size(), kLarge);
      }
      const WideResult wide = test::call_on_host(entry, true, problem, layouts);
      EXPECT_EQ(test::first_difference(problem, wide, near), "")
          << kernel.name << " " << name(storage);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Operations, WideStrides,
                         testing::Values("vector_add", "scatter_normalize", "graph_attention",
                                         "matmul", "flash_attention"),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace halfulp::gpu
