#include "reference/ops/matmul_residual.hpp"

#include <algorithm>
#include <cmath>

#include "reference/ops/clones.hpp"
#include "reference/ops/matmul_blocks.hpp"
#include "reference/require.hpp"

namespace halfulp::reference {
namespace {

constexpr std::int64_t kDepth = 512;

std::size_t size(std::int64_t count) { return static_cast<std::size_t>(count); }

HALFULP_CLONES
void add_scaled(double* sum, const double* values, double factor, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) sum[i] += factor * values[i];
}
HALFULP_CLONES
void add_products(double* sum, const double* left, const double* right, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) sum[i] += left[i] * right[i];
}

// Of every k: the inner product of a_k b_k with the residual, and with itself, over the elements
// that are there.
struct Products {
  std::vector<double> with_residual, with_itself;
};

class Projector {
 public:
  Projector(const Matmul& op, std::span<const double> residual)
      : op_(op), residual_(residual), y_(size(kDepth)), y_squares_(size(kDepth)) {
    whole_ =
        std::all_of(residual.begin(), residual.end(), [](double r) { return std::isfinite(r); });
  }

  Products products() {
    Products all{std::vector<double>(size(op_.k)), std::vector<double>(size(op_.k))};
    for (std::int64_t first = 0; first < op_.k; first += kDepth) {
      depth_ = std::min(kDepth, op_.k - first);
      read(first);
      block(all.with_residual.data() + first, all.with_itself.data() + first);
    }
    return all;
  }

  // Sum over k in [first, last) of a_k b_k, squared and summed.
  double squares_of_range(std::int64_t first, std::int64_t last) {
    std::vector<double> sums(residual_.size());
    for (std::int64_t k = first; k < last; k += kDepth) {
      depth_ = std::min(kDepth, last - k);
      read(k);
      for (std::int64_t c = 0; c < depth_; ++c) {
        for (std::int64_t i = 0; i < op_.m; ++i) {
          const double* const row = right_rows_.data() + c * op_.n;
          add_scaled(sums.data() + i * op_.n, row, left_[size(i * depth_ + c)], op_.n);
        }
      }
    }
    double squares = 0;
    for (std::size_t i = 0; i < sums.size(); ++i) {
      if (std::isfinite(residual_[i])) squares += sums[i] * sums[i];
    }
    return squares;
  }

 private:
  // Operands of k in [first, first + depth_); what is not finite takes no part.
  void read(std::int64_t first) {
    const auto finite = [](double x) { return std::isfinite(x) ? x : 0.0; };
    const double* values = reader_.read(op_.a, {0, first, op_.m, depth_});
    left_.assign(values, values + op_.m * depth_);
    std::transform(left_.begin(), left_.end(), left_.begin(), finite);
    values = reader_.read(op_.b, {first, 0, depth_, op_.n});
    right_rows_.assign(values, values + depth_ * op_.n);
    std::transform(right_rows_.begin(), right_rows_.end(), right_rows_.begin(), finite);
    right_.resize(right_rows_.size());
    squares_.resize(right_rows_.size());
    for (std::int64_t c = 0; c < depth_; ++c) {
      for (std::int64_t j = 0; j < op_.n; ++j) {
        const double b = right_rows_[size(c * op_.n + j)];
        right_[size(j * depth_ + c)] = b;
        squares_[size(j * depth_ + c)] = b * b;
      }
    }
  }

  void block(double* with_residual, double* with_itself) {
    if (whole_) {
      std::fill(y_squares_.begin(), y_squares_.end(), 0.0);
      for (std::int64_t j = 0; j < op_.n; ++j) {
        add_scaled(y_squares_.data(), squares_.data() + j * depth_, 1, depth_);
      }
    }
    std::vector<double> left_squares(size(depth_));
    for (std::int64_t i = 0; i < op_.m; ++i) {
      const double* const left = left_.data() + i * depth_;
      std::fill(y_.begin(), y_.end(), 0.0);
      if (!whole_) std::fill(y_squares_.begin(), y_squares_.end(), 0.0);
      for (std::int64_t j = 0; j < op_.n; ++j) {
        const double r = residual_[size(i * op_.n + j)];
        if (!std::isfinite(r)) continue;
        if (r != 0) add_scaled(y_.data(), right_.data() + j * depth_, r, depth_);
        if (!whole_) add_scaled(y_squares_.data(), squares_.data() + j * depth_, 1, depth_);
      }
      for (std::int64_t c = 0; c < depth_; ++c) left_squares[size(c)] = left[c] * left[c];
      add_products(with_residual, left, y_.data(), depth_);
      add_products(with_itself, left_squares.data(), y_squares_.data(), depth_);
    }
  }

