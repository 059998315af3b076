// The checks of host entry points.
#include "gpu/kernels/binding.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace halfulp::gpu {
namespace {

std::string print(std::span<const std::int64_t> sizes) {
  std::string text = "(";
  for (const std::int64_t size : sizes) {
    text.append(text.size() > 1 ? ", " : "").append(std::to_string(size));
  }
  return text + ")";
}

// Whether two indices of the operand can reach the same element. Sorted by stride, every axis must
// step over all that the smaller ones reach; layouts that interleave more cleverly are refused too.
bool overlaps_itself(const Operand& operand) {
  std::vector<std::size_t> axes(operand.extent.size());
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  std::sort(axes.begin(), axes.end(), [&operand](std::size_t a, std::size_t b) {
    return operand.stride[a] < operand.stride[b];
  });
  std::int64_t reach = 0;
  for (const std::size_t axis : axes) {
    if (operand.extent[axis] <= 1) continue;
    if (operand.stride[axis] <= reach) return true;
    reach += (operand.extent[axis] - 1) * operand.stride[axis];
  }
  return false;
}

}  // namespace

void Binding::refuse(std::string_view name, const std::string& what) {
  if (error_.empty()) error_ = std::string(name) + ": " + what;
}

const Argument* Binding::find(std::string_view name) {
  for (const Argument& argument : arguments_.operands) {
    if (argument.operand != nullptr && argument.operand->name == name) return &argument;
  }
  refuse(name, "the argument is missing");
  return nullptr;
}

std::int64_t Binding::extent(std::string_view name, std::size_t axis, std::int64_t most) {
  const Argument* argument = find(name);
  if (argument == nullptr) return 0;
  const Operand& operand = *argument->operand;
  if (axis >= operand.extent.size()) {
    refuse(name, "has " + std::to_string(operand.extent.size()) + " dimensions, needs at least " +
                     std::to_string(axis + 1));
    return 0;
  }
  const std::int64_t size = operand.extent[axis];
  if (size < 0 || size > most) {
    refuse(name, "extent " + std::to_string(axis) + " is " + std::to_string(size) +
                     ", needs 0 to " + std::to_string(most));
    return 0;
  }
  return size;
}

bool Binding::has(std::string_view name) const {
  return std::any_of(arguments_.operands.begin(), arguments_.operands.end(),
                     [name](const Argument& argument) {
                       return argument.operand != nullptr && argument.operand->name == name;
                     });
}

Format Binding::storage(std::string_view name, bool with_tf32) {
  const Argument* argument = find(name);
  if (argument == nullptr) return storage_;
  storage_ = argument->operand->format;
  const bool known = storage_ == Format::f32 || storage_ == Format::f16 ||
                     storage_ == Format::bf16 || (with_tf32 && storage_ == Format::tf32);
  if (!known) {
    refuse(name, "format " + std::string(gpu::name(storage_)) + ", needs f32, " +
                     (with_tf32 ? "tf32, " : "") + "f16 or bf16");
    storage_ = Format::f32;
  }
  return storage_;
}

bool Binding::has_extent(const Operand& operand, std::initializer_list<std::int64_t> extent) {
  const bool negative = std::any_of(operand.extent.begin(), operand.extent.end(),
                                    [](std::int64_t size) { return size < 0; });
  if (!negative && operand.stride.size() == operand.extent.size() &&
      std::equal(operand.extent.begin(), operand.extent.end(), extent.begin(), extent.end())) {
    return true;
  }
  refuse(operand.name, "extents " + print(operand.extent) + " with " +
                           std::to_string(operand.stride.size()) + " strides, needs " +
                           print(std::span(extent.begin(), extent.size())));
  return false;
}

