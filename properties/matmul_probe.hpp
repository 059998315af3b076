// Are the sums of a matmul exact whatever their order? What probes promise [B18].
#pragma once
#include <string>

#include "gpu/problem.hpp"

namespace halfulp::properties {

// Empty where every partial sum of every element of c, over any subset of k, is a number of `bits`
// significand bits (24: fp32); otherwise which row of a shows that it may not be. Sufficient, not
// necessary: a row or column with one number besides zeros, or products that are multiples of a
// quantum and whose magnitudes add up to at most 2^bits of it.
std::string inexact_row(const gpu::Problem& problem, int bits);

}  // namespace halfulp::properties
