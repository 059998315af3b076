// Simulated dot products: every accumulator, order, tree and split that the declared Arithmetic of
// a matmul allows. Independent of the bounds they test.
#pragma once
#include <vector>

#include "reference/ops/matmul.hpp"
#include "tests/reference/ops/simulated.hpp"

namespace halfulp::reference::simulated {

enum class Summation { sequential, blocked, pairwise, tree, kinds };

// Tensor cores as published measurements describe them, for 16-bit and tf32 operands.
inline constexpr TensorCore kVolta{23, 4};
inline constexpr TensorCore kAmpere{24, 8};
inline constexpr TensorCore kHopper{25, 16};

// How one kernel computes; what it declares is in `declared`.
struct DotStyle {
  Arithmetic declared;
  Summation summation = Summation::sequential;
  bool fma = false;
  bool zero_has_exponent = true;  // tensor cores: a zero operand counts as 2^-126 in the alignment
};
// Inputs in `input`; half of the styles are tensor cores, a third has partial sums.
DotStyle random_dot_style(Format input, std::int64_t k, Generator& generator);

// The accumulated sum of a[i] b[i], before any further rounding to an output format.
double dot(const DotStyle& style, std::vector<double> a, std::vector<double> b,
           Generator& generator);

// Products in the order of `order`, from `sum` on, in steps of the tensor core.
double tensor_core_sum(const DotStyle& style, const std::vector<double>& a,
                       const std::vector<double>& b, const std::vector<std::size_t>& order);

enum class MatrixFill {
  normal,
  positive,
  integers,
  signs,
  wide,
  subnormal,
  cancelling,
  any_bits,
  kinds
};

// Storage of both operands of one case, b transposed or not.
struct MatmulData {
  std::vector<unsigned char> storage;  // little endian
  Matmul op;

  MatmulData(std::int64_t m, std::int64_t n, std::int64_t k, Format input, bool transpose_b);
  MatmulData(const MatmulData&) = delete;
  MatmulData& operator=(const MatmulData&) = delete;
  void set_a(std::int64_t i, std::int64_t k, double value);
  void set_b(std::int64_t k, std::int64_t j, double value);
  void fill(MatrixFill fill, Generator& generator);
  std::vector<double> row(std::int64_t i) const;
  std::vector<double> column(std::int64_t j) const;

 private:
  void set(const View& view, std::int64_t i, std::int64_t j, double value);
};

}  // namespace halfulp::reference::simulated