void Binding::check_strides(const Operand& operand, bool inner_free) {
  for (std::size_t axis = 0; axis < operand.extent.size(); ++axis) {
    const bool moves = operand.extent[axis] > 1;
    const std::int64_t stride = operand.stride[axis];
    const std::string which = "stride " + std::to_string(axis) + " is " + std::to_string(stride);
    if (moves && stride < 0) refuse(operand.name, which + ", needs 0 or more");
    if (moves && stride != 1 && axis + 1 == operand.extent.size() && !inner_free) {
      refuse(operand.name, which + ", the innermost one must be 1");
    }
  }
  if (operand.role == Role::output && overlaps_itself(operand)) {
    refuse(operand.name, "strides " + print(operand.stride) + " for extents " +
                             print(operand.extent) + " let the output overlap itself");
  }
}

const Argument* Binding::operand(std::string_view name, std::initializer_list<std::int64_t> extent,
                                 Format format, bool inner_free) {
  const Argument* argument = find(name);
  if (argument == nullptr || !error_.empty()) return nullptr;
  const Operand& operand = *argument->operand;
  if (operand.format != format) {
    refuse(name, "format " + std::string(gpu::name(operand.format)) + ", needs " +
                     std::string(gpu::name(format)) + " like the other operands");
  }
  if (!has_extent(operand, extent)) return nullptr;
  if (operand.count() == 0) return argument;
  check_strides(operand, inner_free);
  if (argument->data == nullptr) refuse(name, "null pointer for a non-empty operand");
  return argument;
}

Tensor Binding::floats(std::string_view name, std::initializer_list<std::int64_t> extent) {
  const Argument* argument = operand(name, extent, storage_);
  if (argument == nullptr) return {};
  const Operand& operand = *argument->operand;
  Tensor tensor{argument->data, {0, 0}};
  if (operand.count() == 0) return tensor;
  for (std::size_t axis = 0; axis + 1 < operand.extent.size(); ++axis) {
    tensor.stride[axis] = operand.extent[axis] > 1 ? operand.stride[axis] : 0;
  }
  return tensor;
}

const std::int32_t* Binding::indices(std::string_view name, std::int64_t count) {
  const Argument* argument = find(name);
  if (argument == nullptr || !error_.empty()) return nullptr;
  const Operand& operand = *argument->operand;
  if (operand.format != Format::i32) {
    refuse(name, "format " + std::string(gpu::name(operand.format)) + ", needs i32");
  }
  if (!has_extent(operand, {count})) return nullptr;
  if (count > 1 && operand.stride[0] != 1) {
    refuse(name, "stride 0 is " + std::to_string(operand.stride[0]) + ", indices are contiguous");
  }
  if (count > 0 && argument->data == nullptr) refuse(name, "null pointer for a non-empty operand");
  return argument->as<const std::int32_t>();
}

float Binding::epsilon() {
  const float epsilon = arguments_.epsilon;
  if (!(epsilon > 0) || !std::isfinite(epsilon)) {
    refuse("epsilon", "is " + std::to_string(epsilon) + ", needs a finite value above 0");
  }
  return epsilon;
}

void Binding::check_overlap(const Argument& output) {
  const auto begin = [](const Argument& a) { return reinterpret_cast<std::uintptr_t>(a.data); };
  const auto end = [&begin](const Argument& a) {
    const std::int64_t bytes = a.operand->span_elements() * size_bytes(a.operand->format);
    return begin(a) + static_cast<std::uintptr_t>(bytes);
  };
  for (const Argument& other : arguments_.operands) {
    if (&other == &output || other.operand->count() == 0) continue;
    if (begin(other) < end(output) && begin(output) < end(other)) {
      refuse(output.operand->name,
             "shares memory with " + other.operand->name + "; an output needs memory of its own");
    }
  }
}

std::string Binding::finish() {
  if (!error_.empty()) return error_;
  for (const Argument& argument : arguments_.operands) {
    if (argument.operand->role == Role::output && argument.operand->count() > 0) {
      check_overlap(argument);
    }
  }
  return error_;
}

}  // namespace halfulp::gpu
