// Inputs for the wrapper kernels that both tests use.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "gpu/simt/host/numbers.hpp"
#include "gpu/simt/random.hpp"
#include "tests/gpu/wrappers_fragments.hpp"

namespace halfulp::gpu::wrappers {

inline constexpr Wrapper kProducts[] = {Wrapper::mma_m16n8k16_f16, Wrapper::mma_m16n8k16_bf16,
                                        Wrapper::mma_m16n8k8_tf32};
inline constexpr Wrapper kMatrices[] = {Wrapper::ldmatrix_x1,       Wrapper::ldmatrix_x2,
                                        Wrapper::ldmatrix_x4,       Wrapper::ldmatrix_x1_trans,
                                        Wrapper::ldmatrix_x2_trans, Wrapper::ldmatrix_x4_trans};
inline constexpr Wrapper kCopies[] = {Wrapper::cp_async_16, Wrapper::cp_async_8,
                                      Wrapper::cp_async_4};

// A number as the element type of this product; exact for the small integers of the golden tests.
inline std::uint32_t element_bits(Wrapper wrapper, float value) {
  if (wrapper == Wrapper::mma_m16n8k16_f16) return __half_as_ushort(__float2half_rn(value));
  if (wrapper == Wrapper::mma_m16n8k16_bf16)
    return __bfloat16_as_ushort(__float2bfloat16_rn(value));
  return std::bit_cast<std::uint32_t>(value);
}
inline std::uint32_t float_bits(float value) { return std::bit_cast<std::uint32_t>(value); }

// A[i][k] = 16 i + k, B selects columns first .. first + 7, C[i][n] = 1000 (8 i + n).
inline Product selecting_columns(Wrapper wrapper, int first) {
  Product p = empty_product(wrapper);
  for (int i = 0; i < 16; ++i) {
    for (int k = 0; k < p.depth; ++k) {
      p.a[static_cast<std::size_t>(i * p.depth + k)] =
          element_bits(wrapper, static_cast<float>(16 * i + k));
    }
    for (int n = 0; n < 8; ++n) {
      p.c[static_cast<std::size_t>(8 * i + n)] =
          float_bits(1000.0f * static_cast<float>(8 * i + n));
    }
  }
  for (int n = 0; n < 8; ++n) {
    p.b[static_cast<std::size_t>((first + n) * 8 + n)] = element_bits(wrapper, 1);
  }
  return p;
}

// B[k][n] = 8 k + n, A selects rows, C = 0.
inline Product selecting_rows(Wrapper wrapper) {
  Product p = empty_product(wrapper);
  for (int k = 0; k < p.depth; ++k) {
    p.a[static_cast<std::size_t>(k * p.depth + k)] = element_bits(wrapper, 1);
    for (int n = 0; n < 8; ++n) {
      p.b[static_cast<std::size_t>(8 * k + n)] =
          element_bits(wrapper, static_cast<float>(8 * k + n));
    }
  }
  return p;
}

// Random bits with exponents within `spread` of 0; some elements zero, some subnormal (f16).
inline Product random_product(Wrapper wrapper, simt::Random& random, int spread) {
  Product p = empty_product(wrapper);
  const auto value = [&random, spread] {
    const double significand = 1 + static_cast<double>(random.below(1u << 23)) / (1 << 23);
    const int exponent =
        static_cast<int>(random.below(static_cast<unsigned>(2 * spread + 1))) - spread;
    const double v = random.below(16) == 0 ? 0.0 : std::ldexp(significand, exponent);
    return static_cast<float>(random.below(2) == 0 ? v : -v);
  };
  for (std::uint32_t& x : p.a) x = element_bits(wrapper, value());
  for (std::uint32_t& x : p.b) x = element_bits(wrapper, value());
  for (std::uint32_t& x : p.c) x = float_bits(value() * value());
  return p;
}

// Any bits: NaN, infinities, subnormals, overflow.
inline Product any_product(Wrapper wrapper, simt::Random& random) {
  Product p = empty_product(wrapper);
  const std::uint32_t mask = p.depth == 8 ? 0xffffffffu : 0xffffu;
  for (std::uint32_t& x : p.a) x = static_cast<std::uint32_t>(random.next()) & mask;
  for (std::uint32_t& x : p.b) x = static_cast<std::uint32_t>(random.next()) & mask;
  for (std::uint32_t& x : p.c) x = static_cast<std::uint32_t>(random.next());
  return p;
}

inline std::vector<std::uint32_t> random_words(std::size_t count, std::uint64_t seed) {
  simt::Random random(seed);
  std::vector<std::uint32_t> words(count);
  for (std::uint32_t& word : words) word = static_cast<std::uint32_t>(random.next());
  return words;
}

// Pairs to add, for atomics_16_bit: any bits, numbers of like size, ties, subnormals.
inline std::vector<std::uint32_t> pairs_16_bit(std::uint64_t seed) {
  std::vector<std::uint32_t> words = random_words(64, seed);
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i / 2 % 4 == 1) words[i] = (words[i] & 0x87ff87ff) | 0x38003800;  // close exponents
    if (i / 2 % 4 == 2) words[i] &= 0x83ff83ff;                           // subnormal halves
    if (i / 2 % 4 == 3) words[i] &= 0x807f807f;                           // subnormal bfloat16s
  }
  return words;
}

// 32 rows of 8 halves: element (row, column) of the stack of matrices is 8 row + column.
inline std::vector<std::uint32_t> matrix_rows() {
  std::vector<std::uint32_t> words;
  for (std::uint32_t e = 0; e < 256; e += 2) words.push_back(e | (e + 1) << 16);
  return words;
}

// Byte counts 0 .. size over the lanes, then data.
inline std::vector<std::uint32_t> copy_words(Wrapper wrapper) {
  const std::uint32_t size = wrapper == Wrapper::cp_async_16  ? 16
                             : wrapper == Wrapper::cp_async_8 ? 8
                                                              : 4;
  std::vector<std::uint32_t> words = random_words(160, 5);
  for (std::uint32_t lane = 0; lane < 32; ++lane) words[lane] = lane % (size + 1);
  return words;
}

}  // namespace halfulp::gpu::wrappers
