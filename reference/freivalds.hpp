// Which rows of a product of integer matrices are wrong, without computing the product.
//
//   const FreivaldsCheck checked = freivalds(a, b, output, random_words);
//   if (checked.applies && checked.wrong_rows.empty()) ...output == a b, every element...
//
// a (b x) and c x are compared modulo 2^61 - 1 for a random vector x: m k + k n + m n
// multiplications. A row named is wrong for certain, whatever x; a wrong row is missed with
// probability at most 2^-60, for words that the output does not depend on [B21].
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "reference/answer.hpp"

namespace halfulp::reference {

struct FreivaldsCheck {
  // false: operands that are not finite, or whose multiples of their quantum are too large.
  bool applies = false;
  std::vector<std::int64_t> wrong_rows;  // ascending: rows with an element other than a b, exactly
};

// a (m, k), b (k, n), c (m, n), by their extents; any formats and strides. `words`: n uniformly
// random numbers of 64 bits. Rounded results of a right kernel are wrong rows too: for probes whose
// products are exact in the format of c.
FreivaldsCheck freivalds(const View& a, const View& b, const View& c,
                         std::span<const std::uint64_t> words);

}  // namespace halfulp::reference
