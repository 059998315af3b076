// The inner loop of the matmul reference, compiled for several vector widths.
#include "reference/ops/matmul_tile.hpp"

#include <cstring>

#include "reference/ops/vectors.hpp"

namespace halfulp::reference {
namespace {

// Rows [row, row + rows) and as many columns from `column` as a vector holds.
template <typename Vector, int rows, bool ranges>
[[gnu::always_inline]] inline void sum_part(const double* a, const double* b, std::int64_t k,
                                            int row, int column, Tile& tile) {
  using Bits = decltype(Vector{} < Vector{});
  constexpr std::int64_t kNoSign = 0x7fffffffffffffff;
  Vector sum[rows], magnitude[rows], high[rows], low[rows];
  for (int r = 0; r < rows; ++r) {
    std::memcpy(&sum[r], &tile.sum[row + r][column], sizeof(Vector));
    std::memcpy(&magnitude[r], &tile.magnitude[row + r][column], sizeof(Vector));
    std::memcpy(&high[r], &tile.high[row + r][column], sizeof(Vector));
    std::memcpy(&low[r], &tile.low[row + r][column], sizeof(Vector));
  }
  for (std::int64_t i = 0; i < k; ++i) {
    Vector right;
    std::memcpy(&right, b + i * kTileColumns + column, sizeof(Vector));
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) {
      const Vector product = right * a[i * kTileRows + row + r];
      sum[r] += product;
      magnitude[r] += reinterpret_cast<Vector>(reinterpret_cast<Bits>(product) & kNoSign);
      if constexpr (ranges) {
        high[r] = sum[r] > high[r] ? sum[r] : high[r];
        low[r] = sum[r] < low[r] ? sum[r] : low[r];
      }
    }
  }
  for (int r = 0; r < rows; ++r) {
    std::memcpy(&tile.sum[row + r][column], &sum[r], sizeof(Vector));
    std::memcpy(&tile.magnitude[row + r][column], &magnitude[r], sizeof(Vector));
    std::memcpy(&tile.high[row + r][column], &high[r], sizeof(Vector));
    std::memcpy(&tile.low[row + r][column], &low[r], sizeof(Vector));
  }
}

// The whole tile, in parts whose sums fit the vector registers.
template <typename Vector, int rows>
[[gnu::always_inline]] inline void sum_tile(const double* a, const double* b, std::int64_t k,
                                            bool ranges, Tile& tile) {
  constexpr int width = sizeof(Vector) / sizeof(double);
  for (int row = 0; row < kTileRows; row += rows) {
    for (int column = 0; column < kTileColumns; column += width) {
      if (ranges) {
        sum_part<Vector, rows, true>(a, b, k, row, column, tile);
      } else {
        sum_part<Vector, rows, false>(a, b, k, row, column, tile);
      }
    }
  }
}

using Function = void (*)(const double*, const double*, std::int64_t, bool, Tile&);

void sum_plain(const double* a, const double* b, std::int64_t k, bool ranges, Tile& tile) {
  sum_tile<Vector2, 2>(a, b, k, ranges, tile);
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] void sum_avx2(const double* a, const double* b, std::int64_t k, bool ranges,
                                      Tile& tile) {
  sum_tile<Vector4, 3>(a, b, k, ranges, tile);
}

[[gnu::target("avx512f,avx512dq")]] void sum_avx512(const double* a, const double* b,
                                                    std::int64_t k, bool ranges, Tile& tile) {
  sum_tile<Vector8, 6>(a, b, k, ranges, tile);
}

Function widest() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) return sum_avx512;
  return __builtin_cpu_supports("avx2") ? sum_avx2 : sum_plain;
}
#else
Function widest() { return sum_plain; }
#endif

}  // namespace

void accumulate(const double* a, const double* b, std::int64_t k, bool ranges, Tile& tile) {
  static const Function function = widest();
  function(a, b, k, ranges, tile);
}

}  // namespace halfulp::reference
