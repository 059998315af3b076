#include "properties/graph_family.hpp"

#include <algorithm>
#include <array>

#include "properties/graph_fixture.hpp"
#include "properties/philox.hpp"
#include "properties/spec.hpp"

namespace halfulp::properties {
namespace {

constexpr std::uint32_t kStream = 0x47524150;  // of graph draws, far from those of operands

Draw edge_draw(const GraphRequest& r, std::int64_t edge) {
  return {r.seed, kStream, static_cast<std::uint64_t>(edge)};
}

std::int64_t pick(const Draw& draw, std::int64_t count, int which = 0) {
  return static_cast<std::int64_t>(draw.below(static_cast<std::uint64_t>(count), which));
}

std::string needs_nodes(const GraphRequest& r) {
  return r.nodes == 0 && r.argument(0) > 0 ? "needs a node to join" : "";
}
std::int64_t first_argument(const GraphRequest& r) { return r.argument(0); }

// empty
std::int64_t none(const GraphRequest&) { return 0; }
void build_empty(const GraphRequest&, Graph&) {}

// edges:0>1,2>1
bool read_edge(std::string_view text, std::int64_t nodes, std::int64_t& from, std::int64_t& to) {
  const std::size_t arrow = text.find('>');
  if (arrow == std::string_view::npos) return false;
  const auto source = parse_integer(text.substr(0, arrow));
  const auto destination = parse_integer(text.substr(arrow + 1));
  if (!source || !destination) return false;
  from = *source;
  to = *destination;
  return from >= 0 && from < nodes && to >= 0 && to < nodes;
}
std::string edges_error(const GraphRequest& r) {
  std::int64_t from = 0, to = 0;
  if (r.arguments[0].empty()) return "lists no edge; graph=empty has none";
  for (const std::string_view edge : split(r.arguments[0], ',')) {
    if (read_edge(edge, r.nodes, from, to)) continue;
    return "'" + std::string(edge.substr(0, 40)) +
           "' is not source>destination with both below nodes=" + std::to_string(r.nodes);
  }
  return {};
}
std::int64_t edges_count(const GraphRequest& r) {
  return static_cast<std::int64_t>(split(r.arguments[0], ',').size());
}
void build_edges(const GraphRequest& r, Graph& graph) {
  std::int64_t from = 0, to = 0;
  for (const std::string_view edge : split(r.arguments[0], ',')) {
    if (read_edge(edge, r.nodes, from, to)) graph.add(from, to);
  }
}

// random:M
void build_random(const GraphRequest& r, Graph& graph) {
  for (std::int64_t edge = 0; edge < r.argument(0); ++edge) {
    const Draw draw = edge_draw(r, edge);
    graph.add(pick(draw, r.nodes), pick(draw, r.nodes, 2));
  }
}

// hub:M
std::int64_t hub_count(const GraphRequest& r) { return r.argument(0) + r.nodes / 2; }
void build_hub(const GraphRequest& r, Graph& graph) {
  if (r.nodes == 0) return;
  const std::int64_t hub = pick(Draw(r.seed, kStream, 0, 1), r.nodes);
  for (std::int64_t edge = 0; edge < r.argument(0); ++edge) {
    graph.add(pick(edge_draw(r, edge), r.nodes), hub);
  }
  for (std::int64_t step = 1; step < r.nodes; step += 2) graph.add(hub, (hub + step) % r.nodes);
}

// star, chain, ring, complete, self
std::int64_t all_but_one(const GraphRequest& r) { return std::max<std::int64_t>(r.nodes - 1, 0); }
std::int64_t all(const GraphRequest& r) { return r.nodes; }
std::int64_t all_pairs(const GraphRequest& r) { return r.nodes * all_but_one(r); }
void build_star(const GraphRequest& r, Graph& graph) {
  const std::int64_t centre = r.nodes / 2;
  for (std::int64_t node = 0; node < r.nodes; ++node) {
    if (node != centre) graph.add(node, centre);
  }
}
void build_chain(const GraphRequest& r, Graph& graph) {
  for (std::int64_t node = 0; node + 1 < r.nodes; ++node) graph.add(node, node + 1);
}
void build_ring(const GraphRequest& r, Graph& graph) {
  for (std::int64_t node = 0; node < r.nodes; ++node) graph.add(node, (node + 1) % r.nodes);
}
void build_complete(const GraphRequest& r, Graph& graph) {
  for (std::int64_t from = 0; from < r.nodes; ++from) {
    for (std::int64_t to = 0; to < r.nodes; ++to) {
      if (from != to) graph.add(from, to);
    }
  }
}
void build_self(const GraphRequest& r, Graph& graph) {
  for (std::int64_t node = 0; node < r.nodes; ++node) graph.add(node, node);
}

// power:M: in-degrees fall off like a power of the node's number.
void build_power(const GraphRequest& r, Graph& graph) {
  for (std::int64_t edge = 0; edge < r.argument(0); ++edge) {
    const Draw draw = edge_draw(r, edge);
    const std::uint64_t u = draw.words[0];
    const std::uint64_t cube = (u * u >> 32) * u >> 32;
    const auto to = static_cast<std::int64_t>(cube * static_cast<std::uint64_t>(r.nodes) >> 32);
    graph.add(pick(draw, r.nodes, 2), to);
  }
}

// duplicates:M: M edges over few distinct pairs.
void build_duplicates(const GraphRequest& r, Graph& graph) {
  const std::int64_t pairs = (r.nodes + 1) / 2;
  for (std::int64_t edge = 0; edge < r.argument(0); ++edge) {
    const auto pair = static_cast<std::uint64_t>(pick(edge_draw(r, edge), pairs));
    const Draw ends(r.seed, kStream, pair, 2);
    graph.add(pick(ends, r.nodes), pick(ends, r.nodes, 2));
  }
}

// bipartite:M: from the first half to the second.
std::string bipartite_error(const GraphRequest& r) {
  return r.nodes < 2 && r.argument(0) > 0 ? "needs two nodes to join" : "";
}
void build_bipartite(const GraphRequest& r, Graph& graph) {
  const std::int64_t left = r.nodes / 2;
  for (std::int64_t edge = 0; edge < r.argument(0); ++edge) {
    const Draw draw = edge_draw(r, edge);
    graph.add(pick(draw, left), left + pick(draw, r.nodes - left, 2));
  }
}

// batch:COUNT[:M]: disjoint graphs of nodes / COUNT nodes and M edges each.
std::int64_t block_nodes(const GraphRequest& r) { return r.nodes / r.argument(0); }
std::int64_t block_edges(const GraphRequest& r) { return r.argument(1, 2 * block_nodes(r)); }
std::string batch_error(const GraphRequest& r) {
  if (r.argument(0) < 1) return "needs at least one graph";
  return block_nodes(r) > 0 ? "" : "needs as many nodes as graphs";
}
std::int64_t batch_count(const GraphRequest& r) { return r.argument(0) * block_edges(r); }
void build_batch(const GraphRequest& r, Graph& graph) {
  const std::int64_t size = block_nodes(r);
  const std::int64_t edges = block_edges(r);
  for (std::int64_t edge = 0; edge < r.argument(0) * edges; ++edge) {
    const Draw draw = edge_draw(r, edge);
    const std::int64_t first = edge / edges * size;
    graph.add(first + pick(draw, size), first + pick(draw, size, 2));
  }
}

// real:NAME[:COUNT]
std::int64_t copies(const GraphRequest& r) {
  return r.arguments.size() < 2 ? 1 : parse_integer(r.arguments[1]).value_or(0);
}
std::string real_error(const GraphRequest& r) {
  const Graph* graph = find_fixture_graph(r.arguments[0]);
  if (graph == nullptr) {
    return "no such graph in fixtures/graphs; there are " + join(fixture_graph_names(), ", ");
  }
  if (copies(r) < 1 || copies(r) > 65536) return "takes from 1 to 65536 copies";
  const std::int64_t needed = graph->nodes * copies(r);
  return r.nodes < needed ? "needs nodes=" + std::to_string(needed) + " or more" : "";
}
std::int64_t real_count(const GraphRequest& r) {
  return find_fixture_graph(r.arguments[0])->edges() * copies(r);
}
void build_real(const GraphRequest& r, Graph& graph) {
  const Graph& block = *find_fixture_graph(r.arguments[0]);
  for (std::int64_t copy = 0; copy < copies(r); ++copy) {
    for (std::size_t edge = 0; edge < block.source.size(); ++edge) {
      graph.add(copy * block.nodes + block.source[edge],
                copy * block.nodes + block.destination[edge]);
    }
  }
}

constexpr std::array kRows{
    GraphFamilyRow{"empty", "empty", "no edges", 0, 0, true, nullptr, none, build_empty},
    GraphFamilyRow{"edges", "edges:0>1,2>1", "these edges, source>destination", 1, 1, false,
                   edges_error, edges_count, build_edges},
    GraphFamilyRow{"self", "self", "a self loop at every node", 0, 0, true, nullptr, all,
                   build_self},
    GraphFamilyRow{"chain", "chain", "each node to the next", 0, 0, true, nullptr, all_but_one,
                   build_chain},
    GraphFamilyRow{"ring", "ring", "a chain, closed", 0, 0, true, nullptr, all, build_ring},
    GraphFamilyRow{"star", "star", "every node to the middle one", 0, 0, true, nullptr, all_but_one,
                   build_star},
    GraphFamilyRow{"complete", "complete", "every ordered pair of different nodes", 0, 0, true,
                   nullptr, all_pairs, build_complete},
    GraphFamilyRow{"random", "random:M", "M edges between random nodes", 1, 1, true, needs_nodes,
                   first_argument, build_random},
    GraphFamilyRow{"bipartite", "bipartite:M", "M edges from the first half to the second", 1, 1,
                   true, bipartite_error, first_argument, build_bipartite},
    GraphFamilyRow{"duplicates", "duplicates:M", "M edges over few distinct pairs", 1, 1, true,
                   needs_nodes, first_argument, build_duplicates},
    GraphFamilyRow{"power", "power:M", "M edges, in-degrees by a power law", 1, 1, true,
                   needs_nodes, first_argument, build_power},
    GraphFamilyRow{"hub", "hub:M", "a node of in-degree M, and one edge to every second other node",
                   1, 1, true, needs_nodes, hub_count, build_hub},
    GraphFamilyRow{"batch", "batch:COUNT[:M]", "COUNT disjoint random graphs of M edges each", 1, 2,
                   true, batch_error, batch_count, build_batch},
    GraphFamilyRow{"real", "real:NAME[:COUNT]", "COUNT copies of a graph of fixtures/graphs", 1, 2,
                   false, real_error, real_count, build_real},
};

}  // namespace

std::int64_t GraphRequest::argument(std::size_t index, std::int64_t fallback) const {
  return index < numbers.size() ? numbers[index] : fallback;
}

std::span<const GraphFamilyRow> graph_family_rows() { return kRows; }

const GraphFamilyRow* find_graph_family(std::string_view name) {
  for (const GraphFamilyRow& row : kRows) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

}  // namespace halfulp::properties
