// Simpler graphs for shrinking: fewer edges, fewer nodes, smaller heads and dims, plainer fields.
#pragma once
#include <vector>

#include "properties/case.hpp"

namespace halfulp::properties {

// Shrinks of an operation that has graph_fields(). A generated graph of at most kListedEdgesMax
// edges is first written out; larger ones get smaller parameters.
std::vector<Case> graph_shrinks(const Case& c);

// The same case with a long list of edges said as the family that makes it, where one does; of any
// operation.
Case with_folded_edges(const Case& c);

inline constexpr std::int64_t kListedEdgesMax = 400;

}  // namespace halfulp::properties
