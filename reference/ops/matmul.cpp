// matmul in double with certified errors, block by block; [B14] to [B19] of docs/bounds.md.
#include "reference/ops/matmul.hpp"

#include <algorithm>
#include <cmath>

#include "reference/exact_sum.hpp"
#include "reference/ops/matmul_blocks.hpp"
#include "reference/require.hpp"

namespace halfulp::reference {
namespace {

constexpr std::int64_t kBlockRows = 192;  // a multiple of kTileRows
constexpr std::int64_t kBlockColumns = 512;
constexpr std::int64_t kBlockDepth = 256;

std::size_t size(std::int64_t count) { return static_cast<std::size_t>(count); }

// Rows [first, first + rows) of the product, in blocks of columns.
class RowBlock {
 public:
  RowBlock(const Matmul& op, const MatmulModel& model, const std::vector<Line>& columns)
      : op_(op), model_(model), column_lines_(columns) {}

  void start(std::int64_t first, std::int64_t rows) {
    first_ = first;
    rows_ = rows;
    row_lines_ = lines_of_rows(op_.a, {first, 0, rows, op_.k}, model_.smallest_normal);
    packed_a_.resize(size((op_.k + kBlockDepth - 1) / kBlockDepth));
    for (std::size_t i = 0; i < packed_a_.size(); ++i) {
      const std::int64_t depth = std::min(kBlockDepth, op_.k - std::int64_t(i) * kBlockDepth);
      const Block block{first, std::int64_t(i) * kBlockDepth, rows, depth};
      pack_rows(reader_.read(op_.a, block), rows, depth, packed_a_[i]);
    }
  }

  // The sums of columns [first_column, first_column + columns), which answer() then reads.
  void sum(std::int64_t first_column, std::int64_t columns) {
    first_column_ = first_column;
    const std::int64_t groups = (rows_ + kTileRows - 1) / kTileRows;
    panels_ = (columns + kTileColumns - 1) / kTileColumns;
    tiles_.assign(size(groups * panels_), Tile{});
    for (std::size_t i = 0; i < packed_a_.size(); ++i) {
      first_depth_ = std::int64_t(i) * kBlockDepth;
      depth_ = std::min(kBlockDepth, op_.k - first_depth_);
      pack_columns(reader_.read(op_.b, {first_depth_, first_column, depth_, columns}), depth_,
                   columns, packed_b_);
      for (std::int64_t panel = 0; panel < panels_; ++panel) {
        for (std::int64_t group = 0; group < groups; ++group) {
          accumulate(packed_a_[i].data() + group * depth_ * kTileRows,
                     packed_b_.data() + panel * depth_ * kTileColumns, depth_, model_.contiguous,
                     tiles_[size(group * panels_ + panel)]);
        }
      }
    }
  }

  MatmulAnswer answer(std::int64_t row, std::int64_t column) const {
    const Tile& tile = tiles_[size(row / kTileRows * panels_ + column / kTileColumns)];
    const std::int64_t r = row % kTileRows, c = column % kTileColumns;
    const ProductSums sums{tile.sum[r][c], tile.magnitude[r][c], tile.high[r][c] - tile.low[r][c]};
    if (!std::isfinite(sums.sum)) {
      const Terms terms = terms_of(row, column);
      return answer_of_class(model_, model_.exact_products ? sums.sum : terms.special,
                             terms.finite_magnitude);
    }
    const Line& row_line = row_lines_[size(row)];
    const Line& column_line = column_lines_[size(first_column_ + column)];
    const double quantum = row_line.quantum * column_line.quantum;
    MatmulAnswer given = answer_of(model_, row_line, column_line, sums, quantum);
    if (given.bound == 0 || !model_.exact_products) return given;
    const SumSizes sizes = sum_sizes(model_, row_line, column_line, sums, quantum);
    const double coarsest = exact_quantum(model_, row_line, column_line, sizes);
    if (std::isinf(coarsest)) return given;
    // Of a line with one term (a permutation's) the sum is the only product there is.
    const bool single = std::min(row_line.terms, column_line.terms) <= 1;
    if (single ? is_multiple(sums.sum, coarsest) : divides(coarsest, row, column)) {
      given = answer_of(model_, row_line, column_line, sums, coarsest);
    }
    return given;
  }

 private:
  // [B18] Whether every product is a multiple of q: data at random say no at the first few, of the
  // block of k that is still at hand.
  bool divides(double q, std::int64_t row, std::int64_t column) const {
    const double* left =
        packed_a_.back().data() + row / kTileRows * depth_ * kTileRows + row % kTileRows;
    const double* right =
        packed_b_.data() + column / kTileColumns * depth_ * kTileColumns + column % kTileColumns;
    for (std::int64_t i = 0; i < depth_; ++i) {
      if (!is_multiple(left[i * kTileRows] * right[i * kTileColumns], q)) return false;
    }
    for (std::int64_t block = 0; block < first_depth_ / kBlockDepth; ++block) {
      left = packed_a_[size(block)].data() + row / kTileRows * kBlockDepth * kTileRows +
             row % kTileRows;
      for (std::int64_t i = 0; i < kBlockDepth; ++i) {
        const double a = left[i * kTileRows];
        if (a == 0) continue;
        const double b = op_.b.at(block * kBlockDepth + i, first_column_ + column);
        if (!is_multiple(a * b, q)) return false;
      }
    }
    return true;
  }

