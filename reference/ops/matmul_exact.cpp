#include "reference/ops/matmul_exact.hpp"

#include <algorithm>
#include <cmath>

#include "reference/exact_sum.hpp"
#include "reference/ops/matmul_multiply.hpp"
#include "reference/ops/matmul_slices.hpp"
#include "reference/require.hpp"

namespace halfulp::reference {
namespace {

constexpr std::int64_t kBlockRows = 384;  // a multiple of kMultiplyRows
constexpr std::int64_t kBlockColumns = 512;
constexpr std::int64_t kBlockDepth = 256;
constexpr std::int64_t kTile = kMultiplyRows * kMultiplyColumns;
// 2^40 times so many products of slices is 2^53.
constexpr std::int64_t kExactTerms = 1 << 13;
// Beyond so many products of slices, limbs are quicker.
constexpr int kMostProducts = 200;
// 2^40 times so many fit in 63 bits.
constexpr std::int64_t kIntegerTerms = (1 << 23) - 1;

std::size_t size(std::int64_t count) { return static_cast<std::size_t>(count); }
std::int64_t groups_of(std::int64_t count, std::int64_t width) {
  return (count + width - 1) / width;
}

// [group][k][width] from row-major values whose columns (or, of `rows`, rows) form the groups.
void pack(const std::vector<double>& values, std::int64_t rows, std::int64_t columns, bool by_rows,
          double* packed) {
  if (by_rows) {
    for (std::int64_t i = 0; i < rows; ++i) {
      double* const out = packed + i / kMultiplyRows * columns * kMultiplyRows + i % kMultiplyRows;
      for (std::int64_t c = 0; c < columns; ++c)
        out[c * kMultiplyRows] = values[size(i * columns + c)];
    }
    return;
  }
  for (std::int64_t first = 0; first < columns; first += kMultiplyColumns) {
    const std::int64_t count = std::min<std::int64_t>(kMultiplyColumns, columns - first);
    double* out = packed + first * rows;
    for (std::int64_t i = 0; i < rows; ++i, out += kMultiplyColumns) {
      std::copy_n(values.data() + i * columns + first, count, out);
    }
  }
}

// One operand's slices of a block, packed for multiply_add.
struct Packed {
  std::vector<std::vector<double>> slices;  // row-major
  std::vector<std::vector<double>> panels;

  void fill(std::int64_t rows, std::int64_t columns, bool by_rows) {
    const std::int64_t numbers =
        by_rows ? groups_of(rows, kMultiplyRows) * kMultiplyRows * columns
                : groups_of(columns, kMultiplyColumns) * kMultiplyColumns * rows;
    panels.resize(slices.size());
    for (std::size_t s = 0; s < slices.size(); ++s) {
      panels[s].assign(size(numbers), 0.0);
      pack(slices[s], rows, columns, by_rows, panels[s].data());
    }
  }
};

int most_slices(const SlicedLine* lines, std::int64_t count) {
  int most = 1;
  for (std::int64_t i = 0; i < count; ++i) most = std::max(most, lines[i].slices());
  return most;
}

ExactElement element_of(__int128 integer, int exponent) {
  ExactElement element;
  element.sum.negative = integer < 0;
  element.sum.significand = static_cast<unsigned __int128>(integer < 0 ? -integer : integer);
  element.sum.exponent = exponent;
  return element;
}
ExactElement element_of(const ExactSum& sum) {
  ExactElement element;
  if (sum.is_finite()) {
    element.sum = sum.dyadic();
  } else {
    element.special = sum.special();
  }
  return element;
}

class ExactProduct {
 public:
  explicit ExactProduct(const Matmul& op)
      : op_(op), rows_(sliced_rows(op.a, op.m, op.k)), columns_(sliced_columns(op.b, op.k, op.n)) {}

  // Elements of rows [first, first + rows) and columns [first_column, ...) into `out`, row by row,
  // n apart.
  void block(const Block& block, ExactElement* out) {
    block_ = block;
    left_slices_ = most_slices(rows_.data() + block.first_row, block.rows);
    right_slices_ = most_slices(columns_.data() + block.first_column, block.columns);
    const bool sliced = left_slices_ * right_slices_ <= kMostProducts &&
                        op_.k * std::min(left_slices_, right_slices_) <= kIntegerTerms &&
                        op_.a.format != Format::fp64 && op_.b.format != Format::fp64;
    if (sliced) multiply();
    for (std::int64_t i = 0; i < block.rows; ++i) {
      for (std::int64_t j = 0; j < block.columns; ++j) {
        const bool finite = row(i).finite && column(j).finite;
        out[i * op_.n + j] = sliced && finite ? assembled(i, j) : one_by_one(i, j);
      }
    }
  }

 private:
  const SlicedLine& row(std::int64_t i) const { return rows_[size(block_.first_row + i)]; }
  const SlicedLine& column(std::int64_t j) const { return columns_[size(block_.first_column + j)]; }
  int diagonals() const { return left_slices_ + right_slices_ - 1; }
  std::int64_t panels() const { return groups_of(block_.columns, kMultiplyColumns); }
  std::int64_t tiles() const { return groups_of(block_.rows, kMultiplyRows) * panels(); }

