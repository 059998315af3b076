#include "properties/graph_spec.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

#include "properties/assert.hpp"
#include "properties/graph_family.hpp"
#include "properties/philox.hpp"
#include "properties/spec.hpp"

namespace halfulp::properties {
namespace {

constexpr std::uint32_t kShuffleStream = 0x53485546;

// Edges of these nodes are left out: `count` of them from `first`.
struct Isolated {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

struct Reading {
  Spec spec;  // owns what `request.arguments` shows
  const GraphFamilyRow* family = nullptr;
  GraphRequest request;
  Isolated isolated;
  bool sorted = false;
  bool shuffled = false;
};

// Returns what is wrong.
std::string take_variants(Reading& reading, std::int64_t nodes) {
  int isolations = 0;
  const std::int64_t count = std::min(nodes, std::max<std::int64_t>(1, nodes / 8));
  reading.request.nodes = nodes;
  const auto isolate = [&](std::string_view variant, std::int64_t first) {
    if (!reading.spec.take(variant)) return;
    ++isolations;
    reading.isolated = {first, count};
    reading.request.nodes = nodes - count;
  };
  isolate("isolated_first", 0);
  isolate("isolated_middle", (nodes - count) / 2);
  isolate("isolated_last", nodes - count);
  reading.sorted = reading.spec.take("sorted");
  reading.shuffled = reading.spec.take("shuffled");
  if (isolations > 1) return "takes one of isolated_first, isolated_middle, isolated_last";
  return reading.sorted && reading.shuffled ? "takes one of sorted, shuffled" : "";
}

std::string known_families() {
  std::vector<std::string_view> forms;
  for (const GraphFamilyRow& row : graph_family_rows()) forms.push_back(row.form);
  return join(forms, ", ");
}

// Fills `reading`; returns what is wrong.
std::string read(std::string_view text, std::int64_t nodes, std::uint64_t seed, Reading& reading) {
  reading.spec = split_spec(text);
  reading.request.seed = seed;
  reading.family = find_graph_family(reading.spec.family);
  if (reading.family == nullptr) return "expected one of " + known_families();
  if (std::string wrong = take_variants(reading, nodes); !wrong.empty()) return wrong;
  const GraphFamilyRow& family = *reading.family;
  GraphRequest& request = reading.request;
  for (const std::string& argument : reading.spec.arguments) {
    request.arguments.push_back(argument);
    if (!family.numeric) continue;
    const auto value = parse_integer(argument);
    if (!value || *value < 0 || *value > kEdgesMax) {
      return "'" + argument + "' is neither a number from 0 to " + std::to_string(kEdgesMax) +
             " nor one of isolated_first, isolated_middle, isolated_last, sorted, shuffled";
    }
    request.numbers.push_back(*value);
  }
  const std::size_t given = request.arguments.size();
  if (given < family.arguments_min || given > family.arguments_max) {
    return "expected " + std::string(family.form);
  }
  return family.error == nullptr ? std::string() : family.error(request);
}

Reading read_valid(std::string_view text, std::int64_t nodes, std::uint64_t seed) {
  Reading reading;
  const std::string error = read(text, nodes, seed, reading);
  HALFULP_ASSERT(error.empty(), error);
  return reading;
}

void reorder(Graph& graph, const std::vector<std::int32_t>& order) {
  const Graph old = graph;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto from = static_cast<std::size_t>(order[i]);
    graph.source[i] = old.source[from];
    graph.destination[i] = old.destination[from];
  }
}

void shuffle(Graph& graph, std::uint64_t seed) {
  std::vector<std::int32_t> order(graph.source.size());
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[Draw(seed, kShuffleStream, i).below(i)]);
  }
  reorder(graph, order);
}

}  // namespace

std::span<const GraphFamily> graph_families() {
  static const std::vector<GraphFamily> families = [] {
    std::vector<GraphFamily> rows;
    for (const GraphFamilyRow& row : graph_family_rows()) {
      rows.push_back({row.name, row.form, row.help});
    }
    return rows;
  }();
  return families;
}

std::string graph_error(std::string_view text, std::int64_t nodes) {
  Reading reading;
  std::string error = read(text, nodes, 0, reading);
  if (error.empty() && reading.family->count(reading.request) > kEdgesMax) {
    error = "more than " + std::to_string(kEdgesMax) + " edges";
  }
  return error.empty() ? error : "graph=" + std::string(text.substr(0, 60)) + ": " + error;
}

std::int64_t graph_edge_count(std::string_view text, std::int64_t nodes) {
  const Reading reading = read_valid(text, nodes, 0);
  return reading.family->count(reading.request);
}

Graph build_graph(std::string_view text, std::int64_t nodes, std::uint64_t seed) {
  const Reading reading = read_valid(text, nodes, seed);
  Graph graph;
  graph.nodes = reading.request.nodes;
  reading.family->build(reading.request, graph);
  graph.nodes = nodes;
  const auto shift = [&](std::int32_t& node) {
    if (node >= reading.isolated.first) node += static_cast<std::int32_t>(reading.isolated.count);
  };
  std::for_each(graph.source.begin(), graph.source.end(), shift);
  std::for_each(graph.destination.begin(), graph.destination.end(), shift);
  if (reading.shuffled) shuffle(graph, seed);
  if (reading.sorted) reorder(graph, columns(graph).edge_id);
  return graph;
}

std::string folded_edges(std::string_view text, std::int64_t nodes, std::uint64_t seed) {
  const Graph listed = build_graph(text, nodes, seed);
  for (const std::string family : {"hub:", "duplicates:"}) {
    const std::int64_t beside = graph_edge_count(family + "0", nodes);
    if (listed.edges() <= beside) continue;
    std::string shorter = family + std::to_string(listed.edges() - beside);
    const Graph graph = build_graph(shorter, nodes, seed);
    if (graph.source == listed.source && graph.destination == listed.destination) return shorter;
  }
  return std::string(text);
}

std::string edge_list(const Graph& graph) {
  if (graph.edges() == 0) return "empty";
  std::string text = "edges:";
  for (std::size_t edge = 0; edge < graph.source.size(); ++edge) {
    if (edge > 0) text += ",";
    text += std::to_string(graph.source[edge]) + ">" + std::to_string(graph.destination[edge]);
  }
  return text;
}

}  // namespace halfulp::properties
