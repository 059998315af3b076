// Bounds of sums from elsewhere: [B28] of docs/bounds.md.
#include "reference/ops/matmul_given.hpp"

#include <utility>

#include "reference/ops/matmul_blocks.hpp"
#include "reference/require.hpp"

namespace halfulp::reference {
namespace {

std::size_t size(std::int64_t count) { return static_cast<std::size_t>(count); }

// Nothing is known of prefix sums.
Matmul in_any_order(Matmul op) {
  op.arithmetic.sum_order = SumOrder::any;
  return op;
}

// More than the finite products of an element come to in magnitude.
double finite_products(const Matmul& op) {
  const int exponents = traits(op.a.format).exponent_max + traits(op.b.format).exponent_max;
  return std::ldexp(static_cast<double>(op.k), exponents + 2);
}

View transposed(View view) {
  std::swap(view.extent[0], view.extent[1]);
  std::swap(view.stride[0], view.stride[1]);
  return view;
}

}  // namespace

MatmulGiven::MatmulGiven(const Matmul& op)
    : op_(in_any_order(op)),
      model_(op_),
      rows_(lines_of_columns(transposed(op.a), op.k, op.m, model_.smallest_normal)),
      columns_(lines_of_columns(op.b, op.k, op.n, model_.smallest_normal)),
      value_(size(op.n)),
      error_(size(op.n)),
      bound_(size(op.n)) {
  HALFULP_REQUIRE(model_.exact_products, "products of fp64 numbers round");
}

MatmulAnswer MatmulGiven::answer(std::int64_t i, std::int64_t j, double value,
                                 double magnitude) const {
  if (!std::isfinite(value)) return answer_of_class(model_, value, finite_products(op_));
  const Line &row = rows_[size(i)], &column = columns_[size(j)];
  return answer_of(model_, row, column, {value, magnitude, 0}, row.quantum * column.quantum);
}

void MatmulGiven::evaluate_row(std::int64_t i, std::span<const double> value,
                               std::span<const double> magnitude, const Sink& sink) {
  HALFULP_REQUIRE(std::ssize(value) == op_.n && std::ssize(magnitude) == op_.n, "whole rows");
  for (std::int64_t j = 0; j < op_.n; ++j) {
    const MatmulAnswer given = answer(i, j, value[size(j)], magnitude[size(j)]);
    value_[size(j)] = given.value;
    error_[size(j)] = given.error;
    bound_[size(j)] = given.bound;
  }
  if (op_.n > 0) sink({0, i * op_.n, value_, error_, bound_});
}

}  // namespace halfulp::reference
