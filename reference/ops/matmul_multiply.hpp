// Products of packed panels of integers in double, exact, for matmul_exact. Internal to
// reference/ops.
#pragma once
#include <cstdint>

namespace halfulp::reference {

inline constexpr int kMultiplyRows = 6;
inline constexpr int kMultiplyColumns = 16;

// sums[r][c] += sum over i of a[i][r] * b[i][c], for integers of which no sum is beyond 2^53: no
// operation rounds, so neither the order nor contraction matters, and this one file allows it.
void multiply_add(const double* a, const double* b, std::int64_t k, double* sums);

}  // namespace halfulp::reference
