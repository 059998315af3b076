#include "properties/graph_simplify.hpp"

#include <algorithm>

#include "properties/graph_case.hpp"
#include "properties/graph_spec.hpp"
#include "properties/operation.hpp"
#include "properties/simplify.hpp"
#include "properties/spec.hpp"

namespace halfulp::properties {
namespace {

using Cases = std::vector<Case>;

// Nodes and graph at once; kept when legal.
void propose_graph(Cases& cases, const Case& c, std::int64_t nodes, const std::string& graph) {
  Case simpler = c;
  simpler.set("nodes", nodes);
  simpler.set("graph", graph);
  if (find_operation(c.operation)->validate(simpler).empty()) cases.push_back(std::move(simpler));
}

void propose_listed(Cases& cases, const Case& c, const Graph& graph) {
  propose_graph(cases, c, graph.nodes, edge_list(graph));
}

Graph without_edges(const Graph& graph, std::size_t first, std::size_t count) {
  Graph smaller;
  smaller.nodes = graph.nodes;
  for (std::size_t edge = 0; edge < graph.source.size(); ++edge) {
    if (edge >= first && edge < first + count) continue;
    smaller.add(graph.source[edge], graph.destination[edge]);
  }
  return smaller;
}

// `to[node]` is the node's new number.
Graph renumbered(const Graph& graph, const std::vector<std::int64_t>& to, std::int64_t nodes) {
  Graph result;
  result.nodes = nodes;
  for (std::size_t edge = 0; edge < graph.source.size(); ++edge) {
    result.add(to[static_cast<std::size_t>(graph.source[edge])],
               to[static_cast<std::size_t>(graph.destination[edge])]);
  }
  return result;
}

std::vector<bool> used_nodes(const Graph& graph) {
  std::vector<bool> used(static_cast<std::size_t>(graph.nodes), false);
  for (const std::int32_t node : graph.source) used[static_cast<std::size_t>(node)] = true;
  for (const std::int32_t node : graph.destination) used[static_cast<std::size_t>(node)] = true;
  return used;
}

// Leaves out every node that no edge touches, or only the one of that number.
void propose_fewer_nodes(Cases& cases, const Case& c, const Graph& graph) {
  const std::vector<bool> used = used_nodes(graph);
  const auto without = [&](const std::vector<bool>& keep) {
    std::vector<std::int64_t> to(keep.size());
    std::int64_t next = 0;
    for (std::size_t node = 0; node < keep.size(); ++node) to[node] = keep[node] ? next++ : next;
    propose_listed(cases, c, renumbered(graph, to, next));
  };
  if (std::find(used.begin(), used.end(), false) == used.end()) return;
  without(used);
  for (std::size_t node = 0; node < used.size(); ++node) {
    if (used[node]) continue;
    std::vector<bool> keep(used.size(), true);
    keep[node] = false;
    without(keep);
  }
}

// Node b becomes node a < b, and the nodes above b move down.
void propose_merged(Cases& cases, const Case& c, const Graph& graph, std::int64_t a,
                    std::int64_t b) {
  std::vector<std::int64_t> to(static_cast<std::size_t>(graph.nodes));
  for (std::int64_t node = 0; node < graph.nodes; ++node) {
    to[static_cast<std::size_t>(node)] = node == b ? a : node - (node > b ? 1 : 0);
  }
  propose_listed(cases, c, renumbered(graph, to, graph.nodes - 1));
}

// Halves first, then smaller runs down to single edges.
void propose_fewer_edges(Cases& cases, const Case& c, const Graph& graph) {
  const auto edges = static_cast<std::size_t>(graph.edges());
  for (std::size_t count = edges; count > 0; count /= 2) {
    for (std::size_t first = 0; first < edges; first += count) {
      propose_listed(cases, c, without_edges(graph, first, count));
    }
  }
}

// One end of an edge moves to a lower node.
void propose_lower_ends(Cases& cases, const Case& c, const Graph& graph) {
  for (std::size_t edge = 0; edge < graph.source.size() && edge < 32; ++edge) {
    for (const bool source : {true, false}) {
      Graph lower = graph;
      std::int32_t& end = source ? lower.source[edge] : lower.destination[edge];
      if (end == 0) continue;
      end = 0;
      propose_listed(cases, c, lower);
    }
  }
}

void propose_listed_smaller(Cases& cases, const Case& c) {
  constexpr std::int64_t kMergedPairsMax = 64;
  const Graph graph = graph_of(c);
  propose_fewer_edges(cases, c, graph);
  propose_fewer_nodes(cases, c, graph);
  for (std::int64_t b = graph.nodes - 1; b > 0 && b >= graph.nodes - kMergedPairsMax; --b) {
    propose_merged(cases, c, graph, 0, b);
    if (b > 1) propose_merged(cases, c, graph, b - 1, b);
  }
  if (graph.edges() <= 32) propose_lower_ends(cases, c, graph);
}

// Smaller numbers in the text of a generated graph, with the nodes as they are and with half of
// them.
void propose_parameters(Cases& cases, const Case& c) {
  const Spec spec = split_spec(c.text("graph"));
  const std::int64_t nodes = c.integer("nodes");
  for (std::size_t i = 0; i < spec.arguments.size(); ++i) {
    Spec smaller = spec;
    const auto value = parse_integer(spec.arguments[i]);
    if (!value) {
      smaller.arguments.erase(smaller.arguments.begin() + static_cast<std::ptrdiff_t>(i));
      propose_graph(cases, c, nodes, print(smaller));
      continue;
    }
    for (const std::int64_t next : {std::int64_t{1}, *value / 2, *value - *value / 4, *value - 1}) {
      if (next < 1 || next >= *value) continue;
      smaller.arguments[i] = std::to_string(next);
      propose_graph(cases, c, nodes, print(smaller));
    }
  }
  for (const std::int64_t next : {std::int64_t{1}, nodes / 2, nodes - nodes / 4, nodes - 1}) {
    if (next >= 1 && next < nodes) propose_graph(cases, c, next, print(spec));
  }
}

}  // namespace

Case with_folded_edges(const Case& c) {
  constexpr std::int64_t kShort = 8;  // edges of a list that is read at a glance
  const auto is_graph = [](const Field& field) { return field.name == "graph"; };
  if (!std::ranges::any_of(find_operation(c.operation)->fields, is_graph)) return c;
  if (split_spec(c.text("graph")).family != "edges" || graph_sizes(c).edges <= kShort) return c;
  Case folded = c;
  folded.set("graph", folded_edges(c.text("graph"), c.integer("nodes"), c.seed()));
  return folded;
}

std::vector<Case> graph_shrinks(const Case& c) {
  const Operation& operation = *find_operation(c.operation);
  const std::string_view family = split_spec(c.text("graph")).family == "edges" ? "edges" : "other";
  const GraphSizes sizes = graph_sizes(c);
  Cases cases;
  propose_graph(cases, c, sizes.nodes, "empty");
  if (family == "edges" || sizes.edges == 0) {
    propose_listed_smaller(cases, c);
  } else {
    if (sizes.edges <= kListedEdgesMax) propose_listed(cases, c, graph_of(c));
    propose_parameters(cases, c);
  }
  propose_smaller(cases, c, "heads", 1);
  propose_smaller(cases, c, "dim", 1);
  for (const char* dim : {"1", "4", "16", "64"}) {  // where a probe asks for squares
    if (parse_integer(dim).value() < sizes.dim) propose(cases, c, "dim", dim);
  }
  propose_plainer(cases, c);
  propose(cases, c, "eps", "1e-6");
  const auto weight = operation.weight(c);
  std::erase_if(cases, [&](const Case& simpler) { return operation.weight(simpler) >= weight; });
  return cases;
}

}  // namespace halfulp::properties
