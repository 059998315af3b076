// scatter_normalize: values summed by destination over scores summed by destination, plus epsilon.
// Operands values (M, H, D), scores (M, H), destination (M), column_pointer (N + 1), edge_id (M);
// output out (N, H, D).
#include "reference/ops/scatter_normalize.hpp"

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

constexpr std::string_view kName = "scatter_normalize";

std::string validate(const Case& c) { return graph_case_error(c, 1, 2); }

gpu::Problem materialise(const Case& c) {
  const Graph graph = graph_of(c);
  const Columns by_destination = columns(graph);
  Scene scene = graph_scene(c, graph);
  scene.quantities = {Quantity::values, Quantity::scores};
  scene.outer = {graph.edges(), graph.edges()};
  gpu::Problem problem;
  problem.operation = kName;
  problem.epsilon = static_cast<float>(c.real("eps"));
  problem.operands.reserve(6);
  add_filled(problem, c, scene, "values", Quantity::values, graph.edges());
  add_filled(problem, c, scene, "scores", Quantity::scores, graph.edges());
  add_indices(problem, c, "destination", graph.destination);
  add_indices(problem, c, "column_pointer", by_destination.pointer);
  add_indices(problem, c, "edge_id", by_destination.edge_id);
  add_operand(problem, c, "out", storage_format(c), gpu::Role::output,
              {graph.nodes, scene.heads, scene.dim});
  return problem;
}

reference::ScatterNormalize translate(const gpu::Problem& problem, const gpu::Numerics& numerics) {
  const gpu::Operand& values = problem.operand("values");
  const gpu::Operand& out = problem.operand("out");
  reference::ScatterNormalize op;
  op.nodes = out.extent[0];
  op.edges = values.extent[0];
  op.heads = values.extent[1];
  op.dim = values.extent[2];
  op.values = view(values);
  op.scores = view(problem.operand("scores"));
  op.destination = indices(problem.operand("destination"));
  op.epsilon = problem.epsilon;
  op.arithmetic = arithmetic(numerics, values.format, out.format);
  return op;
}

Case generate(const gpu::Kernel& kernel, gpu::Backend backend, const rc::Random& random, int size) {
  return generate_graph_case(kernel, backend, random, size);
}

}  // namespace

Operation scatter_normalize_operation() {
  static const std::vector<Field> fields = with_common_fields(
      graph_fields(), {.fills = fill_words(kName), .laws = law_words(graph_laws())});
  return {.name = kName,
          .summary = "edge values summed by destination node, over summed scores plus epsilon",
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
