// Operands of matmul_exact as slices of 20 bits. Internal to reference/ops.
//
// A line (a row of a, a column of b) is cut from its quantum upwards: x = sum over s of slice_s
// 2^(bottom + 20 s), |slice_s| <= 2^20, with as many slices as the line's exponents need.
#pragma once
#include <vector>

#include "reference/ops/matmul_blocks.hpp"

namespace halfulp::reference {

inline constexpr int kSliceBits = 20;

struct SlicedLine {
  int bottom = 0;      // exponent of the quantum
  int bits = 0;        // every |x| < 2^(bottom + bits); 0: all zeros
  bool finite = true;  // numbers that are not count as zeros above and in the slices

  int slices() const { return (bits + kSliceBits - 1) / kSliceBits; }
};

std::vector<SlicedLine> sliced_rows(const View& view, std::int64_t rows, std::int64_t columns);
std::vector<SlicedLine> sliced_columns(const View& view, std::int64_t rows, std::int64_t columns);

// Slices of `rows` x `columns` row-major values whose lines are the rows (or the columns): each
// slice a row-major matrix in slices[s], `count` of them.
void slice_rows(const double* values, std::int64_t rows, std::int64_t columns,
                const SlicedLine* lines, int count, std::vector<std::vector<double>>& slices);
void slice_columns(const double* values, std::int64_t rows, std::int64_t columns,
                   const SlicedLine* lines, int count, std::vector<std::vector<double>>& slices);

}  // namespace halfulp::reference
