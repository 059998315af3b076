// scatter_normalize: out[i,h,:] = sum_{e: dst(e)=i} values[e,h,:] / (sum_{e: dst(e)=i} scores[e,h]
// + epsilon).
#pragma once
#include <vector>

#include "reference/answer.hpp"
#include "reference/arithmetic.hpp"

namespace halfulp::reference {

struct ScatterNormalize {
  std::int64_t nodes = 0;
  std::int64_t edges = 0;
  std::int64_t heads = 0;
  std::int64_t dim = 0;
  View values;                                // (edges, heads, dim)
  View scores;                                // (edges, heads)
  const std::int32_t* destination = nullptr;  // (edges), each in [0, nodes)
  double epsilon = 1e-6;                      // > 0, exactly what the kernel is given (a float)
  Arithmetic arithmetic;
};

// Output 0: out (nodes, heads, dim). A node without incoming edges is exactly +0. Derivation: [B6].
void evaluate(const ScatterNormalize& op, const Sink& sink);
Enclosure exact(const ScatterNormalize& op, Element element);
ExactAnswers exact_answers(const ScatterNormalize& op);
std::vector<BoundTerm> explain(const ScatterNormalize& op, Element element);

}  // namespace halfulp::reference
