// The rule of acceptance; see compare.hpp.
#include "properties/compare.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace halfulp::properties {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLargest = std::numeric_limits<double>::max();

// The exact a + b - sum, for a finite sum (Knuth's TwoSum; needs no contraction and no fast math).
double addition_error(double a, double b, double sum) {
  const double b_part = sum - a;
  const double a_part = sum - b_part;
  return (a - a_part) + (b - b_part);
}

// Distance from x to the next number of the format towards `target`. An infinity stands where the
// number after the largest finite one would be.
double gap_towards(reference::Format output, double x, double target) {
  const reference::FormatTraits& format = reference::traits(output);
  if (std::isinf(x)) return std::ldexp(1.0, format.exponent_max + 1 - format.precision);
  if (std::fabs(x) < std::ldexp(1.0, format.exponent_min)) {
    return reference::subnormal_spacing(output);
  }
  const int exponent = std::ilogb(x);
  const bool power_of_two = std::fabs(x) == std::ldexp(1.0, exponent);
  const bool inward = x > 0 ? target < x : target > x;
  const bool halved = power_of_two && inward && exponent > format.exponent_min;
  return std::ldexp(1.0, exponent - format.precision + (halved ? 0 : 1));
}

}  // namespace

double add_down(double a, double b) {
  const double sum = a + b;
  if (std::isinf(sum) && std::isfinite(a) && std::isfinite(b)) return sum > 0 ? kLargest : sum;
  if (!std::isfinite(sum)) return sum;
  return addition_error(a, b, sum) < 0 ? std::nextafter(sum, -kInfinity) : sum;
}

double add_up(double a, double b) { return -add_down(-a, -b); }

Accepted accepted(reference::Format output, reference::Enclosure truth, double bound) {
  if (bound == kInfinity) return {-kInfinity, kInfinity};
  if (std::isnan(truth.lo) || std::isnan(truth.hi)) return {truth.lo, truth.hi};
  if (std::isinf(truth.lo) && truth.lo == truth.hi) return {truth.lo, truth.hi};
  return {reference::round_to(output, add_down(truth.lo, -bound)),
          reference::round_to(output, add_up(truth.hi, bound))};
}

bool accepts(reference::Format output, reference::Enclosure truth, double bound, double got) {
  if (bound == kInfinity) return true;
  const Accepted ends = accepted(output, truth, bound);
  if (std::isnan(ends.lo) || std::isnan(got)) return std::isnan(ends.lo) && std::isnan(got);
  return ends.lo <= got && got <= ends.hi;
}

double error_over_bound(reference::Format output, reference::Enclosure truth, double bound,
                        double got) {
  if (bound == kInfinity) return 0;
  if (std::isnan(truth.lo) || std::isnan(got)) {
    return std::isnan(truth.lo) && std::isnan(got) ? 0 : kInfinity;
  }
  if (truth.lo <= got && got <= truth.hi) return 0;
  if (std::isinf(truth.lo) || std::isinf(truth.hi)) return kInfinity;
  const double nearest = got < truth.lo ? truth.lo : truth.hi;
  double place = got;
  if (std::isinf(got)) {
    const int exponent = reference::traits(output).exponent_max + 1;
    if (exponent > std::numeric_limits<double>::max_exponent - 1) return kInfinity;
    place = std::copysign(std::ldexp(1.0, exponent), got);
    if (got > 0 ? nearest >= place : nearest <= place) return 0;  // the truth overflows as well
  }
  const double excess =
      std::max(0.0, std::fabs(place - nearest) - 0.5 * gap_towards(output, got, nearest));
  if (excess == 0) return 0;
  return bound == 0 ? kInfinity : excess / bound;
}

reference::Enclosure enclosure(const Expected& expected) {
  if (!std::isfinite(expected.value)) return {expected.value, expected.value};
  return {add_down(expected.value, -expected.error), add_up(expected.value, expected.error)};
}

bool wrong_zero(const Expected& expected, double got) {
  return expected.positive_zero && got == 0 && std::signbit(got);
}

Decision decide(reference::Format output, const Expected& expected, double got) {
  if (wrong_zero(expected, got)) return Decision::reject;
  if (expected.bound == kInfinity) return Decision::accept;
  if (std::isfinite(expected.value) && std::isfinite(got)) {
    // Most elements end here: got is a number of the format and lies within E - error of the value,
    // whatever the truth is. The factors cover the roundings of the two subtractions.
    const double distance = std::fabs(got - expected.value) * (1 + 0x1p-50);
    if (distance <= (expected.bound - expected.error) * (1 - 0x1p-50)) return Decision::accept;
  }
  const reference::Enclosure truth = enclosure(expected);
  if (!accepts(output, truth, expected.bound, got)) return Decision::reject;
  // Accepted for every truth in the enclosure, its two ends being the extreme ones?
  const bool low_end = accepts(output, {truth.lo, truth.lo}, expected.bound, got);
  const bool high_end = accepts(output, {truth.hi, truth.hi}, expected.bound, got);
  return low_end && high_end ? Decision::accept : Decision::undecided;
}

bool contradicts(const Expected& expected, reference::Enclosure exact) {
  if (std::isinf(expected.bound)) return false;
  const reference::Enclosure fast = enclosure(expected);
  if (std::isnan(fast.lo) || std::isnan(exact.lo)) {
    return std::isnan(fast.lo) != std::isnan(exact.lo);
  }
  return exact.hi < fast.lo || fast.hi < exact.lo;
}

}  // namespace halfulp::properties