  // sums_[d]: integers, in tiles, of the products of slices whose numbers add up to d.
  void multiply() {
    const std::int64_t numbers = tiles() * kTile;
    sums_.assign(size(diagonals()), std::vector<std::int64_t>(size(numbers)));
    partial_.assign(size(diagonals()), std::vector<double>(size(numbers)));
    const std::int64_t terms = kExactTerms / std::min(left_slices_, right_slices_);
    std::int64_t added = 0;
    for (std::int64_t k = 0; k < op_.k; k += kBlockDepth) {
      const std::int64_t depth = std::min(kBlockDepth, op_.k - k);
      if (added + depth > terms) {
        flush();
        added = 0;
      }
      added += depth;
      read(k, depth);
      for (int s = 0; s < left_slices_; ++s) {
        for (int t = 0; t < right_slices_; ++t) multiply_slices(s, t, depth);
      }
    }
    flush();
  }

  void read(std::int64_t k, std::int64_t depth) {
    const double* values = reader_.read(op_.a, {block_.first_row, k, block_.rows, depth});
    slice_rows(values, block_.rows, depth, &row(0), left_slices_, left_.slices);
    left_.fill(block_.rows, depth, true);
    values = reader_.read(op_.b, {k, block_.first_column, depth, block_.columns});
    slice_columns(values, depth, block_.columns, &column(0), right_slices_, right_.slices);
    right_.fill(depth, block_.columns, false);
  }

  void multiply_slices(int s, int t, std::int64_t depth) {
    const double* const left = left_.panels[size(s)].data();
    const double* const right = right_.panels[size(t)].data();
    double* const sums = partial_[size(s + t)].data();
    for (std::int64_t panel = 0; panel < panels(); ++panel) {
      for (std::int64_t group = 0; group * kMultiplyRows < block_.rows; ++group) {
        multiply_add(left + group * depth * kMultiplyRows, right + panel * depth * kMultiplyColumns,
                     depth, sums + (group * panels() + panel) * kTile);
      }
    }
  }

  void flush() {
    for (std::size_t d = 0; d < partial_.size(); ++d) {
      for (std::size_t i = 0; i < partial_[d].size(); ++i) {
        sums_[d][i] += static_cast<std::int64_t>(partial_[d][i]);
        partial_[d][i] = 0;
      }
    }
  }

  ExactElement assembled(std::int64_t i, std::int64_t j) const {
    const std::int64_t tile = i / kMultiplyRows * panels() + j / kMultiplyColumns;
    const std::size_t at =
        size(tile * kTile + i % kMultiplyRows * kMultiplyColumns + j % kMultiplyColumns);
    const int exponent = row(i).bottom + column(j).bottom;
    // The sum has so many bits, and room for 2^24 products and a sign.
    if (row(i).bits + column(j).bits <= 100 && op_.k <= 1 << 24) {
      unsigned __int128 sum = 0;  // modulo 2^128 on the way
      for (std::size_t d = sums_.size(); d-- > 0;) {
        sum = (sum << kSliceBits) +
              static_cast<unsigned __int128>(static_cast<__int128>(sums_[d][at]));
      }
      return element_of(static_cast<__int128>(sum), exponent);
    }
    ExactSum sum;
    for (std::size_t d = 0; d < sums_.size(); ++d) {
      sum.add_integer(sums_[d][at], exponent + kSliceBits * static_cast<int>(d));
    }
    return element_of(sum);
  }

  ExactElement one_by_one(std::int64_t i, std::int64_t j) {
    left_values_.resize(size(op_.k));
    right_values_.resize(size(op_.k));
    op_.a.row(block_.first_row + i, 0, 0, 1, op_.k, left_values_.data());
    op_.b.row(0, block_.first_column + j, 0, 0, op_.k, right_values_.data());
    ExactSum sum;
    sum.add_products(left_values_.data(), right_values_.data(), op_.k);
    return element_of(sum);
  }

  Matmul op_;
  std::vector<SlicedLine> rows_, columns_;
  Block block_;
  int left_slices_ = 1, right_slices_ = 1;
  BlockReader reader_;
  Packed left_, right_;
  std::vector<std::vector<double>> partial_;
  std::vector<std::vector<std::int64_t>> sums_;
  std::vector<double> left_values_, right_values_;
};

}  // namespace

std::uint64_t ExactElement::round(Format format, Rounding rounding) const {
  return special == 0 ? encode(format, sum, rounding) : encode(format, special, rounding);
}

Enclosure ExactElement::enclosure() const {
  if (special != 0) return {special, special};
  return {decode(Format::fp64, round(Format::fp64, Rounding::downward)),
          decode(Format::fp64, round(Format::fp64, Rounding::upward))};
}

void evaluate_exactly(const Matmul& op, const ExactSink& sink) {
  HALFULP_REQUIRE(op.m >= 0 && op.n >= 0 && op.k >= 0, "sizes are not negative");
  ExactProduct product(op);
  std::vector<ExactElement> elements;
  for (std::int64_t first = 0; first < op.m; first += kBlockRows) {
    const std::int64_t rows = std::min(kBlockRows, op.m - first);
    elements.assign(size(rows * op.n), ExactElement{});
    for (std::int64_t j = 0; j < op.n; j += kBlockColumns) {
      const std::int64_t columns = std::min(kBlockColumns, op.n - j);
      product.block({first, j, rows, columns}, elements.data() + j);
    }
    for (std::int64_t i = 0; i < rows; ++i) {
      sink(first + i, std::span(elements).subspan(size(i * op.n), size(op.n)));
    }
  }
}

}  // namespace halfulp::reference
