// Blocks of stored matrices in double, read along whichever dimension is contiguous, and packed for
// tiles. Internal to reference/ops.
#pragma once
#include <vector>

#include "reference/ops/matmul_bound.hpp"
#include "reference/ops/matmul_tile.hpp"

namespace halfulp::reference {

// Elements [first_row, first_row + rows) x [first_column, ...) of a view of two dimensions.
struct Block {
  std::int64_t first_row = 0;
  std::int64_t first_column = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

class BlockReader {
 public:
  // Row-major doubles; valid until the next call.
  const double* read(const View& view, const Block& block);

 private:
  std::vector<double> values_, line_;
};

// Facts of every column of a (k, n) view; or of every row of an (m, k) one.
std::vector<Line> lines_of_columns(const View& view, std::int64_t k, std::int64_t n,
                                   double smallest_normal);
std::vector<Line> lines_of_rows(const View& view, const Block& block, double smallest_normal);

// Rows of a in groups of kTileRows, [group][k][row], missing rows zero.
void pack_rows(const double* values, std::int64_t rows, std::int64_t k,
               std::vector<double>& packed);
// Columns of b in panels of kTileColumns, [panel][k][column], missing columns zero.
void pack_columns(const double* values, std::int64_t k, std::int64_t columns,
                  std::vector<double>& packed);

}  // namespace halfulp::reference
