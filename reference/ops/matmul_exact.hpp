// Whole products without any error: every operand is cut into slices of 20 bits, whose products
// matrices of doubles hold exactly, and their sums are put together in integers [B22].
//
//   evaluate_exactly(op, [&](std::int64_t row, std::span<const ExactElement> elements) {
//     pattern = elements[j].round(Format::fp16);     // one rounding
//   });
//
// For golden answers and for the reference's own tests: a few times slower than evaluate() for
// 16-bit data near one another, slower the wider the exponents of a row or column are.
#pragma once
#include <functional>
#include <span>

#include "reference/ops/matmul.hpp"

namespace halfulp::reference {

struct ExactElement {
  Dyadic sum;          // the answer where it is finite; sticky below 126 bits
  double special = 0;  // NaN or an infinity; 0: the answer is finite

  std::uint64_t round(Format format, Rounding rounding = Rounding::nearest_even) const;
  Enclosure enclosure() const;
};

// Row after row of c, each once, in order; elements of all n columns.
using ExactSink = std::function<void(std::int64_t row, std::span<const ExactElement> elements)>;

// Operands of any format, fp64 included. op.arithmetic plays no part.
void evaluate_exactly(const Matmul& op, const ExactSink& sink);

}  // namespace halfulp::reference
