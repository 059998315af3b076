// The one rule of acceptance, for one output element.
//
//   the kernel's value before its last rounding lies in [c - E, c + E], and the truth c in [lo,
//   hi]; rounding is monotone, so    accept  <=>  rnd(lo - E) <= got <= rnd(hi + E)    with rnd the
//   output's one last rounding.
//
// Classes come first: NaN must meet NaN, an infinity the same infinity. -0 equals +0, unless the
// reference promises +0 (reference::Rows::positive_zero). E = +infinity accepts everything (the
// element cannot fail; properties/power.hpp counts it). The ends lo - E and
// hi + E are rounded outward in double before rnd, so no right kernel is refused.
#pragma once
#include <cstdint>

#include "reference/answer.hpp"
#include "reference/format.hpp"

namespace halfulp::properties {

// A double not above (not below) the exact a + b, and equal to it where it is a double.
double add_down(double a, double b);
double add_up(double a, double b);

// The smallest and largest accepted number of the output format. NaN in both: only NaN is accepted.
struct Accepted {
  double lo = 0;
  double hi = 0;
};
Accepted accepted(reference::Format output, reference::Enclosure truth, double bound);
bool accepts(reference::Format output, reference::Enclosure truth, double bound, double got);

// How far `got` is from the truth, in units of the bound, half an ulp of the output allowed:
//   max(0, distance to [lo, hi] - half the gap from got to its neighbour towards the truth) / E.
// At most 1 for whatever is accepted; 0/0 is 0; wrong with E = 0, or of a wrong class: +infinity.
double error_over_bound(reference::Format output, reference::Enclosure truth, double bound,
                        double got);

// One element of reference::Rows.
struct Expected {
  double value = 0;
  double error = 0;
  double bound = 0;
  bool positive_zero = false;  // +0 exactly
};
// -0 where +0 is promised.
bool wrong_zero(const Expected& expected, double got);
reference::Enclosure enclosure(const Expected& expected);

// What can be said while the truth is known only up to `error`.
enum class Decision : std::uint8_t { accept, reject, undecided };
Decision decide(reference::Format output, const Expected& expected, double got);

// True when the exact enclosure and the fast path's own enclosure have no number in common: both
// contain the truth, so one of the two is wrong. An element without bound claims nothing: a
// denominator may be zero there, and the exact answer NaN.
bool contradicts(const Expected& expected, reference::Enclosure exact);

}  // namespace halfulp::properties
