// The families of graph_spec, one row each: how many arguments, how many edges, and the edges
// themselves.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "properties/graph.hpp"

namespace halfulp::properties {

// A family's text without its variants, on the nodes that variants leave to it.
struct GraphRequest {
  std::vector<std::string_view> arguments;
  std::vector<std::int64_t> numbers;  // of the arguments, in order; empty when one is not a number
  std::int64_t nodes = 0;
  std::uint64_t seed = 0;

  std::int64_t argument(std::size_t index, std::int64_t fallback = 0) const;
};

struct GraphFamilyRow {
  std::string_view name;
  std::string_view form;
  std::string_view help;
  std::size_t arguments_min = 0;
  std::size_t arguments_max = 0;
  bool numeric = true;  // arguments are numbers from 0 to kEdgesMax
  // What is wrong beyond the arguments' form; nullptr when nothing can be.
  std::string (*error)(const GraphRequest&) = nullptr;
  std::int64_t (*count)(const GraphRequest&) = nullptr;
  void (*build)(const GraphRequest&, Graph&) = nullptr;
};

std::span<const GraphFamilyRow> graph_family_rows();
const GraphFamilyRow* find_graph_family(std::string_view name);

}  // namespace halfulp::properties
