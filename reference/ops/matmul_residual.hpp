// Which k a wrong matrix product dropped or counted twice: its residual against each a_k b_k.
//
//   const Matmul op = window(whole, {128, 0, 64, 64});           // the tile that is wrong
//   const ResidualProjection found = project(op, residual_of(op, output));
//   if (found.names_k()) ...found.k, found.weight...             // near -1: dropped, 1: twice
//
// Advice for a report, no judgement. One product of matrices: m n k multiplications, so give it the
// tile or the rows that are wrong. A single element seldom tells one k from another.
#pragma once
#include <span>
#include <vector>

#include "reference/ops/matmul.hpp"

namespace halfulp::reference {

// Rows [first_row, first_row + rows) and columns [first_column, ...) of a product.
struct Window {
  std::int64_t first_row = 0;
  std::int64_t first_column = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};
Matmul window(const Matmul& op, const Window& elements);

// output - a b, row by row; NaN where either is not finite. `output` (m, n), any strides.
std::vector<double> residual_of(const Matmul& op, const View& output);

// Shares are of the sum of squares of the residual, 0 to 1.
struct ResidualProjection {
  std::int64_t k = -1;  // explains the largest share; -1: there is no residual
  double weight = 0;    // how much of a_k b_k the residual holds: -1 dropped, 1 added twice
  double explained = 0;
  double runner_up = 0;  // what the next best k explains

  // The k in [first, last) whose products, all dropped or all added twice, best make the residual.
  std::int64_t first = 0;
  std::int64_t last = 0;
  double range_weight = 0;
  double range_explained = 0;

  // One k, or several in a row, account for most of the residual, and the next best leaves much
  // more of it than the best one does.
  bool names_k() const {
    return explained >= 0.5 && runner_up <= 0.9 * explained &&
           1 - runner_up >= 1.5 * (1 - explained);
  }
  bool names_range() const {
    return last - first > 1 && range_explained >= 0.5 && range_explained > explained;
  }
};

// residual (m, n) row by row; NaN and infinities count as elements that are not there. [B20]
ResidualProjection project(const Matmul& op, std::span<const double> residual);

}  // namespace halfulp::reference