  struct Terms {
    double special = 0;  // sum of the products of operands that are not finite
    double finite_magnitude = 0;
  };
  Terms terms_of(std::int64_t row, std::int64_t column) const {
    Terms terms;
    for (std::int64_t k = 0; k < op_.k; ++k) {
      const double a = op_.a.at(first_ + row, k), b = op_.b.at(k, first_column_ + column);
      if (std::isfinite(a) && std::isfinite(b)) {
        terms.finite_magnitude += std::abs(a * b);
      } else {
        terms.special += a * b;
      }
    }
    return terms;
  }

  const Matmul& op_;
  const MatmulModel& model_;
  const std::vector<Line>& column_lines_;
  BlockReader reader_;
  std::int64_t first_ = 0, rows_ = 0, first_column_ = 0, panels_ = 0;
  std::int64_t first_depth_ = 0, depth_ = 0;  // of packed_b_
  std::vector<Line> row_lines_;
  std::vector<std::vector<double>> packed_a_;  // by block of k
  std::vector<double> packed_b_;
  std::vector<Tile> tiles_;
};

void check(const Matmul& op) {
  HALFULP_REQUIRE(op.m >= 0 && op.n >= 0 && op.k >= 0, "sizes are not negative");
}

}  // namespace

namespace {

void evaluate(const Matmul& op, bool advisory, const Sink& sink) {
  check(op);
  const MatmulModel model(op, advisory);
  const std::vector<Line> columns = lines_of_columns(op.b, op.k, op.n, model.smallest_normal);
  RowBlock block(op, model, columns);
  const std::int64_t most = std::min(kBlockRows, op.m);
  std::vector<double> value(size(most * op.n)), error(value.size()), bound(value.size());
  for (std::int64_t first = 0; first < op.m && op.n > 0; first += kBlockRows) {
    const std::int64_t rows = std::min(kBlockRows, op.m - first);
    if (op.k > 0) block.start(first, rows);
    for (std::int64_t j = 0; j < op.n && op.k > 0; j += kBlockColumns) {
      const std::int64_t count = std::min(kBlockColumns, op.n - j);
      block.sum(j, count);
      for (std::int64_t row = 0; row < rows; ++row) {
        for (std::int64_t column = 0; column < count; ++column) {
          const MatmulAnswer given = block.answer(row, column);
          const std::size_t at = size(row * op.n + j + column);
          value[at] = given.value;
          error[at] = given.error;
          bound[at] = given.bound;
        }
      }
    }
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto part = [&](const std::vector<double>& all) {
        return std::span(all).subspan(size(row * op.n), size(op.n));
      };
      sink({0, (first + row) * op.n, part(value), part(error), part(bound)});
    }
  }
}

}  // namespace

void evaluate(const Matmul& op, const Sink& sink) { evaluate(op, false, sink); }
void evaluate_advisory(const Matmul& op, const Sink& sink) { evaluate(op, true, sink); }

Enclosure exact(const Matmul& op, Element element) { return exact_answers(op)(element); }

namespace {

// Decoded rows of a and columns of b, kept for the elements that share them.
class ExactElements {
 public:
  explicit ExactElements(const Matmul& op) : op_(op) {}

  Enclosure operator()(Element element) {
    const std::int64_t row = element.index / op_.n, column = element.index % op_.n;
    if (row != row_) {
      row_ = row;
      left_.resize(size(op_.k));
      op_.a.row(row, 0, 0, 1, op_.k, left_.data());
    }
    ExactSum sum;
    sum.add_products(left_.data(), right(column).data(), op_.k);
    return sum.enclosure();
  }

 private:
  static constexpr std::int64_t kKept = 1 << 22;  // numbers

  const std::vector<double>& right(std::int64_t column) {
    if (columns_.empty()) columns_.resize(size(op_.n));
    std::vector<double>& values = columns_[size(column)];
    if (std::ssize(values) == op_.k) return values;
    if (kept_ + op_.k > kKept && kept_ > 0) {
      for (std::vector<double>& other : columns_) std::vector<double>().swap(other);
      kept_ = 0;
    }
    kept_ += op_.k;
    values.resize(size(op_.k));
    op_.b.row(0, column, 0, 0, op_.k, values.data());
    return values;
  }

  Matmul op_;
  std::int64_t row_ = -1;
  std::vector<double> left_;
  std::vector<std::vector<double>> columns_;
  std::int64_t kept_ = 0;
};

}  // namespace

ExactAnswers exact_answers(const Matmul& op) {
  check(op);
  return ExactElements(op);
}

std::vector<BoundTerm> explain(const Matmul& op, Element element) {
  check(op);
  if (op.k == 0) return {{"no products: 0", "[B14]", 0}};
  Matmul one = op;  // the element's own row and column
  one.m = one.n = 1;
  const auto skip = [](View& view, int axis, std::int64_t count) {
    view.data = static_cast<const char*>(view.data) +
                count * view.stride[axis] * (traits(view.format).storage_bits / 8);
  };
  skip(one.a, 0, element.index / op.n);
  skip(one.b, 1, element.index % op.n);
  const MatmulModel model(one);
  const std::vector<Line> columns = lines_of_columns(one.b, one.k, 1, model.smallest_normal);
  RowBlock block(one, model, columns);
  block.start(0, 1);
  block.sum(0, 1);
  const MatmulAnswer given = block.answer(0, 0);
  if (!std::isfinite(given.bound)) {
    return {{"overflow, or more roundings than the format bears", "[B14]", given.bound}};
  }
  return {{"rounding of operands", "[B15]", given.operands},
          {"rounding of products", "[B5]", given.products},
          {"accumulation", model.tensor_core ? "[B16]" : "[B14]", given.accumulation},
          {"rounding of partial sums", "[B17]", given.partial_rounding},
          {"sum of partial sums", "[B17]", given.combination}};
}

}  // namespace halfulp::reference
