// How far a float is from the true value of an elementary function, by arithmetic of 50 digits.
//
//   double off = ulps_off(Elementary::exponential, x, 0, y);   // 0.5 or less: rounded correctly
#pragma once
#include <cstdint>

namespace halfulp::reference {

enum class Elementary : std::uint8_t {
  exponential,             // e^x
  exponential_base_2,      // 2^x
  reciprocal,              // 1 / x
  reciprocal_square_root,  // 1 / sqrt(x), x > 0
  quotient,                // numerator / x
};

// |computed - f(x)| in ulp, the spacing of fp32 numbers at the larger of the two. Infinite when
// `computed` is not finite. Only a quotient has a numerator. f(x) must be finite and not zero.
double ulps_off(Elementary function, double x, double numerator, double computed);

}  // namespace halfulp::reference
