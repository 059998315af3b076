// matmul: c = a b, c[i, j] = sum over k of a[i, k] b[k, j].
#pragma once
#include <vector>

#include "reference/answer.hpp"
#include "reference/arithmetic.hpp"

namespace halfulp::reference {

// Any strides: a transposed operand is one whose strides are swapped. Formats fp16, bf16, tf32 and
// fp32. k == 0 gives zeros.
struct Matmul {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  View a;  // (m, k)
  View b;  // (k, n)
  Arithmetic arithmetic;
};

// Output 0: c (m, n). Derivations: [B14]-[B19].
void evaluate(const Matmul& op, const Sink& sink);
Enclosure exact(const Matmul& op, Element element);
ExactAnswers exact_answers(const Matmul& op);
std::vector<BoundTerm> explain(const Matmul& op, Element element);

}  // namespace halfulp::reference
