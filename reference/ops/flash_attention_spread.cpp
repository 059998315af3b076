#include "reference/ops/flash_attention_spread.hpp"

#include <cstring>

#include "reference/ops/vectors.hpp"

namespace halfulp::reference {
namespace {

template <typename Vector>
[[gnu::always_inline]] inline void add_magnitude(const Vector& x, double factor, Vector& sum) {
  using Bits = decltype(Vector{} < Vector{});
  constexpr std::int64_t kNoSign = 0x7fffffffffffffff;
  sum += reinterpret_cast<Vector>(reinterpret_cast<Bits>(x) & kNoSign) * factor;
}

// Two chains each, so that the additions overlap.
template <typename Vector>
[[gnu::always_inline]] inline void add_panel(const double* values, const double* moved,
                                             const double* rounded, std::int64_t keys,
                                             Spread& sums) {
  constexpr int width = sizeof(Vector) / sizeof(double);
  for (int column = 0; column < kTileColumns; column += width) {
    Vector mean, spread[2] = {}, sum[2] = {};
    std::memcpy(&mean, sums.mean + column, sizeof(Vector));
    std::int64_t j = 0;
    for (; j + 2 <= keys; j += 2) {
#pragma GCC unroll 2
      for (int chain = 0; chain < 2; ++chain) {
        Vector v;
        std::memcpy(&v, values + (j + chain) * kTileColumns + column, sizeof(Vector));
        add_magnitude<Vector>(v - mean, moved[j + chain], spread[chain]);
        add_magnitude<Vector>(v, rounded[j + chain], sum[chain]);
      }
    }
    if (j < keys) {
      Vector v;
      std::memcpy(&v, values + j * kTileColumns + column, sizeof(Vector));
      add_magnitude<Vector>(v - mean, moved[j], spread[0]);
      add_magnitude<Vector>(v, rounded[j], sum[0]);
    }
    const Vector whole_spread = spread[0] + spread[1], whole_sum = sum[0] + sum[1];
    for (int lane = 0; lane < width; ++lane) {
      sums.spread[column + lane] += whole_spread[lane];
      sums.rounded[column + lane] += whole_sum[lane];
    }
  }
}

using Function = void (*)(const double*, const double*, const double*, std::int64_t, Spread&);

void add_plain(const double* values, const double* moved, const double* rounded, std::int64_t keys,
               Spread& sums) {
  add_panel<Vector2>(values, moved, rounded, keys, sums);
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] void add_avx2(const double* values, const double* moved,
                                      const double* rounded, std::int64_t keys, Spread& sums) {
  add_panel<Vector4>(values, moved, rounded, keys, sums);
}

[[gnu::target("avx512f,avx512dq")]] void add_avx512(const double* values, const double* moved,
                                                    const double* rounded, std::int64_t keys,
                                                    Spread& sums) {
  add_panel<Vector8>(values, moved, rounded, keys, sums);
}

Function widest() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) return add_avx512;
  return __builtin_cpu_supports("avx2") ? add_avx2 : add_plain;
}
#else
Function widest() { return add_plain; }
#endif

}  // namespace

void add_spread(const double* values, const double* moved, const double* rounded, std::int64_t keys,
                Spread& sums) {
  static const Function function = widest();
  function(values, moved, rounded, keys, sums);
}

}  // namespace halfulp::reference
