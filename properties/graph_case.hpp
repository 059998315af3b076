// What the operations on graphs share: fields nodes, heads, dim, graph, eps; their limits; index
// operands.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gpu/problem.hpp"
#include "properties/case.hpp"
#include "properties/fill.hpp"
#include "properties/graph.hpp"

namespace halfulp::properties {

std::span<const Field> graph_fields();

struct GraphSizes {
  std::int64_t nodes = 0;
  std::int64_t edges = 0;
  std::int64_t heads = 0;
  std::int64_t dim = 0;
};
GraphSizes graph_sizes(const Case& c);  // of a case whose graph is without error
Graph graph_of(const Case& c);

// Graph, size and common errors. `node_rows` and `edge_rows`: operands of (nodes, heads, dim) and
// (edges, heads, dim), outputs included.
std::string graph_case_error(const Case& c, int node_rows, int edge_rows);

// The scene of a case on `graph`; the operation adds its quantities.
Scene graph_scene(const Case& c, const Graph& graph);

// Adds the operand `name` of (rows, heads, dim), or (rows, heads) for scores, with the case's
// values.
void add_filled(gpu::Problem& problem, const Case& c, const Scene& scene, std::string_view name,
                Quantity quantity, std::int64_t rows);

// {nodes + edges, heads + dim, how the graph is said, sum of node ids, then plainness}.
std::vector<std::uint64_t> graph_weight(const Case& c);

// "40 nodes, 72 edges, in-degree 0..9, 4 without incoming edges": for reports.
std::string graph_summary(const Case& c);

}  // namespace halfulp::properties
