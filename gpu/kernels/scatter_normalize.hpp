// scatter_normalize: its arguments, shared by the launchers of every variant.
//
//   out[i,h,:] = sum_{e: dst(e)=i} values[e,h,:] / (sum_{e: dst(e)=i} scores[e,h] + epsilon)
#pragma once
#include "gpu/kernels/binding.hpp"

namespace halfulp::gpu {

struct ScatterNormalize {
  Format storage = Format::f32;
  std::int64_t nodes = 0;
  std::int64_t edges = 0;
  std::int64_t heads = 0;
  std::int64_t dim = 0;
  float epsilon = 0;
  Tensor values;                              // (edges, heads, dim), by physical edge
  Tensor scores;                              // (edges, heads)
  const std::int32_t* destination = nullptr;  // (edges)
  const std::int32_t* column_pointer =
      nullptr;                            // (nodes + 1), positions of a node's incoming edges
  const std::int32_t* edge_id = nullptr;  // (edges), physical edge at a CSC position
  Tensor out;                             // (nodes, heads, dim), the output
};

// Fills `s` from the operands of the same names; the error names the argument that is wrong.
std::string bind(const Arguments& arguments, ScatterNormalize& s);

}  // namespace halfulp::gpu
