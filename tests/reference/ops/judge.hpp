// How far a simulated result is from the truth, in units of the bound.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/answer.hpp"

namespace halfulp::reference::simulated {

// Above 1: outside. `result` is before the last rounding and carries the error of one double
// operation.
inline double error_over_bound(double result, const Enclosure& truth, double bound) {
  constexpr double kOutside = std::numeric_limits<double>::infinity();
  if (std::isinf(bound)) return 0;
  if (std::isnan(truth.lo)) return std::isnan(result) ? 0 : kOutside;
  if (std::isinf(truth.lo)) return result == truth.lo ? 0 : kOutside;
  if (std::isinf(result)) {  // right where the accepted interval reaches beyond the largest float
    const double reach = result > 0 ? truth.hi + bound : -(truth.lo - bound);
    return std::isinf(static_cast<float>(reach)) && reach > 0 ? 1 : kOutside;
  }
  if (std::isnan(result)) return kOutside;
  const double distance = std::max({0.0, truth.lo - result, result - truth.hi});
  const double counted = distance - 0x1p-52 * std::abs(result);
  if (counted <= 0) return 0;
  return bound > 0 ? counted / bound : kOutside;
}

// Whether the fast evaluation and the exact one can both be right.
inline bool agree(double value, double error, const Enclosure& truth) {
  if (std::isnan(truth.lo)) return std::isnan(value);
  if (std::isinf(truth.lo)) return value == truth.lo;
  return value - error <= truth.hi && value + error >= truth.lo;
}

// Whether `result`, rounded to nearest by its last operation, is what the comparison accepts.
inline bool accepted(Format output, double result, const Enclosure& truth, double bound) {
  const double slack = 0x1p-50 * (std::abs(truth.lo) + bound);
  return round_to(output, truth.lo - bound - slack) <= result &&
         result <= round_to(output, truth.hi + bound + slack);
}

}  // namespace halfulp::reference::simulated
