#include "properties/graph_case.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "properties/graph_spec.hpp"
#include "properties/operands.hpp"
#include "properties/simplify.hpp"
#include "properties/spec.hpp"
#include "properties/translate.hpp"

namespace halfulp::properties {
namespace {

constexpr double kNodesMax = 1 << 27;
constexpr double kHeadsMax = 1 << 16;
constexpr double kDimMax = 1 << 20;

constexpr std::array kFields{
    Field{.name = "nodes",
          .kind = FieldKind::integer,
          .fallback = "1",
          .low = 0,
          .high = kNodesMax,
          .always = true,
          .help = "number of nodes"},
    Field{.name = "heads",
          .kind = FieldKind::integer,
          .fallback = "1",
          .low = 1,
          .high = kHeadsMax,
          .always = true,
          .help = "number of heads"},
    Field{.name = "dim",
          .kind = FieldKind::integer,
          .fallback = "1",
          .low = 1,
          .high = kDimMax,
          .always = true,
          .help = "channels of a head"},
    Field{.name = "graph",
          .kind = FieldKind::spec,
          .fallback = "empty",
          .always = true,
          .help = "a graph family, see halfulp list: hub:4, random:40:sorted, edges:0>1,2>1"},
    Field{.name = "eps",
          .kind = FieldKind::real,
          .fallback = "1e-6",
          .low = 1e-30,
          .high = 1e6,
          .help = "addend of the denominator"},
};

// Elements that one operand of (rows, heads, dim) spans, gaps included.
double span_elements(const Case& c, double rows) {
  const Spec layout = split_spec(c.text("layout"));
  double gap = layout.family == "mixed" ? 3 : 0;
  if (layout.family == "gap") gap = static_cast<double>(parse_integer(layout.arguments[0]).value());
  const auto heads = static_cast<double>(c.integer("heads"));
  const auto dim = static_cast<double>(c.integer("dim"));
  return rows * (heads * (dim + gap) + gap);
}

}  // namespace

std::span<const Field> graph_fields() { return kFields; }

GraphSizes graph_sizes(const Case& c) {
  const std::int64_t nodes = c.integer("nodes");
  return {nodes, graph_edge_count(c.text("graph"), nodes), c.integer("heads"), c.integer("dim")};
}

Graph graph_of(const Case& c) { return build_graph(c.text("graph"), c.integer("nodes"), c.seed()); }

std::string graph_case_error(const Case& c, int node_rows, int edge_rows) {
  std::string error = common_error(c);
  if (error.empty()) error = graph_error(c.text("graph"), c.integer("nodes"));
  if (!error.empty()) return error;
  const GraphSizes sizes = graph_sizes(c);
  const auto element = static_cast<double>(gpu::size_bytes(storage_format(c)));
  const auto nodes = static_cast<double>(sizes.nodes);
  const auto edges = static_cast<double>(sizes.edges);
  const double bytes =
      element * (span_elements(c, nodes * node_rows) + span_elements(c, edges * edge_rows)) +
      4 * (nodes + 4 * edges);
  error = bytes_error(bytes, {{"nodes", sizes.nodes}, {"heads", sizes.heads}, {"dim", sizes.dim}});
  if (!error.empty() && sizes.edges > sizes.nodes) {
    error += " (graph=" + std::string(c.text("graph").substr(0, 60)) + " has " +
             std::to_string(sizes.edges) + " edges)";
  }
  return error;
}

Scene graph_scene(const Case& c, const Graph& graph) {
  Scene scene = make_scene(c.seed(), reference_format(storage_format(c)), &graph);
  scene.heads = c.integer("heads");
  scene.dim = c.integer("dim");
  return scene;
}

void add_filled(gpu::Problem& problem, const Case& c, const Scene& scene, std::string_view name,
                Quantity quantity, std::int64_t rows) {
  std::vector<std::int64_t> extent{rows, scene.heads};
  if (quantity != Quantity::scores) extent.push_back(scene.dim);
  gpu::Operand& operand =
      add_operand(problem, c, name, storage_format(c), gpu::Role::input, std::move(extent));
  fill_operand(operand, find_fill(c.text("fill")), scene, quantity);
}

std::vector<std::uint64_t> graph_weight(const Case& c) {
  const GraphSizes sizes = graph_sizes(c);
  const Spec spec = split_spec(c.text("graph"));
  const bool listed = spec.family == "edges" || spec.family == "empty";
  std::uint64_t ids = 0;
  if (listed) {
    const Graph graph = graph_of(c);
    ids = std::accumulate(graph.source.begin(), graph.source.end(), ids);
    ids = std::accumulate(graph.destination.begin(), graph.destination.end(), ids);
  }
  std::vector<std::uint64_t> weight{
      static_cast<std::uint64_t>(sizes.nodes + sizes.edges),
      static_cast<std::uint64_t>(sizes.heads + sizes.dim),
      listed ? 0 : 1 + static_cast<std::uint64_t>(spec.arguments.size()), ids};
  const auto plain = plainness(c);
  weight.insert(weight.end(), plain.begin(), plain.end());
  weight.push_back(c.text("eps") == "1e-6" ? 0 : 1);
  return weight;
}

std::string graph_summary(const Case& c) {
  const Graph graph = graph_of(c);
  std::string text =
      std::to_string(graph.nodes) + " nodes, " + std::to_string(graph.edges()) + " edges";
  if (graph.nodes == 0) return text;
  const std::vector<std::int32_t> degree = in_degree(graph);
  const auto [least, most] = std::minmax_element(degree.begin(), degree.end());
  const auto without = std::count(degree.begin(), degree.end(), 0);
  return text + ", in-degree " + std::to_string(*least) + ".." + std::to_string(*most) + ", " +
         std::to_string(without) + " without incoming edges";
}

}  // namespace halfulp::properties
