#include "properties/graph_laws.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <numeric>

#include "properties/graph_problem.hpp"
#include "properties/layout.hpp"
#include "properties/number.hpp"
#include "properties/philox.hpp"
#include "properties/translate.hpp"

namespace halfulp::properties {
namespace {

using Rows = std::vector<std::int64_t>;

constexpr std::uint32_t kStream = 0x4c415753;  // of law draws, far from those of operands

Rows identity(std::int64_t count) {
  Rows rows(static_cast<std::size_t>(count));
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

Rows shuffled(std::int64_t count, std::uint64_t seed) {
  Rows rows = identity(count);
  for (std::size_t i = rows.size(); i > 1; --i) {
    std::swap(rows[i - 1], rows[Draw(seed, kStream, i).below(i)]);
  }
  return rows;
}

std::int32_t node_at(const Rows& rows, std::int32_t node) {
  return static_cast<std::int32_t>(rows[static_cast<std::size_t>(node)]);
}

// Edges of `old` with their ends renumbered.
Graph renumbered(const Graph& old, const Rows& to, std::int64_t nodes) {
  Graph graph;
  graph.nodes = nodes;
  for (std::size_t edge = 0; edge < old.source.size(); ++edge) {
    graph.add(node_at(to, old.source[edge]), node_at(to, old.destination[edge]));
  }
  return graph;
}

Rows inverse(const Rows& rows, std::int64_t count) {
  Rows result(static_cast<std::size_t>(count), -1);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    result[static_cast<std::size_t>(rows[i])] = static_cast<std::int64_t>(i);
  }
  return result;
}

// `edge_to` and `node_to` give the new row of each old one. Outputs agree within bounds, never bit
// for bit: a kernel may choose how it sums by strides, alignment or where a node's edges lie.
Relation relation(const gpu::Problem& problem, const GraphMove& move, const Rows& edge_to,
                  const Rows& node_to) {
  Relation result;
  result.problem = moved(problem, move);
  for (const gpu::Operand& operand : problem.operands) {
    if (operand.role != gpu::Role::output) continue;
    const std::int64_t width = operand.extent[1] * operand.extent[2];
    result.outputs.push_back({places(over_edges(operand) ? edge_to : node_to, width), 0});
  }
  return result;
}

// Edge order is free.
Relation edge_permutation(const Case& c, const gpu::Problem& problem) {
  const Graph old = graph_of(problem);
  if (old.edges() < 2) return {};
  GraphMove move;
  move.graph.nodes = old.nodes;
  move.edge_from = shuffled(old.edges(), c.seed());
  move.node_from = identity(old.nodes);
  for (const std::int64_t edge : move.edge_from) {
    const auto from = static_cast<std::size_t>(edge);
    move.graph.add(old.source[from], old.destination[from]);
  }
  return relation(problem, move, inverse(move.edge_from, old.edges()), move.node_from);
}

// Names of nodes are free. Each node keeps its edges in their order.
Relation node_relabelling(const Case& c, const gpu::Problem& problem) {
  const Graph old = graph_of(problem);
  if (old.nodes < 2) return {};
  const Rows to = shuffled(old.nodes, c.seed());
  GraphMove move;
  move.graph = renumbered(old, to, old.nodes);
  move.edge_from = identity(old.edges());
  move.node_from = inverse(to, old.nodes);
  return relation(problem, move, move.edge_from, to);
}

// A graph beside a copy of itself: the second block of a batch is what it was alone.
Relation batching(const Case&, const gpu::Problem& problem) {
  const Graph old = graph_of(problem);
  if (old.nodes == 0) return {};
  Rows edges = identity(old.edges());
  Rows nodes = identity(old.nodes);
  GraphMove move;
  move.graph = old;
  move.graph.nodes = 2 * old.nodes;
  for (std::size_t edge = 0; edge < old.source.size(); ++edge) {
    move.graph.add(old.nodes + old.source[edge], old.nodes + old.destination[edge]);
  }
  move.edge_from = edges;
  move.edge_from.insert(move.edge_from.end(), edges.begin(), edges.end());
  move.node_from = nodes;
  move.node_from.insert(move.node_from.end(), nodes.begin(), nodes.end());
  for (std::int64_t& edge : edges) edge += old.edges();
  for (std::int64_t& node : nodes) node += old.nodes;
  return relation(problem, move, edges, nodes);
}

// Three nodes without edges, at the front, in the middle and at the end, full of NaN: nobody
// notices.
Relation isolated_nodes(const Case&, const gpu::Problem& problem) {
  const Graph old = graph_of(problem);
  if (old.nodes == 0) return {};
  Rows to = identity(old.nodes);
  for (std::int64_t& node : to) node += node < old.nodes / 2 ? 1 : 2;
  GraphMove move;
  move.graph = renumbered(old, to, old.nodes + 3);
  move.edge_from = identity(old.edges());
  move.node_from = inverse(to, old.nodes + 3);
  return relation(problem, move, move.edge_from, to);
}

// Twice the values, twice the output, and every intermediate result has the same significand. fp16
// is left out: its outputs may be subnormal. Values must be far from both ends of the format.
Relation scaling(const Case&, const gpu::Problem& problem) {
  Relation result;
  gpu::Problem scaled = problem;
  for (gpu::Operand& operand : scaled.operands) {
    if (operand.role == gpu::Role::output) {
      result.outputs.push_back({{}, operand.name == "out" ? 1 : 0});
    }
    if (operand.name != "values" && operand.name != "v") continue;
    if (operand.format == gpu::Format::f16) return {};
    const reference::Format format = reference_format(operand.format);
    for (std::int64_t i = 0; i < operand.span_elements(); ++i) {
      const double value = reference::decode(format, get(operand, operand.storage.data(), i));
      if (!std::isfinite(value) || value == 0) continue;  // gaps hold NaN
      if (std::fabs(value) < 0x1p-40 || std::fabs(value) > 0x1p40) return {};
      put(operand, i, reference::encode(format, 2 * value));
    }
  }
  result.problem = std::move(scaled);
  result.bit_for_bit = true;
  return result;
}

constexpr std::array kLaws{
    Law{"edge_permutation", "the order of edges changes nothing", edge_permutation},
    Law{"node_relabelling", "outputs follow their nodes to new numbers", node_relabelling},
    Law{"batching", "a block of a batch is what it is alone", batching},
    Law{"isolated_nodes", "nodes without edges change no other", isolated_nodes},
    Law{"scaling", "twice the values, twice the output", scaling},
};

}  // namespace

std::span<const Law> graph_laws() { return kLaws; }

std::string_view law_words(std::span<const Law> laws) {
  static std::deque<std::string> kept;
  std::string words;
  for (const Law& law : laws) words += (words.empty() ? "" : "|") + std::string(law.name);
  return kept.emplace_back(std::move(words));
}

}  // namespace halfulp::properties
