// Checks of a problem's data. Operands are found by name: every graph operation uses the same
// names.
#include "gpu/problem_check.hpp"

#include <cstring>
#include <span>

namespace halfulp::gpu {
namespace {

constexpr std::int64_t kBytesMost = std::int64_t{1} << 46;

std::string at(const Operand& operand, std::int64_t index, std::int64_t value) {
  return operand.name + "[" + std::to_string(index) + "] is " + std::to_string(value);
}

std::string check_operand(const Operand& operand) {
  if (operand.extent.size() != operand.stride.size()) {
    return operand.name + ": " + std::to_string(operand.extent.size()) + " extents but " +
           std::to_string(operand.stride.size()) + " strides";
  }
  double span = 1;
  bool empty = false;
  for (std::size_t axis = 0; axis < operand.extent.size(); ++axis) {
    const std::string which = operand.name + ": extent " + std::to_string(axis) + " is " +
                              std::to_string(operand.extent[axis]);
    if (operand.extent[axis] < 0) return which + ", needs 0 or more";
    if (operand.extent[axis] > 1 && operand.stride[axis] < 0) {
      return operand.name + ": stride " + std::to_string(axis) + " is " +
             std::to_string(operand.stride[axis]) + ", needs 0 or more";
    }
    empty = empty || operand.extent[axis] == 0;
    span += static_cast<double>(operand.extent[axis]) * static_cast<double>(operand.stride[axis]);
  }
  if (!empty && span * static_cast<double>(size_bytes(operand.format)) > double(kBytesMost)) {
    return operand.name + ": extents and strides span more than 2^46 bytes";
  }
  if (operand.base_offset < 0 || operand.base_offset > 4096) {
    return operand.name + ": base offset is " + std::to_string(operand.base_offset) +
           " elements, needs 0 to 4096";
  }
  const std::int64_t bytes = operand.span_elements() * size_bytes(operand.format);
  const auto held = static_cast<std::int64_t>(operand.storage.size());
  if (operand.role == Role::input && held < bytes) {
    return operand.name + ": storage holds " + std::to_string(held) +
           " bytes, extents and strides " + "reach " + std::to_string(bytes);
  }
  return {};
}

const Operand* find(const Problem& problem, std::string_view name) {
  for (const Operand& operand : problem.operands) {
    if (operand.name == name) return &operand;
  }
  return nullptr;
}

// Reads contiguous 32-bit indices without assuming that the bytes are aligned.
class Indices {
 public:
  explicit Indices(const Operand& operand) : operand_(operand) {}
  std::int64_t size() const { return operand_.extent.at(0); }
  std::int64_t operator[](std::int64_t i) const {
    std::int32_t value = 0;
    std::memcpy(&value, operand_.storage.data() + i * std::int64_t{4}, sizeof value);
    return value;
  }
  const Operand& operand() const { return operand_; }

 private:
  const Operand& operand_;
};

std::string check_indices(const Operand& operand) {
  if (operand.format != Format::i32) {
    return operand.name + ": format " + std::string(name(operand.format)) + ", needs i32";
  }
  if (operand.extent.size() != 1 || (operand.extent[0] > 1 && operand.stride[0] != 1)) {
    return operand.name + ": indices are one contiguous dimension";
  }
  return {};
}

std::string check_range(const Indices& ids, std::int64_t count, const char* of) {
  for (std::int64_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= count) {
      return at(ids.operand(), i, ids[i]) + ", but there are " + std::to_string(count) + " " + of;
    }
  }
  return {};
}

std::string check_pointer(const Indices& pointer, std::int64_t edges) {
  if (pointer.size() < 1) return pointer.operand().name + ": needs one entry more than nodes";
  if (pointer[0] != 0) return at(pointer.operand(), 0, pointer[0]) + ", needs 0";
  for (std::int64_t i = 1; i < pointer.size(); ++i) {
    if (pointer[i] < pointer[i - 1])
      return at(pointer.operand(), i, pointer[i]) + ", which is falling";
  }
  const std::int64_t last = pointer.size() - 1;
  if (pointer[last] != edges) {
    return at(pointer.operand(), last, pointer[last]) + ", but there are " + std::to_string(edges) +
           " edges";
  }
  return {};
}

// Every CSC position names a different physical edge, and that edge ends in the column's node.
std::string check_edge_id(const Indices& edge_id, const Indices& pointer,
                          const Indices& destination) {
  std::vector<bool> seen(static_cast<std::size_t>(destination.size()), false);
  for (std::int64_t node = 0; node + 1 < pointer.size(); ++node) {
    for (std::int64_t i = pointer[node]; i < pointer[node + 1]; ++i) {
      const std::int64_t edge = edge_id[i];
      if (seen[static_cast<std::size_t>(edge)]) {
        return at(edge_id.operand(), i, edge) + ", which an earlier position names too";
      }
      seen[static_cast<std::size_t>(edge)] = true;
      if (destination[edge] != node) {
        return at(edge_id.operand(), i, edge) + " in the column of node " + std::to_string(node) +
               ", but " + at(destination.operand(), edge, destination[edge]);
      }
    }
  }
  return {};
}

std::string check_graph(const Problem& problem, const Operand& destination_operand) {
  const Operand* pointer_operand = find(problem, "column_pointer");
  const Operand* edge_id_operand = find(problem, "edge_id");
  if (pointer_operand == nullptr) return "column_pointer: the operand is missing";
  if (edge_id_operand == nullptr) return "edge_id: the operand is missing";
  const Operand* source_operand = find(problem, "source");
  const Operand* column_source_operand = find(problem, "column_source");
  for (const Operand* operand : {&destination_operand, pointer_operand, edge_id_operand,
                                 source_operand, column_source_operand}) {
    if (operand == nullptr) continue;
    if (std::string error = check_indices(*operand); !error.empty()) return error;
    if (operand == pointer_operand || operand->extent[0] == destination_operand.extent[0]) continue;
    return operand->name + ": " + std::to_string(operand->extent[0]) + " entries, but there are " +
           std::to_string(destination_operand.extent[0]) + " edges";
  }
  const Indices destination(destination_operand);
  const Indices pointer(*pointer_operand);
  const Indices edge_id(*edge_id_operand);
  const std::int64_t edges = destination.size();
  const std::int64_t nodes = pointer.size() - 1;
  std::string error = check_pointer(pointer, edges);
  if (error.empty()) error = check_range(destination, nodes, "nodes");
  if (error.empty()) error = check_range(edge_id, edges, "edges");
  if (error.empty()) error = check_edge_id(edge_id, pointer, destination);
  if (!error.empty() || source_operand == nullptr) return error;
  const Indices source(*source_operand);
  error = check_range(source, nodes, "nodes");
  if (!error.empty() || column_source_operand == nullptr) return error;
  const Indices column_source(*column_source_operand);
  for (std::int64_t i = 0; i < edges; ++i) {
    if (column_source[i] == source[edge_id[i]]) continue;
    return at(*column_source_operand, i, column_source[i]) + ", but " +
           at(*source_operand, edge_id[i], source[edge_id[i]]);
  }
  return {};
}

}  // namespace

std::string check_problem(const Problem& problem) {
  for (const Operand& operand : problem.operands) {
    if (std::string error = check_operand(operand); !error.empty()) return error;
  }
  const Operand* destination = find(problem, "destination");
  return destination == nullptr ? std::string() : check_graph(problem, *destination);
}

}  // namespace halfulp::gpu
