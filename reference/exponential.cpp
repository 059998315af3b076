#include "reference/exponential.hpp"

#include <cmath>

#include "reference/multiprecision.hpp"

namespace halfulp::reference {

double exponential(double x) { return std::exp(x); }

void exponential_row(const double* x, std::int64_t count, double* out) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = std::exp(x[i]);
}

Enclosure exponential_enclosure(Enclosure x) { return enclosure(exponential(Interval(x))); }

}  // namespace halfulp::reference
