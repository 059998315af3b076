#include "reference/ops/matmul_slices.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "reference/ops/clones.hpp"

namespace halfulp::reference {
namespace {

constexpr std::int64_t kBlock = 256;

std::size_t size(std::int64_t count) { return static_cast<std::size_t>(count); }

// Lowest and highest set bit of the numbers of a line.
struct Ends {
  int lowest = 1 << 20;
  int highest = -(1 << 20);
  bool finite = true;

  void add(double x) {
    const auto bits = std::bit_cast<std::uint64_t>(x);
    const int field = static_cast<int>(bits >> 52 & 0x7ff);
    const std::uint64_t fraction = bits & 0xfffffffffffff;
    if (field == 0x7ff) {
      finite = false;
      return;
    }
    const std::uint64_t significand = field == 0 ? fraction : fraction | 1ULL << 52;
    if (significand == 0) return;
    const int exponent = std::max(field, 1) - 1075;
    lowest = std::min(lowest, exponent + std::countr_zero(significand));
    highest = std::max(highest, exponent + 63 - std::countl_zero(significand));
  }
  SlicedLine line() const {
    if (highest < lowest) return {0, 0, finite};
    return {lowest, highest - lowest + 1, finite};
  }
};

template <typename LineOf>  // line_of(row, column): which line an element belongs to
std::vector<SlicedLine> lines_of(const View& view, std::int64_t rows, std::int64_t columns,
                                 std::int64_t lines, LineOf line_of) {
  std::vector<Ends> ends(size(lines));
  BlockReader reader;
  for (std::int64_t i = 0; i < rows; i += kBlock) {
    for (std::int64_t j = 0; j < columns; j += kBlock) {
      const Block block{i, j, std::min(kBlock, rows - i), std::min(kBlock, columns - j)};
      const double* value = reader.read(view, block);
      for (std::int64_t r = 0; r < block.rows; ++r) {
        for (std::int64_t c = 0; c < block.columns; ++c, ++value) {
          ends[size(line_of(i + r, j + c))].add(*value);
        }
      }
    }
  }
  std::vector<SlicedLine> result;
  for (const Ends& end : ends) result.push_back(end.line());
  return result;
}

// Infinities and NaN become zeros.
HALFULP_CLONES
void scale(const double* values, const double* scales, std::int64_t count, double* out) {
  for (std::int64_t i = 0; i < count; ++i) {
    const double scaled = values[i] * scales[i];
    out[i] = scaled - scaled == 0 ? scaled : 0;
  }
}

// Cuts the slice of multiples of 1 / inverse off each integer, to nearest, and leaves the rest.
HALFULP_CLONES
void cut(double* rest, double inverse, std::int64_t count, double* out) {
  constexpr double kShift = 0x1.8p52;
  const double unit = 1 / inverse;
  for (std::int64_t i = 0; i < count; ++i) {
    const double slice = (rest[i] * inverse + kShift) - kShift;
    rest[i] -= slice * unit;
    out[i] = slice;
  }
}

void cut_row(std::vector<double>& rest, std::int64_t row,
             std::vector<std::vector<double>>& slices) {
  const std::int64_t columns = std::ssize(rest);
  for (int s = static_cast<int>(slices.size()) - 1; s >= 0; --s) {
    cut(rest.data(), std::ldexp(1.0, -kSliceBits * s), columns,
        slices[size(s)].data() + row * columns);
  }
}

void resize(std::vector<std::vector<double>>& slices, int count, std::int64_t numbers) {
  slices.resize(size(count));
  for (std::vector<double>& slice : slices) slice.resize(size(numbers));
}

}  // namespace

std::vector<SlicedLine> sliced_rows(const View& view, std::int64_t rows, std::int64_t columns) {
  return lines_of(view, rows, columns, rows, [](std::int64_t row, std::int64_t) { return row; });
}
std::vector<SlicedLine> sliced_columns(const View& view, std::int64_t rows, std::int64_t columns) {
  return lines_of(view, rows, columns, columns,
                  [](std::int64_t, std::int64_t column) { return column; });
}

void slice_rows(const double* values, std::int64_t rows, std::int64_t columns,
                const SlicedLine* lines, int count, std::vector<std::vector<double>>& slices) {
  resize(slices, count, rows * columns);
  std::vector<double> scales(size(columns)), rest(size(columns));
  for (std::int64_t row = 0; row < rows; ++row) {
    std::fill(scales.begin(), scales.end(), std::ldexp(1.0, -lines[row].bottom));
    scale(values + row * columns, scales.data(), columns, rest.data());
    cut_row(rest, row, slices);
  }
}

void slice_columns(const double* values, std::int64_t rows, std::int64_t columns,
                   const SlicedLine* lines, int count, std::vector<std::vector<double>>& slices) {
  resize(slices, count, rows * columns);
  std::vector<double> scales(size(columns)), rest(size(columns));
  for (std::int64_t i = 0; i < columns; ++i) scales[size(i)] = std::ldexp(1.0, -lines[i].bottom);
  for (std::int64_t row = 0; row < rows; ++row) {
    scale(values + row * columns, scales.data(), columns, rest.data());
    cut_row(rest, row, slices);
  }
}

}  // namespace halfulp::reference
