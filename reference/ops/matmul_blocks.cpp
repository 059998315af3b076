#include "reference/ops/matmul_blocks.hpp"

#include <algorithm>

namespace halfulp::reference {
namespace {

std::size_t size(std::int64_t count) { return static_cast<std::size_t>(count); }

constexpr std::int64_t kBlock = 256;

}  // namespace

const double* BlockReader::read(const View& view, const Block& block) {
  values_.resize(size(block.rows * block.columns));
  double* const out = values_.data();
  if (view.stride[0] != 1 || view.stride[1] == 1) {
    for (std::int64_t i = 0; i < block.rows; ++i) {
      view.row(block.first_row + i, block.first_column, 0, 1, block.columns,
               out + i * block.columns);
    }
    return out;
  }
  line_.resize(size(block.rows));
  for (std::int64_t j = 0; j < block.columns; ++j) {
    view.row(block.first_row, block.first_column + j, 0, 0, block.rows, line_.data());
    for (std::int64_t i = 0; i < block.rows; ++i) out[i * block.columns + j] = line_[size(i)];
  }
  return out;
}

std::vector<Line> lines_of_columns(const View& view, std::int64_t k, std::int64_t n,
                                   double smallest_normal) {
  std::vector<Line> lines(size(n));
  BlockReader reader;
  for (std::int64_t j = 0; j < n; j += kBlock) {
    const std::int64_t columns = std::min(kBlock, n - j);
    for (std::int64_t i = 0; i < k; i += kBlock) {
      const std::int64_t rows = std::min(kBlock, k - i);
      const double* value = reader.read(view, {i, j, rows, columns});
      for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t c = 0; c < columns; ++c, ++value) {
          lines[size(j + c)].add(*value, smallest_normal);
        }
      }
    }
  }
  return lines;
}

std::vector<Line> lines_of_rows(const View& view, const Block& block, double smallest_normal) {
  std::vector<Line> lines(size(block.rows));
  BlockReader reader;
  const double* value = reader.read(view, block);
  for (Line& line : lines) {
    for (std::int64_t c = 0; c < block.columns; ++c, ++value) line.add(*value, smallest_normal);
  }
  return lines;
}

void pack_rows(const double* values, std::int64_t rows, std::int64_t k,
               std::vector<double>& packed) {
  const std::int64_t groups = (rows + kTileRows - 1) / kTileRows;
  packed.assign(size(groups * k * kTileRows), 0.0);
  for (std::int64_t i = 0; i < rows; ++i) {
    double* const out = packed.data() + i / kTileRows * k * kTileRows + i % kTileRows;
    for (std::int64_t c = 0; c < k; ++c) out[c * kTileRows] = values[i * k + c];
  }
}

void pack_columns(const double* values, std::int64_t k, std::int64_t columns,
                  std::vector<double>& packed) {
  const std::int64_t panels = (columns + kTileColumns - 1) / kTileColumns;
  packed.assign(size(panels * k * kTileColumns), 0.0);
  for (std::int64_t panel = 0; panel < panels; ++panel) {
    const std::int64_t first = panel * kTileColumns;
    const std::int64_t count = std::min<std::int64_t>(kTileColumns, columns - first);
    double* out = packed.data() + panel * k * kTileColumns;
    for (std::int64_t i = 0; i < k; ++i, out += kTileColumns) {
      std::copy_n(values + i * columns + first, count, out);
    }
  }
}

}  // namespace halfulp::reference
