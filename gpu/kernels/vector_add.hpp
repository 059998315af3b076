// vector_add, z = x + y over n elements: its arguments, shared by the launchers of every variant.
#pragma once
#include "gpu/kernels/binding.hpp"

namespace halfulp::gpu {

struct VectorAdd {
  Format storage = Format::f32;
  std::int64_t n = 0;
  Tensor x, y;  // (n)
  Tensor z;     // (n), the output
};

// Fills `v` from operands x, y, z; the error names the argument that is wrong.
std::string bind(const Arguments& arguments, VectorAdd& v);

}  // namespace halfulp::gpu
