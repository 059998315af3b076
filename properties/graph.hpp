// Directed multigraphs in coordinate form, and their compressed columns.
//
// Edges keep their physical order, which is that of edge features; duplicates and self loops are
// edges like any other. The kernels under test receive both forms.
#pragma once
#include <cstdint>
#include <vector>

namespace halfulp::properties {

struct Graph {
  std::int64_t nodes = 0;
  std::vector<std::int32_t> source;       // (edges): j of j -> i, each in [0, nodes)
  std::vector<std::int32_t> destination;  // (edges): i of j -> i

  std::int64_t edges() const { return static_cast<std::int64_t>(source.size()); }
  void add(std::int64_t from, std::int64_t to);
  bool operator==(const Graph&) const = default;
};

// Edges grouped by destination, in physical order within a group (a stable counting sort).
struct Columns {
  std::vector<std::int32_t> pointer;  // (nodes + 1)
  std::vector<std::int32_t> source;   // (edges): source of the edge at each position
  std::vector<std::int32_t> edge_id;  // (edges): physical edge at each position
};
Columns columns(const Graph& graph);

std::vector<std::int32_t> in_degree(const Graph& graph);
// For each edge, how many earlier ones enter the same node.
std::vector<std::int32_t> rank_at_destination(const Graph& graph);

}  // namespace halfulp::properties
