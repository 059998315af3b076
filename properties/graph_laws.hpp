// Laws of the operations on graphs: relations between problems that hold whatever the numbers are.
#pragma once
#include <span>
#include <string_view>

#include "properties/operation.hpp"

namespace halfulp::properties {

std::span<const Law> graph_laws();

// "edge_permutation|node_relabelling|...", static storage.
std::string_view law_words(std::span<const Law> laws);

}  // namespace halfulp::properties
