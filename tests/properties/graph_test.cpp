// Graphs: every family has the edges it promises, columns are right, errors name the field.
#include "properties/graph.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "properties/graph_fixture.hpp"
#include "properties/graph_spec.hpp"

namespace halfulp::properties {
namespace {

Graph built(std::string_view text, std::int64_t nodes, std::uint64_t seed = 1) {
  EXPECT_EQ(graph_error(text, nodes), "") << text;
  return build_graph(text, nodes, seed);
}

#define EXPECT_REFUSED(text, nodes, part)                           \
  EXPECT_NE(graph_error(text, nodes).find(part), std::string::npos) \
      << "said: " << graph_error(text, nodes)

TEST(Graph, ColumnsOfAKnownGraph) {
  Graph graph;
  graph.nodes = 5;
  for (const auto& [from, to] : {std::pair{3, 2}, {1, 0}, {0, 2}, {3, 2}, {4, 4}})
    graph.add(from, to);
  const Columns result = columns(graph);
  EXPECT_EQ(result.pointer, (std::vector<std::int32_t>{0, 1, 1, 4, 4, 5}));
  EXPECT_EQ(result.source, (std::vector<std::int32_t>{1, 3, 0, 3, 4}));
  EXPECT_EQ(result.edge_id, (std::vector<std::int32_t>{1, 0, 2, 3, 4}));
  EXPECT_EQ(rank_at_destination(graph), (std::vector<std::int32_t>{0, 0, 1, 2, 0}));
  EXPECT_EQ(in_degree(graph), (std::vector<std::int32_t>{1, 0, 3, 0, 1}));
}

TEST(Graph, ColumnsOfNothing) { EXPECT_EQ(columns(Graph{}).pointer, std::vector<std::int32_t>{0}); }

TEST(Graph, EveryFamilyHasTheEdgesItPromises) {
  const std::vector<std::string> texts{"empty",
                                       "edges:0>1,0>1,2>1",
                                       "self",
                                       "chain",
                                       "ring",
                                       "star",
                                       "complete",
                                       "random:40",
                                       "hub:65",
                                       "power:80",
                                       "bipartite:17",
                                       "duplicates:200",
                                       "batch:3",
                                       "batch:3:7",
                                       "random:40:sorted",
                                       "hub:9:isolated_first:shuffled",
                                       "chain:isolated_middle",
                                       "batch:2:4:isolated_last"};
  for (const std::string& text : texts) {
    for (const std::int64_t nodes : {3, 7, 16}) {
      const Graph graph = built(text, nodes);
      EXPECT_EQ(graph.nodes, nodes);
      EXPECT_EQ(graph.edges(), graph_edge_count(text, nodes)) << text;
      for (const std::int32_t node : graph.destination) EXPECT_TRUE(node >= 0 && node < nodes);
      for (const std::int32_t node : graph.source) EXPECT_TRUE(node >= 0 && node < nodes);
      EXPECT_EQ(graph, built(text, nodes)) << "same seed, same graph";
    }
  }
}

TEST(Graph, FamiliesAreWhatTheySay) {
  EXPECT_EQ(edge_list(built("chain", 4)), "edges:0>1,1>2,2>3");
  EXPECT_EQ(edge_list(built("ring", 3)), "edges:0>1,1>2,2>0");
  EXPECT_EQ(edge_list(built("star", 4)), "edges:0>2,1>2,3>2");
  EXPECT_EQ(edge_list(built("self", 2)), "edges:0>0,1>1");
  EXPECT_EQ(edge_list(built("complete", 3)), "edges:0>1,0>2,1>0,1>2,2>0,2>1");
  EXPECT_EQ(edge_list(built("edges:2>1,0>0,2>1", 3)), "edges:2>1,0>0,2>1");
  EXPECT_EQ(edge_list(built("random:0", 3)), "empty");
  for (const char* text : {"empty", "chain", "ring", "star", "complete", "self", "random:0"}) {
    EXPECT_EQ(built(text, 0).edges(), 0) << text;
  }
  const auto degree = in_degree(built("hub:1025", 4));
  EXPECT_GE(*std::max_element(degree.begin(), degree.end()), 1025);
  const Graph duplicates = built("duplicates:100", 5);
  std::set<std::pair<int, int>> pairs;
  for (std::size_t i = 0; i < 100; ++i)
    pairs.emplace(duplicates.source[i], duplicates.destination[i]);
  EXPECT_LE(pairs.size(), 3u);
  const Graph bipartite = built("bipartite:50", 7);
  EXPECT_LT(*std::max_element(bipartite.source.begin(), bipartite.source.end()), 3);
  EXPECT_GE(*std::min_element(bipartite.destination.begin(), bipartite.destination.end()), 3);
  const auto power = in_degree(built("power:1000", 20));
  EXPECT_GT(power[0], 5 * power[19]);
}

TEST(Graph, BatchesAreDisjoint) {
  const Graph graph = built("batch:4:30", 21);
  for (std::size_t edge = 0; edge < graph.source.size(); ++edge) {
    EXPECT_EQ(graph.source[edge] / 5, static_cast<std::int32_t>(edge / 30));
    EXPECT_EQ(graph.destination[edge] / 5, static_cast<std::int32_t>(edge / 30));
  }
}

TEST(Graph, VariantsIsolateAndOrder) {
  const auto touched = [](const Graph& graph) {
    std::set<std::int32_t> nodes(graph.source.begin(), graph.source.end());
    nodes.insert(graph.destination.begin(), graph.destination.end());
    return nodes;
  };
  EXPECT_EQ(touched(built("ring:isolated_first", 5)), (std::set<std::int32_t>{1, 2, 3, 4}));
  EXPECT_EQ(touched(built("ring:isolated_middle", 5)), (std::set<std::int32_t>{0, 1, 3, 4}));
  EXPECT_EQ(touched(built("ring:isolated_last", 16)).size(), 14u);
  const Graph sorted = built("random:50:sorted", 9);
  EXPECT_TRUE(std::is_sorted(sorted.destination.begin(), sorted.destination.end()));
  const Graph plain = built("random:50", 9);
  EXPECT_FALSE(std::is_sorted(plain.destination.begin(), plain.destination.end()));
  EXPECT_EQ(in_degree(sorted), in_degree(plain));
  const Graph shuffled = built("hub:50:shuffled", 9);
  EXPECT_NE(shuffled, built("hub:50", 9));
  EXPECT_EQ(in_degree(shuffled), in_degree(built("hub:50", 9)));
}

TEST(Graph, ErrorsNameTheField) {
  EXPECT_REFUSED("tree:4", 9, "graph=tree:4: expected one of empty, edges:0>1,2>1");
  EXPECT_REFUSED("random", 9, "expected random:M");
  EXPECT_REFUSED("random:4:5", 9, "expected random:M");
  EXPECT_REFUSED("random:x", 9, "'x' is neither a number");
  EXPECT_REFUSED("random:-1", 9, "'-1' is neither a number");
  EXPECT_REFUSED("random:1000000000000", 9, "neither a number from 0 to");
  EXPECT_REFUSED("complete", 100000, "more than 134217728 edges");
  EXPECT_REFUSED("random:4", 0, "needs a node");
  EXPECT_REFUSED("random:4:isolated_first", 1, "needs a node");
  EXPECT_REFUSED("random:4:sorted:shuffled", 9, "takes one of sorted");
  EXPECT_REFUSED("edges:0>1,2>9", 9, "'2>9' is not source>destination with both below nodes=9");
  EXPECT_REFUSED("edges:0>1,", 9, "'' is not source>destination");
  EXPECT_REFUSED("edges:", 9, "lists no edge");
  EXPECT_REFUSED("batch:0", 9, "at least one graph");
  EXPECT_REFUSED("batch:10", 9, "as many nodes as graphs");
  EXPECT_REFUSED("bipartite:3", 1, "two nodes");
  EXPECT_REFUSED("real:nothing", 9, "no such graph in fixtures/graphs");
}

TEST(Graph, FilesAreRead) {
  const Graph graph = parse_graph_file("# a graph\nnodes 3 edges 2\n2 0\n0 1\n");
  EXPECT_EQ(graph.nodes, 3);
  EXPECT_EQ(edge_list(graph), "edges:2>0,0>1");
  EXPECT_DEATH(parse_graph_file("nodes 3 edges 2\n2 0\n"), "edges it promises");
  EXPECT_DEATH(parse_graph_file("nodes 3 edges 1\n2 3\n"), "leaves the graph");
}

TEST(Graph, RealOnesAreCompiledIn) {
  ASSERT_GE(fixture_graph_names().size(), 3u);
  for (const std::string_view name : fixture_graph_names()) {
    const Graph& graph = *find_fixture_graph(name);
    const std::string text = "real:" + std::string(name);
    EXPECT_EQ(built(text, graph.nodes), graph);
    EXPECT_EQ(built(text + ":3", 3 * graph.nodes + 1).edges(), 3 * graph.edges());
    EXPECT_REFUSED(text, graph.nodes - 1, "needs nodes=" + std::to_string(graph.nodes));
  }
}

}  // namespace
}  // namespace halfulp::properties