  const Matmul& op_;
  std::span<const double> residual_;
  bool whole_ = true;
  std::int64_t depth_ = 0;
  BlockReader reader_;
  std::vector<double> left_;             // (m, depth)
  std::vector<double> right_rows_;       // (depth, n)
  std::vector<double> right_, squares_;  // (n, depth)
  std::vector<double> y_, y_squares_;    // (depth)
};

struct Range {
  std::int64_t first = 0, last = 0;
  double gain = 0;
};

// [B20] What taking sign * sum over [first, last) from the residual takes from its squares, were
// the a_k b_k orthogonal: the range where that is most.
Range best_range(const Products& products, double sign) {
  Range best, open;
  for (std::size_t k = 0; k < products.with_itself.size(); ++k) {
    if (open.gain <= 0) open = {static_cast<std::int64_t>(k), 0, 0};
    open.gain += 2 * sign * products.with_residual[k] - products.with_itself[k];
    open.last = static_cast<std::int64_t>(k) + 1;
    if (open.gain > best.gain) best = open;
  }
  return best;
}

// inner^2 / (squares * total), where the squares of squares would leave the range of double.
double share(double inner, double squares, double total) {
  if (squares <= 0 || total <= 0) return 0;
  const double cosine = inner / std::sqrt(squares) / std::sqrt(total);
  return std::min(1.0, cosine * cosine);
}

}  // namespace

Matmul window(const Matmul& op, const Window& elements) {
  HALFULP_REQUIRE(elements.first_row >= 0 && elements.first_column >= 0 && elements.rows >= 0 &&
                      elements.columns >= 0 && elements.first_row + elements.rows <= op.m &&
                      elements.first_column + elements.columns <= op.n,
                  "a window lies within the product");
  Matmul part = op;
  part.m = part.a.extent[0] = elements.rows;
  part.n = part.b.extent[1] = elements.columns;
  const auto skip = [](View& view, int axis, std::int64_t count) {
    view.data = static_cast<const char*>(view.data) +
                count * view.stride[axis] * (traits(view.format).storage_bits / 8);
  };
  skip(part.a, 0, elements.first_row);
  skip(part.b, 1, elements.first_column);
  return part;
}

std::vector<double> residual_of(const Matmul& op, const View& output) {
  std::vector<double> residual(size(op.m * op.n));
  evaluate(op, [&](const Rows& rows) {
    for (std::size_t i = 0; i < rows.value.size(); ++i) {
      const std::int64_t at = rows.first + static_cast<std::int64_t>(i);
      const double difference = output.at(at / op.n, at % op.n) - rows.value[i];
      residual[size(at)] = std::isfinite(difference) ? difference : std::nan("");
    }
  });
  return residual;
}

ResidualProjection project(const Matmul& op, std::span<const double> residual) {
  HALFULP_REQUIRE(std::ssize(residual) == op.m * op.n, "one residual an element");
  double total = 0;
  for (const double r : residual) total += std::isfinite(r) ? r * r : 0;
  ResidualProjection found;
  if (total == 0) return found;
  Projector projector(op, residual);
  const Products products = projector.products();
  for (std::int64_t k = 0; k < op.k; ++k) {
    const double inner = products.with_residual[size(k)], squares = products.with_itself[size(k)];
    const double explained = share(inner, squares, total);
    if (explained > found.explained) {
      found.runner_up = found.explained;
      found.explained = explained;
      found.weight = inner / squares;
      found.k = k;
    } else {
      found.runner_up = std::max(found.runner_up, explained);
    }
  }
  const Range dropped = best_range(products, -1), doubled = best_range(products, 1);
  const Range range = dropped.gain >= doubled.gain ? dropped : doubled;
  if (range.last == range.first) return found;
  found.first = range.first;
  found.last = range.last;
  double inner = 0;
  for (std::int64_t k = range.first; k < range.last; ++k) inner += products.with_residual[size(k)];
  const double squares = projector.squares_of_range(range.first, range.last);
  found.range_weight = squares > 0 ? inner / squares : 0;
  found.range_explained = share(inner, squares, total);
  return found;
}

}  // namespace halfulp::reference
