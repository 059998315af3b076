// RoundingModel errors of sums and quotients: the lemmas from which every bound of reference/ops is
// built. The derivations are in docs/bounds.md.
//
//   const RoundingModel rounding = rounding_model(op.arithmetic);
//   const SumError tree = sum_error(rounding, n - 1);                    // [B2], any order, any
//   tree const double error = tree.of_magnitude * sum_of_magnitudes + tree.of_result *
//   std::abs(sum);
#pragma once
#include <cstdint>
#include <limits>

#include "reference/arithmetic.hpp"

namespace halfulp::reference {

inline constexpr double kUnbounded = std::numeric_limits<double>::infinity();

// Bounds are computed in double; this factor outweighs the rounding of their own computation [B1].
inline constexpr double kInflation = 1 + 0x1p-30;

// A bound of fp32 arithmetic times this covers the same computation in double: 2^-29 is the ratio
// of the unit roundoffs, and a factor of 2 is left over [B1].
inline constexpr double kErrorOfDouble = 0x1p-28;

// The constants of the format that a kernel computes in.
struct RoundingModel {
  double unit = 0;  // u
  double smallest_normal = 0;
  double largest = 0;        // largest finite number
  double underflow = 0;      // what a product or quotient may lose below the normal range, beside u
  double underflow_add = 0;  // the same for an addition: 0 unless results are flushed
  double quantum_least = 0;  // multiples of it, of any size, are never flushed
};
RoundingModel rounding_model(const Arithmetic& arithmetic);
RoundingModel rounding_model(Format format, bool flush, bool flush_additions);

// [B1] gamma_n = n u / (1 - n u); +infinity when n u >= 1.
double gamma(double n, double unit);

// |computed sum - sum| <= of_magnitude * sum |x| + of_result * |sum x| + constant.
struct SumError {
  double of_magnitude = 0;
  double of_result = 0;
  double constant = 0;
};

// [B2] A sum of given numbers by `additions` rounded additions in any order and any tree.
SumError sum_error(const RoundingModel& rounding, double additions);

// [B5] sum y_j v_j, each y_j within a relative error `weight_error` of the w_j that of_magnitude
// and of_result are about, each product rounded or not, then `additions` additions in any tree. The
// error is that of the arithmetic: computed - sum y_j v_j.
SumError product_sum_error(const RoundingModel& rounding, double terms, double additions,
                           double weight_error);

// [B4] The coarsest power of two q with magnitude <= 2^bits * q, but at least `least`.
double quantum(double magnitude, int bits, double least);
// Whether x is a multiple of the power of two q, for |x| < 2^50 q.
inline bool is_multiple(double x, double q) {
  const double magic = 0x1.8p52 * q;
  return (x + magic) - magic == x;
}
// [B4] Epsilon as one more leaf: q for terms whose sub-sums are at most `largest` without it, such
// that no order of summing rounds if all terms are multiples of q; 0 if epsilon is none.
double quantum_with_epsilon(const RoundingModel& rounding, double largest, double epsilon);

// [B7] What the last division, and the rounding of its result to the output format that is not the
// last one, add to a quotient computed before from perturbed operands.
struct DivisionError {
  double relative = 0;
  double tiny = 0;      // absolute, where the quotient may be below the normal range
  double smallest = 0;  // divisors outside [smallest, largest] leave the result open
  double largest = 0;
  bool ieee = true;  // else the product with fl(1 / divisor)
  double smallest_normal = 0;
};
DivisionError division_error(const Arithmetic& arithmetic);
// [B7] above / below == quotient, of numbers of the compute format, is one itself, and every kernel
// gets it.
bool divides_exactly(const DivisionError& division, double above, double below, double quotient);
inline double division_amount(const DivisionError& division, double magnitude) {
  return division.relative * magnitude +
         (magnitude < 0x1p-100 && magnitude > 0 ? division.tiny : 0);
}

}  // namespace halfulp::reference
