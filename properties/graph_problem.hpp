// A problem on one graph turned into the same problem on another: rows of edges and nodes move,
// their values and layouts stay. What the laws are made with.
#pragma once
#include <cstdint>
#include <vector>

#include "gpu/problem.hpp"
#include "properties/graph.hpp"

namespace halfulp::properties {

Graph graph_of(const gpu::Problem& problem);  // without operand `source`: every source is 0

struct GraphMove {
  Graph graph;                          // the new one
  std::vector<std::int64_t> edge_from;  // (new edges): old edge whose row it takes
  std::vector<std::int64_t> node_from;  // (new nodes): old node, or -1 for rows of NaN
};
gpu::Problem moved(const gpu::Problem& problem, const GraphMove& move);

// For each element of an output with `old_rows` rows of `width` elements: its place after the move,
// given the new row of each old one (-1: gone).
std::vector<std::int64_t> places(const std::vector<std::int64_t>& new_row, std::int64_t width);

// Is the operand's outermost dimension that of edges? Otherwise it is that of nodes.
bool over_edges(const gpu::Operand& operand);

}  // namespace halfulp::properties
