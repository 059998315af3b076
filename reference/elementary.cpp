#include "reference/elementary.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/format.hpp"
#include "reference/multiprecision.hpp"
#include "reference/require.hpp"

namespace halfulp::reference {
namespace {

Real truth(Elementary function, double x, double numerator) {
  const Real argument(x);
  Real result;
  const auto out = result.backend().data();
  const auto in = argument.backend().data();
  switch (function) {
    case Elementary::exponential:
      mpfr_exp(out, in, MPFR_RNDN);
      break;
    case Elementary::exponential_base_2:
      mpfr_exp2(out, in, MPFR_RNDN);
      break;
    case Elementary::reciprocal:
      mpfr_ui_div(out, 1, in, MPFR_RNDN);
      break;
    case Elementary::reciprocal_square_root:
      mpfr_rec_sqrt(out, in, MPFR_RNDN);
      break;
    case Elementary::quotient:
      mpfr_d_div(out, numerator, in, MPFR_RNDN);
      break;
  }
  return result;
}

// The exponent of the spacing of fp32 numbers at a magnitude in [2^exponent, 2^(exponent + 1)).
long spacing_exponent(long exponent) {
  const FormatTraits& fp32 = traits(Format::fp32);
  return std::max<long>(exponent, fp32.exponent_min) - fp32.precision + 1;
}

}  // namespace

double ulps_off(Elementary function, double x, double numerator, double computed) {
  Real exact = truth(function, x, numerator);
  HALFULP_REQUIRE(mpfr_regular_p(exact.backend().data()) != 0, "f(x) is finite and not zero");
  if (!std::isfinite(computed)) return std::numeric_limits<double>::infinity();
  long exponent = mpfr_get_exp(exact.backend().data()) - 1;
  if (computed != 0) exponent = std::max<long>(exponent, std::ilogb(computed));
  Real off;
  mpfr_sub_d(off.backend().data(), exact.backend().data(), computed, MPFR_RNDN);
  mpfr_mul_2si(off.backend().data(), off.backend().data(), -spacing_exponent(exponent), MPFR_RNDN);
  return std::abs(mpfr_get_d(off.backend().data(), MPFR_RNDN));
}

}  // namespace halfulp::reference
