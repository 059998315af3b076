#include "properties/graph_problem.hpp"

#include <algorithm>
#include <cstring>

#include "properties/assert.hpp"
#include "properties/layout.hpp"
#include "properties/number.hpp"
#include "properties/translate.hpp"

namespace halfulp::properties {
namespace {

const gpu::Operand* find(const gpu::Problem& problem, std::string_view name) {
  for (const gpu::Operand& operand : problem.operands) {
    if (operand.name == name) return &operand;
  }
  return nullptr;
}

// Keeps the order and the gaps of dimensions when the number of rows changes. With one head or one
// row the two orders are the same.
void resize_rows(gpu::Operand& operand, std::int64_t rows) {
  const std::int64_t old_rows = operand.extent[0];
  operand.extent[0] = rows;
  const bool head_major = operand.extent.size() == 3 && operand.stride[0] != 0 &&
                          operand.stride[1] >= operand.stride[0];
  if (head_major) operand.stride[1] += (rows - old_rows) * operand.stride[0];
}

// One row is every element with the same outermost index.
void copy_row(const gpu::Operand& from, std::int64_t from_row, gpu::Operand& to,
              std::int64_t to_row) {
  const bool three = to.extent.size() == 3;
  const std::int64_t columns = to.extent[1];
  const std::int64_t channels = three ? to.extent[2] : 1;
  const std::uint64_t nan = not_a_number(reference_format(to.format));
  for (std::int64_t j = 0; j < columns; ++j) {
    for (std::int64_t k = 0; k < channels; ++k) {
      const std::int64_t source = from_row * from.stride[0] + j * from.stride[1] + k;
      const std::int64_t target = to_row * to.stride[0] + j * to.stride[1] + k;
      put(to, target, from_row < 0 ? nan : get(from, from.storage.data(), source));
    }
  }
}

void move_rows(const gpu::Operand& old, const std::vector<std::int64_t>& from,
               gpu::Operand& moved) {
  resize_rows(moved, static_cast<std::int64_t>(from.size()));
  fill_gaps(moved);
  if (old.role == gpu::Role::output || moved.storage.empty()) return;
  if (old.stride[0] == 0) {  // one row for all
    if (old.count() > 0) copy_row(old, 0, moved, 0);
    return;
  }
  for (std::size_t row = 0; row < from.size(); ++row) {
    copy_row(old, from[row], moved, static_cast<std::int64_t>(row));
  }
}

void set_indices(gpu::Operand& operand, const std::vector<std::int32_t>& values) {
  operand.extent[0] = static_cast<std::int64_t>(values.size());
  fill_gaps(operand);
  if (!values.empty()) {
    std::memcpy(operand.storage.data(), values.data(), values.size() * sizeof(std::int32_t));
  }
}

}  // namespace

bool over_edges(const gpu::Operand& operand) {
  return operand.name == "values" || operand.name == "scores" || operand.name == "e" ||
         operand.name == "e_out";
}

Graph graph_of(const gpu::Problem& problem) {
  Graph graph;
  graph.nodes = problem.operand("column_pointer").extent[0] - 1;
  const gpu::Operand& to = problem.operand("destination");
  const gpu::Operand* from = find(problem, "source");
  for (std::int64_t edge = 0; edge < to.extent[0]; ++edge) {
    graph.add(from == nullptr ? 0 : indices(*from)[edge], indices(to)[edge]);
  }
  return graph;
}

gpu::Problem moved(const gpu::Problem& problem, const GraphMove& move) {
  HALFULP_ASSERT(static_cast<std::int64_t>(move.edge_from.size()) == move.graph.edges() &&
                     static_cast<std::int64_t>(move.node_from.size()) == move.graph.nodes,
                 "a move names every row");
  const Columns by_destination = columns(move.graph);
  gpu::Problem result = problem;
  for (std::size_t i = 0; i < result.operands.size(); ++i) {
    gpu::Operand& operand = result.operands[i];
    if (operand.format != gpu::Format::i32) {
      const auto& from = over_edges(operand) ? move.edge_from : move.node_from;
      move_rows(problem.operands[i], from, operand);
    } else if (operand.name == "source") {
      set_indices(operand, move.graph.source);
    } else if (operand.name == "destination") {
      set_indices(operand, move.graph.destination);
    } else if (operand.name == "column_pointer") {
      set_indices(operand, by_destination.pointer);
    } else if (operand.name == "column_source") {
      set_indices(operand, by_destination.source);
    } else {
      HALFULP_ASSERT(operand.name == "edge_id", "an unknown index operand: " + operand.name);
      set_indices(operand, by_destination.edge_id);
    }
  }
  return result;
}

std::vector<std::int64_t> places(const std::vector<std::int64_t>& new_row, std::int64_t width) {
  std::vector<std::int64_t> place;
  place.reserve(new_row.size() * static_cast<std::size_t>(width));
  for (const std::int64_t row : new_row) {
    for (std::int64_t k = 0; k < width; ++k) place.push_back(row < 0 ? -1 : row * width + k);
  }
  return place;
}

}  // namespace halfulp::properties
