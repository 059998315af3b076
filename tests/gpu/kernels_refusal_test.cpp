// What host entry points and backends refuse: nothing is launched, and the text names the argument.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "gpu/problem_check.hpp"
#include "tests/gpu/kernels_problems.hpp"

namespace halfulp::gpu {
namespace {

using test::Layout;

const test::Shape kShape{"refused", 3, 2, 5, {{0, 2}, {1, 2}, {2, 0}, {0, 1}}};

Problem attention() { return test::graph_attention(kShape, Format::f32, Layout::contiguous); }
Problem scatter() { return test::scatter_normalize(kShape, Format::f32, Layout::contiguous); }
Problem addition() { return test::vector_add(9, Format::f32, Layout::contiguous); }

Operand& operand(Problem& problem, std::string_view name) {
  return const_cast<Operand&>(problem.operand(name));
}

void set_index(Problem& problem, std::string_view name, std::size_t at, std::int32_t value) {
  std::memcpy(operand(problem, name).storage.data() + 4 * at, &value, sizeof value);
}

// Every kernel of the operation, on both host backends, refuses with a text that starts with
// `prefix`.
void expect_refused(const Problem& problem, const std::string& prefix) {
  for (const Kernel& kernel : kernels()) {
    if (kernel.operation != problem.operation) continue;
    for (const Backend backend : {Backend::host, Backend::host_checked}) {
      const Outcome outcome = run(kernel, backend, problem, {});
      EXPECT_EQ(outcome.fault.kind, FaultKind::refused) << kernel.name << outcome.fault.text;
      EXPECT_EQ(outcome.fault.text.substr(0, prefix.size()), prefix);
      EXPECT_EQ(outcome.launches, 0);
      EXPECT_TRUE(outcome.outputs.empty());
    }
  }
}

TEST(RefusalTest, NegativeAndMismatchedExtents) {
  Problem problem = addition();
  operand(problem, "x").extent = {-1};
  expect_refused(problem, "x: extent 0 is -1");

  problem = addition();
  operand(problem, "y").extent = {8};
  expect_refused(problem, "y: extents (8)");

  problem = attention();
  operand(problem, "v").extent = {3, 5, 2};
  operand(problem, "v").stride = {10, 2, 1};
  expect_refused(problem, "v: extents (3, 5, 2)");

  problem = attention();
  operand(problem, "e_out").extent[0] = 3;
  expect_refused(problem, "e_out: extents (3, 2, 5)");

  problem = scatter();
  operand(problem, "scores").extent = {4, 1};
  expect_refused(problem, "scores: extents (4, 1)");

  problem = scatter();
  operand(problem, "out").extent[0] = 2;  // column_pointer still has three nodes
  expect_refused(problem, "column_pointer: extents (4)");

  problem = attention();
  operand(problem, "q").stride.pop_back();
  expect_refused(problem, "q: 3 extents but 2 strides");

  problem = addition();
  operand(problem, "z").extent = {9, 1};
  operand(problem, "z").stride = {1, 1};
  expect_refused(problem, "z: extents (9, 1)");
}

TEST(RefusalTest, Strides) {
  Problem problem = attention();
  Operand& k = operand(problem, "k");
  k.stride = {20, 10, 2};
  k.storage.resize(4 * static_cast<std::size_t>(k.span_elements()));
  expect_refused(problem, "k: stride 2 is 2, the innermost one must be 1");

  problem = attention();
  operand(problem, "out").stride = {0, 5, 1};
  expect_refused(problem, "out: strides (0, 5, 1)");

  problem = attention();
  operand(problem, "e_out").stride = {10, 4, 1};  // rows of 5
  expect_refused(problem, "e_out: strides (10, 4, 1)");

  problem = scatter();
  operand(problem, "values").stride = {-10, 5, 1};
  expect_refused(problem, "values: stride 0 is -10");
}

TEST(RefusalTest, FormatsAndEpsilon) {
  Problem problem = addition();
  for (Operand& each : problem.operands) {
    each.format = Format::f64;
    each.storage.resize(9 * 8);
  }
  expect_refused(problem, "x: format f64, needs f32, f16 or bf16");

  problem = attention();
  operand(problem, "e").format = Format::f16;
  expect_refused(problem, "e: format f16, needs f32");

  for (const float epsilon : {0.0f, -1e-6f, std::numeric_limits<float>::quiet_NaN(),
                              std::numeric_limits<float>::infinity()}) {
    problem = scatter();
    problem.epsilon = epsilon;
    expect_refused(problem, "epsilon: is ");
  }
}

TEST(RefusalTest, NodeIdsAndInconsistentCsc) {
  for (const std::int32_t id : {-1, 3}) {
    Problem problem = attention();
    set_index(problem, "source", 1, id);
    expect_refused(problem, "source[1] is " + std::to_string(id));
    problem = scatter();
    set_index(problem, "destination", 2, id);
    expect_refused(problem, "destination[2] is " + std::to_string(id));
  }
  Problem problem = scatter();
  set_index(problem, "edge_id", 0, 4);
  expect_refused(problem, "edge_id[0] is 4, but there are 4 edges");
  problem = scatter();
  set_index(problem, "edge_id", 3, 0);  // in-edges of node 2 are edges 0 and 1
  expect_refused(problem, "edge_id[3] is 0, which an earlier position names too");
  problem = scatter();
  set_index(problem, "column_pointer", 3, 3);
  expect_refused(problem, "column_pointer[3] is 3, but there are 4 edges");
  problem = scatter();
  set_index(problem, "column_pointer", 1, 3);
  expect_refused(problem, "column_pointer[2] is 2, which is falling");
  problem = attention();
  set_index(problem, "column_source", 0, 1);
  expect_refused(problem, "column_source[0] is 1, but source[2] is 2");
}

TEST(RefusalTest, StorageThatIsTooShort) {
  Problem problem = attention();
  operand(problem, "v").storage.pop_back();
  expect_refused(problem, "v: storage holds");
}

// Pointers can only be wrong when an entry point is called directly.
class EntryPointTest : public testing::Test {
 protected:
  std::string refusal(std::size_t changed, void* data) {
    arguments_.clear();
    for (Operand& each : problem_.operands) {
      each.storage.resize(static_cast<std::size_t>(each.span_elements() * 4));
      arguments_.push_back({each.storage.data(), &each});
    }
    arguments_[changed].data = data;
    return find_kernel("graph_attention", "fused_csc")
        ->entry[0]({.operands = arguments_,
                    .epsilon = 1e-6f,
                    .workspaces = nullptr,
                    .stream = nullptr,
                    .settings = {}})
        .refused;
  }
  Problem problem_ = attention();
  std::vector<Argument> arguments_;
};

TEST_F(EntryPointTest, RefusesNullPointers) {
  EXPECT_EQ(refusal(1, nullptr), "k: null pointer for a non-empty operand");
  EXPECT_EQ(refusal(4, nullptr), "source: null pointer for a non-empty operand");
  EXPECT_EQ(refusal(10, nullptr), "e_out: null pointer for a non-empty operand");
}

TEST_F(EntryPointTest, RefusesOverlappingOutputs) {
  // "e" and "e_out" have the same size: in place is refused, so is overlap by one element.
  Operand& e = problem_.operands[3];
  EXPECT_EQ(refusal(10, e.storage.data()),
            "e_out: shares memory with e; an output needs memory of its own");
  EXPECT_EQ(refusal(9, e.storage.data() + e.storage.size() - 4),
            "out: shares memory with e; an output needs memory of its own");
}

TEST_F(EntryPointTest, RefusesAMissingOperand) {
  problem_.operands.erase(problem_.operands.begin() + 2);
  EXPECT_EQ(refusal(0, problem_.operands[0].storage.data()), "v: the argument is missing");
}

TEST(CheckProblemTest, AcceptsEveryGoodProblem) {
  for (const test::Shape& shape : test::shapes()) {
    for (const Layout layout : test::kLayouts) {
      EXPECT_EQ(check_problem(test::graph_attention(shape, Format::f16, layout)), "");
      EXPECT_EQ(check_problem(test::scatter_normalize(shape, Format::f32, layout)), "");
    }
  }
}

TEST(CheckProblemTest, RefusesAbsurdSizesWithoutOverflow) {
  Problem problem = addition();
  operand(problem, "x").extent = {std::int64_t{1} << 62};
  EXPECT_EQ(check_problem(problem).substr(0, 2), "x:");
}

}  // namespace
}  // namespace halfulp::gpu
