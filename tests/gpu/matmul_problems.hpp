// Small matrix products whose answer is exact: operands are integers of -2 to 2, so that every sum
// in any order is exact in fp32, and c is that sum rounded once. What is in the gaps is NaN.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "gpu/backend.hpp"

namespace halfulp::gpu::test {

struct MatmulSize {
  std::int64_t m = 0, n = 0, k = 0;
};

// How an operand lies in memory.
enum class MatmulLayout : std::uint8_t {
  rows,         // row by row
  columns,      // column by column (c: row by row)
  rows_padded,  // with gaps that keep rows 16-byte aligned
  columns_padded,
  rows_odd,  // with gaps that do not
  columns_odd,
  spread,        // neither axis contiguous (c: rows_odd)
  offset,        // row by row, from a base that is one element off
  row_repeated,  // every row the same memory (c: row by row)
};
inline constexpr int kMatmulLayouts = 9;
const char* name(MatmulLayout layout);

// A problem for the kernels of operation "matmul", with launch settings as given.
Problem matmul(const MatmulSize& size, Format storage, MatmulLayout a, MatmulLayout b,
               MatmulLayout c, std::vector<Setting> settings);

// Empty when every element of c is right, bit for bit; otherwise the first that is not.
std::string first_wrong_product(const Problem& problem, const Outputs& outputs);

}  // namespace halfulp::gpu::test
