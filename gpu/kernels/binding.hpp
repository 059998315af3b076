// From the backend's Arguments to the typed arguments of an operation, with every check that a host
// entry point owes its caller. The first thing wrong is kept and names its argument; nothing is
// launched then.
//
//   Binding binding(arguments);
//   g.nodes = binding.extent("q", 0);
//   g.q = binding.floats("q", {g.nodes, g.heads, g.dim});
//   return binding.finish();
//
// Plain host code, compiled once and shared by the launchers of every build.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "gpu/kernel.hpp"

namespace halfulp::gpu {

// A float operand of up to three dimensions whose innermost stride is 1:
// element (i, j, :) starts `i * stride[0] + j * stride[1]` elements after data.
struct Tensor {
  void* data = nullptr;
  std::int64_t stride[2] = {0, 0};
};

// Most nodes and edges: ids and positions are 32 bits wide, and kernels look a step past the last.
inline constexpr std::int64_t kIdsMost = INT32_MAX - 4096;

class Binding {
 public:
  explicit Binding(const Arguments& arguments) : arguments_(arguments) {}

  // Size of one axis; refused when negative or above `most`.
  std::int64_t extent(std::string_view name, std::size_t axis, std::int64_t most = INT64_MAX);
  // Storage format of the float operands, that of operand `name`; refused unless f32, f16 or bf16,
  // or tf32 where `with_tf32`.
  Format storage(std::string_view name, bool with_tf32 = false);
  // A float operand of these extents: in the storage format, innermost stride 1, not null unless
  // empty.
  Tensor floats(std::string_view name, std::initializer_list<std::int64_t> extent);
  // Any operand of these extents in this format, for what `floats` does not describe: strides of 0
  // and more, the innermost one 1 unless `inner_free`, not null unless empty. nullptr when refused.
  const Argument* operand(std::string_view name, std::initializer_list<std::int64_t> extent,
                          Format format, bool inner_free = false);
  // Whether the caller gave an operand of that name at all.
  bool has(std::string_view name) const;
  // A contiguous i32 operand of `count` elements.
  const std::int32_t* indices(std::string_view name, std::int64_t count);
  // The addend of a denominator; refused unless finite and > 0.
  float epsilon();
  // Refuses the call: `name` is the argument that is wrong.
  void refuse(std::string_view name, const std::string& what);
  // Checks that no output shares memory with another operand; returns the first error, or empty.
  std::string finish();

 private:
  const Argument* find(std::string_view name);
  bool has_extent(const Operand& operand, std::initializer_list<std::int64_t> extent);
  void check_strides(const Operand& operand, bool inner_free);
  void check_overlap(const Argument& output);

  const Arguments& arguments_;
  Format storage_ = Format::f32;
  std::string error_;
};

}  // namespace halfulp::gpu
