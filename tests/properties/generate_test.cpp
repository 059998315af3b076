// Generators: the same random state gives the same cases, cases are legal and small, and everything
// that they should reach is reached.
#include "properties/generate.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "properties/fill.hpp"
#include "properties/graph_case.hpp"
#include "properties/graph_spec.hpp"
#include "properties/operation.hpp"
#include "properties/spec.hpp"
#include "tests/properties/digest.hpp"

namespace halfulp::properties {
namespace {

// A row like the registry's, fixed here so that the digests below do not move with the kernels.
gpu::Kernel kernel_of(std::string_view operation) {
  const std::string_view name = operation == "vector_add"          ? "scalar"
                                : operation == "matmul"            ? "fake_right"
                                : operation == "flash_attention"   ? "fake_settings"
                                : operation == "scatter_normalize" ? "gather_csc"
                                                                   : "fused_csc";
  gpu::Kernel kernel = *gpu::find_kernel(operation, name);
  kernel.storage = {gpu::Format::f32, gpu::Format::f16, gpu::Format::bf16};
  kernel.edges = {4, 32, 128};
  return kernel;
}

std::vector<Case> cases_of(std::string_view operation, int count, std::uint64_t seed) {
  const gpu::Kernel kernel = kernel_of(operation);
  std::vector<Case> cases;
  for (int i = 0; i < count; ++i) {
    const rc::Random random(seed + static_cast<std::uint64_t>(i));
    cases.push_back(
        find_operation(operation)->generate(kernel, gpu::Backend::host, random, i % 101));
  }
  return cases;
}

TEST(Generate, SameStateSameCases) {
  std::map<std::string_view, std::uint64_t> digests;
  for (const Operation& operation : operations()) {
    Digest digest;
    for (const Case& c : cases_of(operation.name, 200, 7)) digest.add(print(c));
    digests[operation.name] = digest.value();
  }
  // Written once. They change only when generators are meant to give other cases, or fixtures are
  // added.
  EXPECT_EQ(digests["vector_add"], 0x4604118a52ed57cau);
  EXPECT_EQ(digests["scatter_normalize"], 0xb26f79e10a0bb9d0u);
  EXPECT_EQ(digests["matmul"], 0xe21728b580cd8358u);
  EXPECT_EQ(digests["flash_attention"], 0xfa81b6479fa04019u);
  EXPECT_EQ(digests["graph_attention"], 0x9c5253f1486335a4u);
}

TEST(Generate, CasesAreLegalAndSmall) {
  for (const Operation& operation : operations()) {
    double elements = 0;
    const auto cases = cases_of(operation.name, 3000, 1);
    for (const Case& c : cases) {
      ASSERT_EQ(operation.validate(c), "") << print(c);
      for (const gpu::Operand& operand : operation.materialise(c).operands) {
        elements += static_cast<double>(operand.count());
      }
    }
    const bool dense = operation.name == "matmul" || operation.name == "flash_attention";
    const double most = dense ? 30000 : 5000;
    EXPECT_LT(elements / static_cast<double>(cases.size()), most) << operation.name;
  }
}

TEST(Generate, EveryFillLayoutAndScheduleIsReached) {
  for (const Operation& operation : operations()) {
    std::set<std::string, std::less<>> seen;
    for (const Case& c : cases_of(operation.name, 8000, 2)) {
      seen.insert("fill " + std::string(c.text("fill")));
      seen.insert("layout " + split_spec(c.text("layout")).family);
      seen.insert("order " + std::string(c.text("order")));
      seen.insert("in " + std::string(c.text("in")));
      seen.insert("law " + std::string(c.text("law")));
    }
    for (const Law& law : operation.laws) {
      EXPECT_TRUE(seen.contains("law " + std::string(law.name)))
          << operation.name << " " << law.name;
    }
    for (const std::string_view fill : split(fill_words(operation.name), '|')) {
      EXPECT_TRUE(seen.contains("fill " + std::string(fill))) << operation.name << " " << fill;
    }
    for (const char* what : {"layout packed", "layout gap", "layout permuted", "layout broadcast",
                             "layout offset", "layout mixed", "order round_robin", "order reverse",
                             "order burst", "order exhaustive", "in f32", "in f16", "in bf16"}) {
      EXPECT_TRUE(seen.contains(what)) << operation.name << " " << what;
    }
  }
}

TEST(Generate, EveryGraphFamilyIsReached) {
  std::set<std::string, std::less<>> seen;
  std::int64_t largest = 0;
  bool more_edges_than_pairs = false, no_nodes = false;
  for (const Case& c : cases_of("graph_attention", 5000, 3)) {
    const Spec spec = split_spec(c.text("graph"));
    const GraphSizes sizes = graph_sizes(c);
    seen.insert(spec.family);
    for (const std::string& argument : spec.arguments) seen.insert(argument);
    largest = std::max(largest, sizes.edges);
    more_edges_than_pairs |= sizes.nodes > 1 && sizes.edges > sizes.nodes * sizes.nodes;
    no_nodes |= sizes.nodes == 0;
  }
  for (const GraphFamily& family : graph_families()) {
    if (family.name == "edges") continue;  // shrinking makes these
    EXPECT_TRUE(seen.contains(family.name)) << family.name;
  }
  for (const char* variant :
       {"isolated_first", "isolated_middle", "isolated_last", "sorted", "shuffled"}) {
    EXPECT_TRUE(seen.contains(variant)) << variant;
  }
  EXPECT_GE(largest, 4097);
  EXPECT_TRUE(more_edges_than_pairs);
  EXPECT_TRUE(no_nodes);
}

TEST(Generate, SizesLieAroundTheEdges) {
  std::set<std::int64_t> sizes;
  for (const Case& c : cases_of("graph_attention", 5000, 4)) sizes.insert(c.integer("dim"));
  for (const std::int64_t size : {1, 2, 3, 4, 5, 9, 31, 32, 33, 65, 127, 128, 129}) {
    EXPECT_TRUE(sizes.contains(size)) << size;
  }
}

}  // namespace
}  // namespace halfulp::properties
