// Graphs as text: the `graph` field of a case, family[:argument]...[:variant]...
//
//   hub:1025   random:40:sorted   edges:0>1,0>1,2>1   real:ligand_1hpv   batch:4:10:isolated_last
//
// `halfulp list` prints the families. Variants after the arguments: isolated_first, isolated_middle
// and isolated_last keep one node in eight (at least one) out of every edge; sorted orders edges by
// destination, shuffled at random.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "properties/graph.hpp"

namespace halfulp::properties {

struct GraphFamily {
  std::string_view name;
  std::string_view form;  // "hub:M"
  std::string_view help;
};
std::span<const GraphFamily> graph_families();

// What is wrong with a graph of that many nodes, naming the field, or empty. Builds nothing.
std::string graph_error(std::string_view text, std::int64_t nodes);

// Of a text without error.
std::int64_t graph_edge_count(std::string_view text, std::int64_t nodes);
Graph build_graph(std::string_view text, std::int64_t nodes, std::uint64_t seed);

// "edges:0>1,2>1", or "empty".
std::string edge_list(const Graph& graph);

// "hub:33" or "duplicates:33" where one of them makes exactly the edges of the list `text` from
// this seed, in the same order; otherwise `text`.
std::string folded_edges(std::string_view text, std::int64_t nodes, std::uint64_t seed);

inline constexpr std::int64_t kEdgesMax = std::int64_t{1} << 27;

}  // namespace halfulp::properties
