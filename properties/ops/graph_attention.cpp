// graph_attention: clipped attention over incoming edges. Operands q, k, v (N, H, D), e (M, H, D),
// source, destination (M), column_pointer (N + 1), column_source, edge_id (M); outputs out (N, H,
// D), e_out (M, H, D).
#include "reference/ops/graph_attention.hpp"

#include <algorithm>
#include <array>

#include "properties/fields.hpp"
#include "properties/graph_case.hpp"
#include "properties/graph_generate.hpp"
#include "properties/graph_laws.hpp"
#include "properties/graph_simplify.hpp"
#include "properties/operands.hpp"
#include "properties/ops/ops.hpp"
#include "properties/translate.hpp"
#include "properties/truth.hpp"

namespace halfulp::properties {
namespace {

constexpr std::string_view kName = "graph_attention";
// Dims whose square root is a power of two, as G3 needs it.
constexpr std::array<std::int64_t, 5> kSquareDims{1, 4, 16, 64, 256};

std::string validate(const Case& c) {
  std::string error = graph_case_error(c, 4, 2);
  if (!error.empty() || c.text("fill") != "G3") return error;
  const std::int64_t dim = c.integer("dim");
  if (std::find(kSquareDims.begin(), kSquareDims.end(), dim) != kSquareDims.end()) return {};
  return "dim=" + std::to_string(dim) + ": fill=G3 needs 1, 4, 16, 64 or 256";
}

gpu::Problem materialise(const Case& c) {
  const Graph graph = graph_of(c);
  const Columns by_destination = columns(graph);
  Scene scene = graph_scene(c, graph);
  scene.quantities = {Quantity::q, Quantity::k, Quantity::v, Quantity::e};
  scene.outer = {graph.nodes, graph.nodes, graph.nodes, graph.edges()};
  gpu::Problem problem;
  problem.operation = kName;
  problem.epsilon = static_cast<float>(c.real("eps"));
  problem.operands.reserve(11);
  add_filled(problem, c, scene, "q", Quantity::q, graph.nodes);
  add_filled(problem, c, scene, "k", Quantity::k, graph.nodes);
  add_filled(problem, c, scene, "v", Quantity::v, graph.nodes);
  add_filled(problem, c, scene, "e", Quantity::e, graph.edges());
  add_indices(problem, c, "source", graph.source);
  add_indices(problem, c, "destination", graph.destination);
  add_indices(problem, c, "column_pointer", by_destination.pointer);
  add_indices(problem, c, "column_source", by_destination.source);
  add_indices(problem, c, "edge_id", by_destination.edge_id);
  for (const auto& [name, rows] :
       {std::pair{"out", graph.nodes}, std::pair{"e_out", graph.edges()}}) {
    add_operand(problem, c, name, storage_format(c), gpu::Role::output,
                {rows, scene.heads, scene.dim});
  }
  return problem;
}

reference::GraphAttention translate(const gpu::Problem& problem, const gpu::Numerics& numerics) {
  const gpu::Operand& q = problem.operand("q");
  const gpu::Operand& e = problem.operand("e");
  reference::GraphAttention op;
  op.nodes = q.extent[0];
  op.edges = e.extent[0];
  op.heads = q.extent[1];
  op.dim = q.extent[2];
  op.q = view(q);
  op.k = view(problem.operand("k"));
  op.v = view(problem.operand("v"));
  op.e = view(e);
  op.source = indices(problem.operand("source"));
  op.destination = indices(problem.operand("destination"));
  op.epsilon = problem.epsilon;
  op.arithmetic = arithmetic(numerics, q.format, problem.operand("out").format);
  return op;
}

Case generate(const gpu::Kernel& kernel, gpu::Backend backend, const rc::Random& random, int size) {
  return generate_graph_case(kernel, backend, random, size);
}

}  // namespace

Operation graph_attention_operation() {
  static const std::vector<Field> fields = with_common_fields(
      graph_fields(), {.fills = fill_words(kName), .laws = law_words(graph_laws())});
  return {.name = kName,
          .summary = "clipped attention over the incoming edges of each node",
          .fields = fields,
          .validate = validate,
          .materialise = materialise,
          .evaluate = Truth<translate>::rows,
          .exact = Truth<translate>::exact,
          .explain = Truth<translate>::terms,
          .shrinks = graph_shrinks,
          .weight = graph_weight,
          .generate = generate,
          .laws = graph_laws()};
}

}  // namespace halfulp::properties
