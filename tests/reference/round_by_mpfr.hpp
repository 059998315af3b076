// Rounding by MPFR at a format's precision and exponent range: independent of reference/format.cpp.
#pragma once
#include <mpfr.h>

#include "reference/format.hpp"

namespace halfulp::reference {

// `exact` rounded once; every format's numbers are doubles.
inline double round_by_mpfr(Format format, mpfr_srcptr exact, Rounding rounding) {
  constexpr mpfr_rnd_t modes[] = {MPFR_RNDN, MPFR_RNDZ, MPFR_RNDD, MPFR_RNDU};
  const mpfr_rnd_t mode = modes[static_cast<int>(rounding)];
  const FormatTraits& f = traits(format);
  const mpfr_exp_t emin = mpfr_get_emin(), emax = mpfr_get_emax();
  mpfr_t rounded;
  mpfr_init2(rounded, f.precision);
  const int first = mpfr_set(rounded, exact, mode);
  mpfr_set_emin(f.exponent_min - f.precision + 2);  // MPFR's significands lie in [1/2, 1)
  mpfr_set_emax(f.exponent_max + 1);
  mpfr_subnormalize(rounded, mpfr_check_range(rounded, first, mode), mode);
  const double result = mpfr_get_d(rounded, MPFR_RNDN);
  mpfr_set_emin(emin);
  mpfr_set_emax(emax);
  mpfr_clear(rounded);
  return result;
}

}  // namespace halfulp::reference
