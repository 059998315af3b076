// vector_add: z = x + y, n elements.
#pragma once
#include <vector>

#include "reference/answer.hpp"
#include "reference/arithmetic.hpp"

namespace halfulp::reference {

struct VectorAdd {
  std::int64_t n = 0;
  View x;  // (n)
  View y;  // (n)
  Arithmetic arithmetic;
};

// Output 0: z (n). Derivation: [B3].
void evaluate(const VectorAdd& op, const Sink& sink);
Enclosure exact(const VectorAdd& op, Element element);
ExactAnswers exact_answers(const VectorAdd& op);
std::vector<BoundTerm> explain(const VectorAdd& op, Element element);

}  // namespace halfulp::reference
