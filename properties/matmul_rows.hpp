// The answer of some rows of a matrix product, equally spaced.
#pragma once
#include <cstdint>

#include "reference/answer.hpp"
#include "reference/ops/matmul.hpp"

namespace halfulp::properties {

// Rows first, first + step, ...
struct RowSet {
  std::int64_t first = 0;
  std::int64_t step = 1;
  std::int64_t count = 0;

  bool holds(std::int64_t row) const {
    return row >= first && (row - first) % step == 0 && (row - first) / step < count;
  }
};

// What evaluate(op, sink) streams of them.
void evaluate_rows(const reference::Matmul& op, const RowSet& set, const reference::Sink& sink);

}  // namespace halfulp::properties
