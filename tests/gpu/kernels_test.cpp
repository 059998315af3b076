// Every kernel of the registry, on every storage format, on both host backends, over small problems
// whose answers a naive double loop gives.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/gpu/kernels_problems.hpp"

namespace halfulp::gpu {
namespace {

using test::Layout;

constexpr Format kStorages[] = {Format::f32, Format::f16, Format::bf16};

std::string title(const Kernel& kernel, Backend backend, Format storage, Layout layout) {
  return std::string(kernel.operation) + " " + std::string(kernel.name) + " on " +
         std::string(name(backend)) + ", " + std::string(name(storage)) + ", " + test::name(layout);
}

std::vector<Problem> problems(const Kernel& kernel, Format storage, Layout layout) {
  std::vector<Problem> all;
  if (kernel.operation == "vector_add") {
    for (const std::int64_t n : {0, 1, 2, 3, 7, 9, 127, 128, 129, 383, 385, 513, 1537, 4099}) {
      all.push_back(test::vector_add(n, storage, layout));
    }
    return all;
  }
  for (const test::Shape& shape : test::shapes()) {
    all.push_back(kernel.operation == "scatter_normalize"
                      ? test::scatter_normalize(shape, storage, layout)
                      : test::graph_attention(shape, storage, layout));
  }
  return all;
}

void check_all(const Kernel& kernel, Backend backend, const Schedule& schedule) {
  for (const Format storage : kStorages) {
    for (const Layout layout : test::kLayouts) {
      SCOPED_TRACE(title(kernel, backend, storage, layout));
      for (const Problem& problem : problems(kernel, storage, layout)) {
        const Outcome outcome = run(kernel, backend, problem, schedule);
        ASSERT_EQ(outcome.fault.kind, FaultKind::none)
            << outcome.fault.text << "; extent 0 of the last operand "
            << problem.operands.back().extent[0];
        for (const Outputs& outputs : outcome.outputs) {
          ASSERT_EQ(test::first_wrong(problem, outputs), "");
        }
        EXPECT_TRUE(!kernel.numerics.repeatable || outcome.outputs.size() == 1);
      }
    }
  }
}

class KernelTest : public testing::TestWithParam<int> {
 protected:
  const Kernel& kernel() const { return kernels()[static_cast<std::size_t>(GetParam())]; }
};

TEST_P(KernelTest, IsRightOnTheHost) {
  for (const Order order : {Order::round_robin, Order::reverse, Order::burst}) {
    check_all(kernel(), Backend::host, {.order = order, .resident = 2, .seed = 11});
  }
}

TEST_P(KernelTest, IsRightAndCleanOnTheCheckedHost) {
  check_all(kernel(), Backend::host_checked, {.order = Order::round_robin, .resident = 3});
}

class GraphKernelTest : public KernelTest {};
class AttentionKernelTest : public KernelTest {};

// Hubs beyond what the other tests can afford on every layout.
TEST_P(GraphKernelTest, HandlesHubs) {
  for (const test::Shape& shape : {test::hub("1025", 1025, 1, 5), test::hub("4097", 4097, 2, 3)}) {
    const Problem problem = kernel().operation == "scatter_normalize"
                                ? test::scatter_normalize(shape, Format::f32, Layout::contiguous)
                                : test::graph_attention(shape, Format::f32, Layout::contiguous);
    const Outcome outcome = run(kernel(), Backend::host, problem, {.order = Order::reverse});
    ASSERT_EQ(outcome.fault.kind, FaultKind::none) << outcome.fault.text;
    for (const Outputs& outputs : outcome.outputs) {
      EXPECT_EQ(test::first_wrong(problem, outputs), "");
    }
  }
}

// A NaN in one score must reach the node's output: a clamp made of fminf and fmaxf would swallow
// it.
TEST_P(AttentionKernelTest, PropagatesNanThroughTheClamps) {
  Problem problem =
      test::graph_attention({"nan", 2, 1, 3, {{0, 1}, {1, 1}}}, Format::f32, Layout::contiguous);
  for (Operand& operand : problem.operands) {
    if (operand.name == "e") operand.storage[3] = operand.storage[2] = std::byte{0xff};
  }
  const Outcome outcome = run(kernel(), Backend::host, problem, {});
  ASSERT_EQ(outcome.fault.kind, FaultKind::none) << outcome.fault.text;
  const Operand& out = problem.operand("out");
  for (std::int64_t i = 0; i < out.count(); ++i) {
    const double value = test::value_at(out, outcome.outputs.at(0).at(0), i);
    EXPECT_EQ(std::isnan(value), i >= 3) << "element " << i;
  }
}

// A node without incoming edges is +0, not -0 and not what was there.
TEST_P(GraphKernelTest, GivesPlusZeroWithoutIncomingEdges) {
  const test::Shape shape{"isolated", 3, 2, 3, {{0, 1}}};
  for (const Format storage : kStorages) {
    const Problem problem = kernel().operation == "scatter_normalize"
                                ? test::scatter_normalize(shape, storage, Layout::contiguous)
                                : test::graph_attention(shape, storage, Layout::contiguous);
    const Outcome outcome = run(kernel(), Backend::host, problem, {});
    ASSERT_EQ(outcome.fault.kind, FaultKind::none) << outcome.fault.text;
    const auto bytes_a_node = static_cast<std::size_t>(6 * size_bytes(storage));
    const std::vector<std::byte>& out = outcome.outputs.at(0).at(0);
    for (std::size_t i = 0; i < bytes_a_node; ++i) {
      EXPECT_EQ(out[i], std::byte{0});
      EXPECT_EQ(out[2 * bytes_a_node + i], std::byte{0});
    }
  }
}

// Positions in the registry of the kernels whose operation is one of these.
std::vector<int> rows_of(const std::vector<std::string_view>& operations) {
  std::vector<int> rows;
  for (std::size_t i = 0; i < kernels().size(); ++i) {
    for (const std::string_view operation : operations) {
      if (kernels()[i].operation == operation) rows.push_back(static_cast<int>(i));
    }
  }
  return rows;
}

std::string row_name(const testing::TestParamInfo<int>& row) {
  const Kernel& kernel = kernels()[static_cast<std::size_t>(row.param)];
  return std::string(kernel.operation) + "_" + std::string(kernel.name);
}

INSTANTIATE_TEST_SUITE_P(
    Registry, KernelTest,
    testing::ValuesIn(rows_of({"vector_add", "scatter_normalize", "graph_attention"})), row_name);
INSTANTIATE_TEST_SUITE_P(Registry, GraphKernelTest,
                         testing::ValuesIn(rows_of({"scatter_normalize", "graph_attention"})),
                         row_name);
INSTANTIATE_TEST_SUITE_P(Registry, AttentionKernelTest,
                         testing::ValuesIn(rows_of({"graph_attention"})), row_name);

}  // namespace
}  // namespace halfulp::gpu
