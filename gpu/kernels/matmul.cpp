// Arguments of matmul.
#include "gpu/kernels/matmul.hpp"

namespace halfulp::gpu {
namespace {

const Operand* operand_of(const Arguments& arguments, std::string_view name, void*& data) {
  for (const Argument& argument : arguments.operands) {
    if (argument.operand == nullptr || argument.operand->name != name) continue;
    data = argument.data;
    return argument.operand;
  }
  return nullptr;
}

// The storage format that makes c's format.
std::string check_formats(const Operand& a, const Operand& b, const Operand& c) {
  const auto format = [](const Operand& operand) { return std::string(name(operand.format)); };
  const bool known = a.format == Format::f32 || a.format == Format::tf32 ||
                     a.format == Format::f16 || a.format == Format::bf16;
  if (!known) return a.name + ": format " + format(a) + ", needs f32, tf32, f16 or bf16";
  if (b.format != a.format) return b.name + ": format " + format(b) + ", needs a's " + format(a);
  const Format output = a.format == Format::tf32 ? Format::f32 : a.format;
  if (c.format == output) return {};
  return c.name + ": format " + format(c) + ", needs " + std::string(name(output));
}

std::string check_matrix(const Operand& operand, const void* data, std::int64_t rows,
                         std::int64_t columns) {
  const auto number = [](std::int64_t value) { return std::to_string(value); };
  if (operand.extent.size() != 2 || operand.stride.size() != 2) {
    return operand.name + ": has " + std::to_string(operand.extent.size()) + " extents and " +
           std::to_string(operand.stride.size()) + " strides, needs 2 of each";
  }
  if (operand.extent[0] != rows || operand.extent[1] != columns) {
    return operand.name + ": extents (" + number(operand.extent[0]) + ", " +
           number(operand.extent[1]) + "), needs (" + number(rows) + ", " + number(columns) + ")";
  }
  if (operand.count() == 0) return {};
  for (std::size_t axis = 0; axis < 2; ++axis) {
    if (operand.extent[axis] <= 1 || operand.stride[axis] >= 0) continue;
    return operand.name + ": stride " + std::to_string(axis) + " is " +
           number(operand.stride[axis]) + ", needs 0 or more";
  }
  return data == nullptr ? operand.name + ": null pointer for a non-empty operand" : std::string();
}

std::string check_output(const Operand& c) {
  if (c.count() == 0) return {};
  if (c.extent[1] > 1 && c.stride[1] != 1) {
    return c.name + ": stride 1 is " + std::to_string(c.stride[1]) + ", rows must be contiguous";
  }
  if (c.extent[0] > 1 && c.stride[0] < c.extent[1]) {
    return c.name + ": stride 0 is " + std::to_string(c.stride[0]) + " for rows of " +
           std::to_string(c.extent[1]) + ", which lets the output overlap itself";
  }
  return {};
}

// The stride of an axis with one element is free: it is made to suit the other axis.
Matrix matrix_of(const Operand& operand, void* data) {
  Matrix matrix;
  matrix.data = data;
  if (operand.count() == 0) return matrix;
  const bool single[2] = {operand.extent[0] == 1, operand.extent[1] == 1};
  for (const int axis : {1, 0}) {
    const auto index = static_cast<std::size_t>(axis);
    if (matrix.inner < 0 && !single[axis] && operand.stride[index] == 1) matrix.inner = axis;
  }
  if (matrix.inner < 0) {
    if (single[1]) {
      matrix.inner = 1;
    } else if (single[0]) {
      matrix.inner = 0;
    }
  }
  for (int axis = 0; axis < 2; ++axis) {
    const std::int64_t free = axis == matrix.inner ? 1 : 0;
    matrix.stride[axis] = single[axis] ? free : operand.stride[static_cast<std::size_t>(axis)];
  }
  if (matrix.inner < 0) return matrix;
  const std::int64_t outer_bytes = matrix.stride[1 - matrix.inner] * size_bytes(operand.format);
  matrix.aligned = outer_bytes % 16 == 0 && reinterpret_cast<std::uintptr_t>(data) % 16 == 0;
  return matrix;
}

}  // namespace

std::string bind(const Arguments& arguments, Matmul& g) {
  Binding binding(arguments);
  g.m = binding.extent("a", 0, kMatmulSizeMost);
  g.k = binding.extent("a", 1, kMatmulSizeMost);
  g.n = binding.extent("b", 1, kMatmulSizeMost);
  void* data[3] = {};
  const Operand* a = operand_of(arguments, "a", data[0]);
  const Operand* b = operand_of(arguments, "b", data[1]);
  const Operand* c = operand_of(arguments, "c", data[2]);
  if (a == nullptr || b == nullptr) return binding.finish();
  if (c == nullptr) return "c: the argument is missing";
  std::string error = check_formats(*a, *b, *c);
  if (error.empty()) error = check_matrix(*a, data[0], g.m, g.k);
  if (error.empty()) error = check_matrix(*b, data[1], g.k, g.n);
  if (error.empty()) error = check_matrix(*c, data[2], g.m, g.n);
  if (error.empty()) error = check_output(*c);
  if (error.empty()) error = binding.finish();
  if (!error.empty()) return error;
  g.storage = a->format;
  g.a = matrix_of(*a, data[0]);
  g.b = matrix_of(*b, data[1]);
  g.c = matrix_of(*c, data[2]);
  return {};
}

}  // namespace halfulp::gpu
