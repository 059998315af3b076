// exp with an error that can be relied on.
//
//   double y = exponential(x);                          // |y - e^x| <= exponential_error * e^x
//   Enclosure tight = exponential_enclosure({lo, hi});  // adjacent doubles for a point, MPFR
#pragma once
#include <cstdint>

#include "reference/answer.hpp"

namespace halfulp::reference {

// Relative error of exponential() for |x| <= exponential_domain, where e^x is a normal number. The
// C library's exp is measured at 0.51 ulp and taken as 1 ulp, and an ulp is at most 2^-52 of the
// value.
inline constexpr double exponential_error = 0x1p-52;
inline constexpr double exponential_domain = 708;

// NaN, -infinity and +infinity give NaN, 0 and +infinity. Beyond the domain the value is that of
// the C library.
double exponential(double x);

// count values; x and out may be the same array.
void exponential_row(const double* x, std::int64_t count, double* out);

// The smallest interval of doubles that holds e^x for every x in [x.lo, x.hi]; lo == hi only for
// e^0, e^-infinity and e^+infinity. NaN in either end gives NaN in both.
Enclosure exponential_enclosure(Enclosure x);

}  // namespace halfulp::reference
