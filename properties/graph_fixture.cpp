#include "properties/graph_fixture.hpp"

#include <charconv>
#include <map>

#include "properties/assert.hpp"
#include "properties/spec.hpp"

namespace halfulp::properties {
namespace {

// Numbers of a line that is otherwise words: "nodes 35 edges 74" and "0 3" both hold two.
std::vector<std::int64_t> numbers_of(std::string_view line) {
  std::vector<std::int64_t> numbers;
  for (const std::string_view word : split(line, ' ')) {
    if (const auto value = parse_integer(word)) numbers.push_back(*value);
  }
  return numbers;
}

const std::map<std::string_view, Graph>& fixture_graphs() {
  static const std::map<std::string_view, Graph> graphs = [] {
    std::map<std::string_view, Graph> parsed;
    for (const GraphFile& file : graph_files()) {
      parsed.emplace(file.name, parse_graph_file(file.text));
    }
    return parsed;
  }();
  return graphs;
}

}  // namespace

Graph parse_graph_file(std::string_view text) {
  Graph graph;
  std::int64_t edges = -1;
  for (const std::string_view line : split(text, '\n')) {
    if (line.empty() || line.front() == '#') continue;
    const std::vector<std::int64_t> numbers = numbers_of(line);
    HALFULP_ASSERT(numbers.size() == 2, "bad line in a graph file: " + std::string(line));
    if (edges < 0) {
      HALFULP_ASSERT(line.starts_with("nodes "), "a graph file starts with nodes N edges M");
      graph.nodes = numbers[0];
      edges = numbers[1];
    } else {
      graph.add(numbers[0], numbers[1]);
    }
  }
  HALFULP_ASSERT(edges == graph.edges(), "a graph file does not have the edges it promises");
  return graph;
}

std::vector<std::string_view> fixture_graph_names() {
  std::vector<std::string_view> names;
  for (const auto& [name, graph] : fixture_graphs()) names.push_back(name);
  return names;
}

const Graph* find_fixture_graph(std::string_view name) {
  const auto found = fixture_graphs().find(name);
  return found == fixture_graphs().end() ? nullptr : &found->second;
}

}  // namespace halfulp::properties
