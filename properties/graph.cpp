#include "properties/graph.hpp"

#include "properties/assert.hpp"

namespace halfulp::properties {
namespace {

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

}  // namespace

void Graph::add(std::int64_t from, std::int64_t to) {
  HALFULP_ASSERT(from >= 0 && from < nodes && to >= 0 && to < nodes, "an edge leaves the graph");
  source.push_back(static_cast<std::int32_t>(from));
  destination.push_back(static_cast<std::int32_t>(to));
}

Columns columns(const Graph& graph) {
  Columns result;
  result.pointer.assign(at(graph.nodes) + 1, 0);
  for (const std::int32_t node : graph.destination) ++result.pointer[at(node) + 1];
  for (std::size_t node = 0; node < at(graph.nodes); ++node) {
    result.pointer[node + 1] += result.pointer[node];
  }
  std::vector<std::int32_t> next(result.pointer.begin(), result.pointer.end() - 1);
  result.source.resize(graph.source.size());
  result.edge_id.resize(graph.source.size());
  for (std::size_t edge = 0; edge < graph.source.size(); ++edge) {
    const std::size_t position = at(next[at(graph.destination[edge])]++);
    result.source[position] = graph.source[edge];
    result.edge_id[position] = static_cast<std::int32_t>(edge);
  }
  return result;
}

std::vector<std::int32_t> in_degree(const Graph& graph) {
  std::vector<std::int32_t> degree(at(graph.nodes), 0);
  for (const std::int32_t node : graph.destination) ++degree[at(node)];
  return degree;
}

std::vector<std::int32_t> rank_at_destination(const Graph& graph) {
  std::vector<std::int32_t> seen(at(graph.nodes), 0);
  std::vector<std::int32_t> rank;
  rank.reserve(graph.destination.size());
  for (const std::int32_t node : graph.destination) rank.push_back(seen[at(node)]++);
  return rank;
}

}  // namespace halfulp::properties
