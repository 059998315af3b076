// matmul: c = a b, c[i, j] = sum over k of a[i, k] b[k, j].
#pragma once
#include <vector>

#include "reference/answer.hpp"
#include "reference/arithmetic.hpp"

namespace halfulp::reference {

// Any strides: a transposed operand is one whose strides are swapped. Formats fp16, bf16, tf32,
// fp32, and fp64 where it is accumulated in fp64. k == 0 gives zeros.
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

// evaluate(), with the statistical bound of [B23], never above the other: advice that something may
// be wrong with a result, no reason to refuse it. It supposes that roundings are independent.
void evaluate_advisory(const Matmul& op, const Sink& sink);

}  // namespace halfulp::reference
