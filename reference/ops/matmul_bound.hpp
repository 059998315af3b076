// How far a legal kernel may be from one element of a matrix product, from the element's sums and
// from what is known of its row of a and its column of b. Internal to reference/ops.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>

#include "reference/ops/matmul.hpp"
#include "reference/rounding_error.hpp"

namespace halfulp::reference {

// Sums over k of the products of one element, k ascending, in double. Where operands are fp64, so
// are the roundings of products.
struct ProductSums {
  double sum = 0;
  double magnitude = 0;  // sum |a b|
  double range = 0;      // largest prefix sum less the smallest, 0 being one of them
};

// What the bounds need of the numbers of a row of a or a column of b.
struct Line {
  double quantum = kUnbounded;  // the finest power of two that divides all but zeros
  double largest = 0;           // magnitude
  std::int64_t terms = 0;       // that are not zero
  bool zero = false;
  bool subnormal = false;  // in its own format
  bool beyond_tf32 = false;

  void add(double x, double smallest_normal) {
    const auto bits = std::bit_cast<std::uint64_t>(x);
    const double size = std::abs(x);
    if (size == 0) {
      zero = true;
      return;
    }
    ++terms;
    // Without its lowest significand bit; a number without any is a power of two itself.
    const double rest = std::bit_cast<double>(bits & (bits - 1));
    const double lowest = (bits & 0xfffffffffffff) != 0 ? std::abs(x - rest) : size;
    quantum = lowest < quantum ? lowest : quantum;
    largest = size > largest ? size : largest;
    subnormal |= size < smallest_normal;
    beyond_tf32 |= size >= 0x1p11 * lowest || lowest < 0x1p-136;
  }
};

// What all elements of an operation share.
struct MatmulModel {
  // advisory: the statistical bound [B23].
  explicit MatmulModel(const Matmul& op, bool advisory = false);

  bool advisory = false;
  bool exact_products = true;  // in the reference's double: no operand is fp64
  bool tensor_core = false;
  bool contiguous = false;
  bool last_rounding = false;  // the last operation rounds to nearest in the output format
  double terms = 0;            // k
  double smallest_normal = 0;  // of the operands' format
  double operand_roundoff = 0;
  bool products_fit = false;  // products have no more bits than the accumulator

  RoundingModel sum;  // of the accumulator
  bool flush = false;
  double additions = 0;  // of the longest partial sum
  double step = 0;       // g of [B16]
  double cut_root = 0;   // sqrt(l) 2^-F and the rounding's 2 u, for [B23]
  double step_unit = 0;
  double step_underflow = 0;
  double steps_longest = 0;
  double steps = 0;  // of all partial sums

  double partials = 1;
  RoundingModel partial;
  bool partial_rounded = false;  // its format is narrower than the accumulator

  int exact_bits = 24;  // t of [B18]
  double quantum_least = 0;
  double largest = 0;  // no sum beyond it is finite in every format on the way
};

struct MatmulAnswer {
  double value = 0;
  double error = 0;
  double bound = 0;
  // The bound's parts, inflated.
  double operands = 0;
  double products = 0;
  double accumulation = 0;
  double partial_rounding = 0;
  double combination = 0;
};

// Bounds of the sums of one element, and the size that decides whether they can be exact.
struct SumSizes {
  double error = 0;      // of the double sum
  double total = 0;      // >= S
  double any = 0;        // >= W, any sub-sum
  double ordered = 0;    // >= any sub-sum that the declared order allows
  double alignment = 0;  // tensor cores: exponents beyond those of the products [B16]
};
SumSizes sum_sizes(const MatmulModel& model, const Line& row, const Line& column,
                   const ProductSums& sums, double quantum);

// [B18] The finest quantum of products with which no legal order rounds; +infinity: none.
double exact_quantum(const MatmulModel& model, const Line& row, const Line& column,
                     const SumSizes& sizes);

// Finite sums; every product is a multiple of `quantum`.
MatmulAnswer answer_of(const MatmulModel& model, const Line& row, const Line& column,
                       const ProductSums& sums, double quantum);
// [B19] NaN or an infinity in `sum`, beside finite products of this magnitude.
MatmulAnswer answer_of_class(const MatmulModel& model, double sum, double finite_magnitude);

}  // namespace halfulp::reference
