// flash_attention: softmax attention with masks, forward. For each query i of a batch and head
//   s_j = scale * q_i . k_j + mask_ij over the keys j that are open to i, w_j = exp(s_j - max s),
//   out_i = sum_j w_j v_j / sum_j w_j; by Arithmetic::masked_row (+0) where no key is open.
#pragma once
#include <vector>

#include "reference/answer.hpp"
#include "reference/arithmetic.hpp"

namespace halfulp::reference {

// all; keys j <= i + shift; that or both i and j below `prefix`; i + shift - left <= j <= i + shift
// + right.
enum class OpenKeys : std::uint8_t { all, causal, prefix, window };

struct FlashAttention {
  std::int64_t batches = 0;
  std::int64_t heads = 0;
  std::int64_t queries = 0;
  std::int64_t keys = 0;
  std::int64_t dim = 0;
  View q;     // (batches, heads, queries, dim)
  View k, v;  // (batches, heads, keys, dim)
  View mask;  // (batches, heads, queries, keys), added to scaled scores; -infinity closes a key;
              // data == nullptr: none
  OpenKeys open = OpenKeys::all;
  std::int64_t shift = 0;  // keys - queries aligns at the bottom right, 0 at the top left
  std::int64_t prefix = 0;
  std::int64_t left = 0, right = 0;
  double scale = 0;  // exactly what the kernel is given (a float, of either sign); 0: 1/sqrt(dim)
  Arithmetic arithmetic;
};

// Output 0: out (batches, heads, queries, dim), a query at a time. Derivations: [B24]-[B27].
void evaluate(const FlashAttention& op, const Sink& sink);
Enclosure exact(const FlashAttention& op, Element element);
ExactAnswers exact_answers(const FlashAttention& op);
std::vector<BoundTerm> explain(const FlashAttention& op, Element element);

}  // namespace halfulp::reference
