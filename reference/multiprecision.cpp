#include "reference/multiprecision.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <utility>

#include "reference/require.hpp"

namespace halfulp::reference {
namespace {

using Binary = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t);
using Unary = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);

Real apply(Binary operation, const Real& x, const Real& y, mpfr_rnd_t rounding) {
  Real result;
  operation(result.backend().data(), x.backend().data(), y.backend().data(), rounding);
  return result;
}

// An increasing function, at both ends.
Interval apply(Unary operation, const Interval& x) {
  Interval result;
  operation(result.lo.backend().data(), x.lo.backend().data(), MPFR_RNDD);
  operation(result.hi.backend().data(), x.hi.backend().data(), MPFR_RNDU);
  return result;
}

bool is_nan(const Real& x) { return mpfr_nan_p(x.backend().data()) != 0; }

Interval nan_interval() {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  return {Real(nan), Real(nan)};
}

// Intervals up to this wide need one exponential: e^(x + w) <= e^x (1 + 2 w) for w <= 1.
constexpr double kNarrow = 0x1p-120;

// The ends of x op y lie at ends of x and y for * and /. A NaN among the corners (0 * infinity) is
// a NaN that some member of the intervals gives, so it makes the whole result NaN.
Interval corners(Binary operation, const Interval& x, const Interval& y) {
  Interval result;
  bool first = true;
  const std::array<const Real*, 2> lefts{&x.lo, &x.hi}, rights{&y.lo, &y.hi};
  for (const Real* left : std::span(lefts).first(x.lo == x.hi ? 1 : 2)) {
    for (const Real* right : std::span(rights).first(y.lo == y.hi ? 1 : 2)) {
      Real low = apply(operation, *left, *right, MPFR_RNDD);
      Real high = apply(operation, *left, *right, MPFR_RNDU);
      if (is_nan(low)) return nan_interval();
      if (first || low < result.lo) result.lo = std::move(low);
      if (first || high > result.hi) result.hi = std::move(high);
      first = false;
    }
  }
  return result;
}

Interval nan_if_either(Interval result) { return result.is_nan() ? nan_interval() : result; }

}  // namespace

Interval::Interval(const Dyadic& value) {
  HALFULP_REQUIRE((value.significand >> 126) == 0 || !value.sticky,
                  "a sticky significand must have room for its successor");
  const auto real = [&](unsigned __int128 significand, mpfr_rnd_t rounding) {
    // Two halves of 64 bits: each exact, and one rounding in the sum.
    Real high, low, result;
    mpfr_set_ui_2exp(high.backend().data(), static_cast<std::uint64_t>(significand >> 64),
                     mpfr_exp_t{value.exponent} + 64, MPFR_RNDN);
    mpfr_set_ui_2exp(low.backend().data(), static_cast<std::uint64_t>(significand), value.exponent,
                     MPFR_RNDN);
    mpfr_add(result.backend().data(), high.backend().data(), low.backend().data(), rounding);
    return result;
  };
  lo = real(value.significand, MPFR_RNDD);
  hi = real(value.significand + (value.sticky ? 1 : 0), MPFR_RNDU);
  if (value.negative) *this = -*this;
}

bool Interval::is_nan() const { return reference::is_nan(lo) || reference::is_nan(hi); }

Interval operator-(const Interval& x) { return {-x.hi, -x.lo}; }

Interval operator+(const Interval& x, const Interval& y) {
  return nan_if_either(
      {apply(mpfr_add, x.lo, y.lo, MPFR_RNDD), apply(mpfr_add, x.hi, y.hi, MPFR_RNDU)});
}

Interval operator-(const Interval& x, const Interval& y) { return x + -y; }

Interval operator*(const Interval& x, const Interval& y) { return corners(mpfr_mul, x, y); }

Interval operator/(const Interval& x, const Interval& y) {
  if (y.is_nan() || (y.lo <= 0 && y.hi >= 0)) return nan_interval();
  return corners(mpfr_div, x, y);
}

void add_product(Interval& sum, const Interval& x, double y) {
  const Real factor(y);
  const Real& low = y < 0 ? x.hi : x.lo;
  const Real& high = y < 0 ? x.lo : x.hi;
  mpfr_fma(sum.lo.backend().data(), low.backend().data(), factor.backend().data(),
           sum.lo.backend().data(), MPFR_RNDD);
  mpfr_fma(sum.hi.backend().data(), high.backend().data(), factor.backend().data(),
           sum.hi.backend().data(), MPFR_RNDU);
}

Interval square_root(const Interval& x) { return nan_if_either(apply(mpfr_sqrt, x)); }

Interval exponential(const Interval& x) {
  const Real width = apply(mpfr_sub, x.hi, x.lo, MPFR_RNDU);
  if (!(width <= kNarrow)) return nan_if_either(apply(mpfr_exp, x));
  Interval result;
  const int inexact = mpfr_exp(result.lo.backend().data(), x.lo.backend().data(), MPFR_RNDD);
  result.hi = result.lo;
  if (inexact != 0) mpfr_nextabove(result.hi.backend().data());
  if (width > 0) {
    const Real most = apply(mpfr_mul, result.hi, Real(2 * width), MPFR_RNDU);
    result.hi = apply(mpfr_add, result.hi, most, MPFR_RNDU);
  }
  return result;
}

Interval absolute(const Interval& x) {
  if (x.is_nan() || x.lo >= 0) return x;
  if (x.hi <= 0) return -x;
  return {Real(0), std::max(Real(-x.lo), x.hi)};
}

Interval clamp(const Interval& x, double low, double high) {
  if (x.is_nan()) return x;
  const auto end = [&](const Real& value) {
    if (value < low) return Real(low);
    return value > high ? Real(high) : value;
  };
  return {end(x.lo), end(x.hi)};
}

Interval hull(const Interval& x, const Interval& y) {
  if (x.is_nan() || y.is_nan()) return nan_interval();
  return {std::min(x.lo, y.lo), std::max(x.hi, y.hi)};
}

Enclosure enclosure(const Interval& x) {
  return {mpfr_get_d(x.lo.backend().data(), MPFR_RNDD),
          mpfr_get_d(x.hi.backend().data(), MPFR_RNDU)};
}

}  // namespace halfulp::reference
