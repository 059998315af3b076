#include "reference/ops/matmul_multiply.hpp"

#include <cstring>

#include "reference/ops/vectors.hpp"

namespace halfulp::reference {
namespace {

// Rows [row, row + rows) and `vectors` vectors of columns from `column` on: sums stay in registers.
template <typename Vector, int rows, int vectors>
[[gnu::always_inline]] inline void multiply_part(const double* a, const double* b, std::int64_t k,
                                                 double* sums) {
  constexpr int width = sizeof(Vector) / sizeof(double);
  Vector sum[rows][vectors];
  for (int r = 0; r < rows; ++r) {
    std::memcpy(sum[r], sums + r * kMultiplyColumns, sizeof(sum[r]));
  }
  for (std::int64_t i = 0; i < k; ++i) {
    Vector right[vectors];
    for (int v = 0; v < vectors; ++v) {
      std::memcpy(&right[v], b + i * kMultiplyColumns + v * width, sizeof(Vector));
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v) sum[r][v] += right[v] * a[i * kMultiplyRows + r];
    }
  }
  for (int r = 0; r < rows; ++r) {
    std::memcpy(sums + r * kMultiplyColumns, sum[r], sizeof(sum[r]));
  }
}

template <typename Vector, int rows, int vectors>
[[gnu::always_inline]] inline void multiply_tile(const double* a, const double* b, std::int64_t k,
                                                 double* sums) {
  constexpr int width = vectors * static_cast<int>(sizeof(Vector) / sizeof(double));
  for (int row = 0; row < kMultiplyRows; row += rows) {
    for (int column = 0; column < kMultiplyColumns; column += width) {
      multiply_part<Vector, rows, vectors>(a + row, b + column, k,
                                           sums + row * kMultiplyColumns + column);
    }
  }
}

using Function = void (*)(const double*, const double*, std::int64_t, double*);

void multiply_plain(const double* a, const double* b, std::int64_t k, double* sums) {
  multiply_tile<Vector2, 3, 4>(a, b, k, sums);
}

#if defined(__x86_64__)
[[gnu::target("avx2,fma")]] void multiply_avx2(const double* a, const double* b, std::int64_t k,
                                               double* sums) {
  multiply_tile<Vector4, 6, 2>(a, b, k, sums);
}

[[gnu::target("avx512f")]] void multiply_avx512(const double* a, const double* b, std::int64_t k,
                                                double* sums) {
  multiply_tile<Vector8, 6, 2>(a, b, k, sums);
}

Function widest() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f")) return multiply_avx512;
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return avx2 ? multiply_avx2 : multiply_plain;
}
#else
Function widest() { return multiply_plain; }
#endif

}  // namespace

void multiply_add(const double* a, const double* b, std::int64_t k, double* sums) {
  static const Function function = widest();
  function(a, b, k, sums);
}

}  // namespace halfulp::reference
