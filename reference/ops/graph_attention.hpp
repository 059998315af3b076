// graph_attention: clipped attention over incoming edges. For each edge j -> i and head
//   t = clamp(k_j * q_i / sqrt(dim), -5, 5), s = t * e_ji, l = clamp(sum s, -5, 5), w = exp(l)
//   out_i = sum_j w v_j / (sum_j w + epsilon);  e_out[edge] = s.
#pragma once
#include <vector>

#include "reference/answer.hpp"
#include "reference/arithmetic.hpp"

namespace halfulp::reference {

struct GraphAttention {
  std::int64_t nodes = 0;
  std::int64_t edges = 0;
  std::int64_t heads = 0;
  std::int64_t dim = 0;
  View q, k, v;                               // (nodes, heads, dim)
  View e;                                     // (edges, heads, dim), at the physical edge id
  const std::int32_t* source = nullptr;       // (edges): j of j -> i, each in [0, nodes)
  const std::int32_t* destination = nullptr;  // (edges): i of j -> i, each in [0, nodes)
  double epsilon = 1e-6;                      // > 0, exactly what the kernel is given (a float)
  Arithmetic arithmetic;
};

// Output 0: out (nodes, heads, dim); output 1: e_out (edges, heads, dim). Derivations: [B9]-[B13].
void evaluate(const GraphAttention& op, const Sink& sink);
Enclosure exact(const GraphAttention& op, Element element);
ExactAnswers exact_answers(const GraphAttention& op);
std::vector<BoundTerm> explain(const GraphAttention& op, Element element);

}  // namespace halfulp::reference
