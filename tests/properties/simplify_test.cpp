// Shrinking: every proposal is legal and strictly lighter, and following them ends at the smallest
// case that still shows a fault.
#include "properties/simplify.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <functional>

#include "gpu/kernel.hpp"
#include "properties/graph_case.hpp"
#include "properties/graph_simplify.hpp"
#include "properties/graph_spec.hpp"
#include "properties/operation.hpp"
#include "properties/spec.hpp"

namespace halfulp::properties {
namespace {

const gpu::Kernel& kernel_of(std::string_view operation) {
  for (const gpu::Kernel& kernel : gpu::kernels()) {
    if (kernel.operation == operation) return kernel;
  }
  throw std::runtime_error("no kernel");
}

// Takes the first proposal that still fails, until none does.
Case smallest(Case c, const std::function<bool(const Case&)>& fails) {
  const Operation& operation = *find_operation(c.operation);
  for (bool progress = true; progress;) {
    progress = false;
    for (const Case& simpler : operation.shrinks(c)) {
      if (!fails(simpler)) continue;
      c = simpler;
      progress = true;
      break;
    }
  }
  return c;
}

TEST(Simplify, ProposalsAreLegalAndLighter) {
  for (const Operation& operation : operations()) {
    const auto of_operation = [&](const gpu::Kernel& each) {
      return each.operation == operation.name;
    };
    if (std::ranges::none_of(gpu::kernels(), of_operation)) continue;  // nothing to make cases for
    for (int i = 0; i < 60; ++i) {
      const Case c = operation.generate(kernel_of(operation.name), gpu::Backend::host,
                                        rc::Random(static_cast<std::uint64_t>(i)), i);
      const auto weight = operation.weight(c);
      for (const Case& simpler : operation.shrinks(c)) {
        ASSERT_EQ(operation.validate(simpler), "") << print(c) << "\n" << print(simpler);
        ASSERT_LT(operation.weight(simpler), weight) << print(c) << "\n" << print(simpler);
        ASSERT_EQ(simpler.kernel, c.kernel);
        ASSERT_EQ(simpler.text("backend"), c.text("backend"));
      }
    }
  }
}

TEST(Simplify, NothingIsLeftOfACaseThatAlwaysFails) {
  const Case c = parse("graph_attention " + std::string(kernel_of("graph_attention").name) +
                       " in=bf16 nodes=40 heads=3 dim=33 graph=power:97:isolated_last:shuffled "
                       "fill=wide layout=gap:3 order=burst resident=7 eps=1 seed=0xabc")
                     .value;
  const Case least = smallest(c, [](const Case&) { return true; });
  EXPECT_EQ(print(least),
            "graph_attention " + least.kernel +
                " backend=host in=f32 nodes=0 heads=1 dim=1 graph=empty fill=ones seed=0x1");
}

TEST(Simplify, FindsTheTwoEdgesThatMatter) {
  const Case c = parse("scatter_normalize " + std::string(kernel_of("scatter_normalize").name) +
                       " nodes=23 heads=2 dim=5 graph=random:150:shuffled fill=normal seed=0x7")
                     .value;
  const auto fails = [](const Case& tried) {
    for (const std::int32_t degree : in_degree(graph_of(tried))) {
      if (degree >= 2) return tried.integer("dim") >= 3;
    }
    return false;
  };
  ASSERT_TRUE(fails(c));
  EXPECT_EQ(
      print(smallest(c, fails)),
      "scatter_normalize " + c.kernel +
          " backend=host in=f32 nodes=1 heads=1 dim=3 graph=edges:0>0,0>0 fill=ones seed=0x1");
}

TEST(Simplify, FaultsThatDependOnParityShrinkOn) {
  const std::string kernel(kernel_of("vector_add").name);
  for (const std::int64_t odd : {0, 1}) {
    const Case c = parse("vector_add " + kernel + " n=" + std::to_string(1000 + odd)).value;
    const auto fails = [&](const Case& tried) {
      return tried.integer("n") % 2 == odd && tried.integer("n") > 12;
    };
    EXPECT_EQ(smallest(c, fails).integer("n"), 14 - odd);
  }
}

TEST(Simplify, LongListsOfEdgesAreFolded) {
  const std::string head =
      "scatter_normalize " + std::string(kernel_of("scatter_normalize").name) + " graph=";
  std::string list = "edges:0>0";
  for (int edge = 1; edge < 33; ++edge) list += ",0>0";
  const Case listed = parse(head + list + " nodes=1").value;
  EXPECT_EQ(with_folded_edges(listed).text("graph"), "hub:33");
  const Case generated = parse(head + "duplicates:20 nodes=5 seed=0x9").value;
  Case written = generated;
  written.set("graph", edge_list(graph_of(generated)));
  EXPECT_EQ(with_folded_edges(written), generated);
  EXPECT_EQ(with_folded_edges(parse(head + "edges:0>0,0>0 nodes=1").value).text("graph"),
            "edges:0>0,0>0");
  const Case other = parse("vector_add " + std::string(kernel_of("vector_add").name)).value;
  EXPECT_EQ(with_folded_edges(other), other);
}

TEST(Simplify, KeepsTheNodeThatMatters) {
  const Case c = parse("graph_attention " + std::string(kernel_of("graph_attention").name) +
                       " nodes=95 heads=2 dim=3 graph=real:contact_1hpv fill=G4 seed=0x7")
                     .value;
  // Fails while some edge joins two different nodes and a third has no incoming edge.
  const auto fails = [](const Case& tried) {
    const Graph graph = graph_of(tried);
    bool joins = false;
    for (std::size_t i = 0; i < graph.source.size(); ++i)
      joins |= graph.source[i] != graph.destination[i];
    const auto degree = in_degree(graph);
    return joins && std::count(degree.begin(), degree.end(), 0) >= 2;
  };
  ASSERT_TRUE(fails(c));
  const Case least = smallest(c, fails);
  EXPECT_EQ(least.integer("nodes"), 3);
  EXPECT_EQ(graph_sizes(least).edges, 1);
}

TEST(Simplify, LargeGraphsGetSmallerParametersFirst) {
  const Case c = parse("graph_attention " + std::string(kernel_of("graph_attention").name) +
                       " nodes=3 graph=hub:4097 seed=0x7")
                     .value;
  const auto fails = [](const Case& tried) { return graph_sizes(tried).edges > 1030; };
  const Case least = smallest(c, fails);
  EXPECT_EQ(split_spec(least.text("graph")).family, "hub");
  EXPECT_EQ(graph_sizes(least).edges, 1031);
  EXPECT_LE(least.integer("nodes"), 2);
}

}  // namespace
}  // namespace halfulp::properties
