// graph_attention: its arguments, shared by the launchers of every variant. For each edge j -> i
// and head
//
//   t = clamp(k_j * q_i / sqrt(dim), -5, 5), s = t * e_ji, w = exp(clamp(sum s, -5, 5))
//   out_i = sum_j w v_j / (sum_j w + epsilon);  e_out[edge] = s
#pragma once
#include "gpu/kernels/binding.hpp"

namespace halfulp::gpu {

struct GraphAttention {
  Format storage = Format::f32;
  std::int64_t nodes = 0;
  std::int64_t edges = 0;
  std::int64_t heads = 0;
  std::int64_t dim = 0;
  float epsilon = 0;
  float scale = 0;                            // 1 / sqrt(dim), rounded once
  Tensor q, k, v;                             // (nodes, heads, dim)
  Tensor e;                                   // (edges, heads, dim), by physical edge
  const std::int32_t* source = nullptr;       // (edges), j of j -> i
  const std::int32_t* destination = nullptr;  // (edges), i of j -> i
  const std::int32_t* column_pointer =
      nullptr;                                  // (nodes + 1), positions of a node's incoming edges
  const std::int32_t* column_source = nullptr;  // (edges), source at a CSC position
  const std::int32_t* edge_id = nullptr;        // (edges), physical edge at a CSC position
  Tensor out;                                   // (nodes, heads, dim), an output
  Tensor e_out;                                 // (edges, heads, dim), an output, by physical edge
};

// Fills `g` from the operands of the same names; the error names the argument that is wrong.
std::string bind(const Arguments& arguments, GraphAttention& g);

}  // namespace halfulp::gpu
