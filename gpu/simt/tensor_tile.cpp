// The truncating model on a whole tile, as loops over columns that compilers vectorise.
//
// A product of two factors has at most 22 bits and is exact in the working type (float for f16,
// whose products cannot leave its range; double for bf16 and tf32). Beside each factor stands the
// power of two of its exponent, 0 for a zero factor: the largest product of powers, or the
// accumulator's, is 2^e. Every term is scaled by 2^(F - e), where the model's unit is 1, and cut to
// an integer by a conversion. A term is below 2^(F + 2), so that 16 of them fit 32 bits for F = 25.
// Elements with a NaN or an infinity take the model of one output.
#include "gpu/simt/tensor_tile.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

namespace halfulp::gpu::simt {
namespace {

constexpr int kFractionBitsMax = 25;
constexpr int kDoubleBias = 1023;
constexpr int kDoubleFractionBits = 52;

using Tile = float[kTileRows][kTileColumns];
template <class T>
using Columns = std::array<T, kTileColumns>;

// Bits of a format: where its exponent lies, and its distance to the working type's.
struct F16 {
  using Real = float;
  using Bits = std::uint32_t;
  static constexpr int kDepth = 16;
  static constexpr std::uint32_t kMagnitude = 0x7fff, kExponent = 0x7c00, kSmallest = 0x0400;
  static constexpr Bits widen(std::uint32_t magnitude) { return magnitude << 13; }
  static constexpr Real kRebias = 0x1p112f;  // 127 - 15
  static constexpr bool negative(std::uint32_t bits) { return (bits & 0x8000u) != 0; }
};
struct Bf16 {
  using Real = double;
  using Bits = std::uint64_t;
  static constexpr int kDepth = 16;
  static constexpr std::uint32_t kMagnitude = 0x7fff, kExponent = 0x7f80, kSmallest = 0x0080;
  static constexpr Bits widen(std::uint32_t magnitude) { return Bits{magnitude} << 45; }
  static constexpr Real kRebias = 0x1p896;  // 1023 - 127
  static constexpr bool negative(std::uint32_t bits) { return (bits & 0x8000u) != 0; }
};
struct Tf32 {
  using Real = double;
  using Bits = std::uint64_t;
  static constexpr int kDepth = 8;
  static constexpr std::uint32_t kMagnitude = 0x7fffe000, kExponent = 0x7f800000,
                                 kSmallest = 0x00800000;
  static constexpr Bits widen(std::uint32_t magnitude) { return Bits{magnitude} << 29; }
  static constexpr Real kRebias = 0x1p896;
  static constexpr bool negative(std::uint32_t bits) { return (bits & 0x80000000u) != 0; }
};

// Rows x columns of factors as numbers of the working type; NaN and infinity become 0.
template <class Format, int kRows, int kColumns>
struct Numbers {
  using Real = typename Format::Real;
  Real value[kRows][kColumns];
  Real power[kRows][kColumns];  // 2^exponent, of subnormals that of the smallest normal; 0 for 0
};

template <class Format, int kRows, int kColumns, int kStored>
void decode_all(const std::uint32_t (*bits)[kStored], Numbers<Format, kRows, kColumns>& numbers) {
  using Real = typename Format::Real;
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kColumns; ++j) {
      const std::uint32_t x = bits[i][j];
      const std::uint32_t magnitude = x & Format::kMagnitude;
      const std::uint32_t exponent = std::max(x & Format::kExponent, Format::kSmallest);
      const bool counts = magnitude != 0 && exponent != Format::kExponent;
      const Real value = std::bit_cast<Real>(Format::widen(magnitude)) * Format::kRebias;
      const Real power = std::bit_cast<Real>(Format::widen(exponent)) * Format::kRebias;
      const Real with_sign = Format::negative(x) ? -value : value;
      numbers.value[i][j] = counts ? with_sign : Real{0};
      numbers.power[i][j] = counts ? power : Real{0};
    }
  }
}

template <class Format>
struct Operands {
  Numbers<Format, kTileRows, Format::kDepth> a;
  Numbers<Format, Format::kDepth, kTileColumns> b;
};

// 2^exponent of a finite float as the model takes it; 0 for zeros.
double power_of(float c) {
  const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(c) & 0x7fffffff;
  const std::uint64_t stored = std::max(magnitude >> 23, 1u);
  const std::uint64_t bits = (stored + kDoubleBias - 127) << kDoubleFractionBits;
  return magnitude != 0 ? std::bit_cast<double>(bits) : 0.0;
}

// To float, cut toward zero; what overflows becomes infinity.
float cut(double value) {
  if (std::fabs(value) < 0x1p-126) {
    return static_cast<float>(std::trunc(value * 0x1p149) * 0x1p-149);
  }
  // A float has 29 fraction bits less.
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(value) & ~((std::uint64_t{1} << 29) - 1);
  return static_cast<float>(std::bit_cast<double>(bits));
}

// One step of the model on one row: terms k_begin .. k_end - 1 and the accumulator.
template <class Format>
void step(int fraction_bits, const Operands<Format>& x, int row, int k_begin, int k_end,
          float (&d)[kTileColumns]) {
  using Real = typename Format::Real;
  Columns<Real> power{};
  for (int k = k_begin; k < k_end; ++k) {
    for (int n = 0; n < kTileColumns; ++n) {
      const Real p = x.a.power[row][k] * x.b.power[k][n];
      power[n] = power[n] < p ? p : power[n];
    }
  }
  Columns<Real> scale;
  Columns<double> unit;
  Columns<std::int32_t> addend;
  for (int n = 0; n < kTileColumns; ++n) {
    const double products = static_cast<double>(power[n]);
    const double accumulator = power_of(d[n]);
    double largest = products < accumulator ? accumulator : products;
    largest = largest > 0 ? largest : 1.0;
    const auto stored = std::bit_cast<std::uint64_t>(largest) >> kDoubleFractionBits;
    const auto f = static_cast<std::uint64_t>(fraction_bits);
    const auto up = std::bit_cast<double>((2 * kDoubleBias + f - stored) << kDoubleFractionBits);
    unit[n] = std::bit_cast<double>((stored - f) << kDoubleFractionBits);
    // Where no product counts, the accumulator's scale may be out of the working type's range.
    scale[n] = products > 0 ? static_cast<Real>(up) : Real{0};
    addend[n] = static_cast<std::int32_t>(static_cast<double>(d[n]) * up);
  }
  Columns<std::int32_t> sum{};
  for (int k = k_begin; k < k_end; ++k) {
    for (int n = 0; n < kTileColumns; ++n) {
      sum[n] += static_cast<std::int32_t>(x.a.value[row][k] * x.b.value[k][n] * scale[n]);
    }
  }
  for (int n = 0; n < kTileColumns; ++n) {
    d[n] = cut((static_cast<double>(sum[n]) + static_cast<double>(addend[n])) * unit[n]);
  }
}

// Which elements the fast way may not compute: those with a NaN or an infinity in their row of a,
// column of b, or accumulator.
using Marks = std::array<std::array<bool, kTileColumns>, kTileRows>;

template <class Format>
Marks mark_special(const TileFactors& factors, const Tile& d) {
  std::array<bool, kTileRows> row{};
  Columns<bool> column{};
  const auto special = [](std::uint32_t bits) {
    return (bits & Format::kExponent) == Format::kExponent;
  };
  for (int k = 0; k < Format::kDepth; ++k) {
    for (int m = 0; m < kTileRows; ++m) row[m] |= special(factors.a[m][k]);
    for (int n = 0; n < kTileColumns; ++n) column[n] |= special(factors.b[k][n]);
  }
  Marks marks;
  for (int m = 0; m < kTileRows; ++m) {
    for (int n = 0; n < kTileColumns; ++n) {
      marks[m][n] = row[m] || column[n] || !std::isfinite(d[m][n]);
    }
  }
  return marks;
}

// The model of one output, for all or for the marked elements.
void multiply_add_slowly(const TensorCore& core, FactorFormat format, const TileFactors& factors,
                         const Tile& c, const Marks* marks, Tile& d) {
  const std::size_t depth = format == FactorFormat::tf32 ? 8 : kTileDepth;
  std::array<Factor, kTileDepth> a;
  std::array<Factor, kTileDepth> b;
  for (int m = 0; m < kTileRows; ++m) {
    for (int n = 0; n < kTileColumns; ++n) {
      if (marks != nullptr && !(*marks)[m][n]) continue;
      for (std::size_t k = 0; k < depth; ++k) {
        a[k] = decode(format, factors.a[m][k]);
        b[k] = decode(format, factors.b[k][n]);
      }
      d[m][n] =
          multiply_add(core, format, c[m][n], std::span(a).first(depth), std::span(b).first(depth));
    }
  }
}

template <class Format>
void multiply_add_fast(const TensorCore& core, FactorFormat format, const TileFactors& factors,
                       int block, Tile& d) {
  Marks slow = mark_special<Format>(factors, d);
  Operands<Format> x;
  decode_all<Format>(factors.a, x.a);
  decode_all<Format>(factors.b, x.b);
  Tile c;
  std::memcpy(c, d, sizeof c);
  bool any_slow = false;
  for (int m = 0; m < kTileRows; ++m) {
    for (int k = 0; k < Format::kDepth; k += block) {
      for (int n = 0; n < kTileColumns; ++n) {
        slow[m][n] = slow[m][n] || !std::isfinite(d[m][n]);
        any_slow = any_slow || slow[m][n];
        if (slow[m][n]) d[m][n] = 0.0f;
      }
      step<Format>(core.fraction_bits, x, m, k, k + block, d[m]);
    }
  }
  if (any_slow) multiply_add_slowly(core, format, factors, c, &slow, d);
}

}  // namespace

void multiply_add_tile(const TensorCore& core, FactorFormat format, const TileFactors& factors,
                       float (&d)[kTileRows][kTileColumns]) {
  const int block = format == FactorFormat::tf32 ? core.block_tf32 : core.block_16_bit;
  const int depth = format == FactorFormat::tf32 ? Tf32::kDepth : kTileDepth;
  if (core.fraction_bits < 1 || core.fraction_bits > kFractionBitsMax || block < 1 ||
      depth % block != 0) {
    Tile c;
    std::memcpy(c, d, sizeof c);
    multiply_add_slowly(core, format, factors, c, nullptr, d);
    return;
  }
  switch (format) {
    case FactorFormat::f16:
      return multiply_add_fast<F16>(core, format, factors, block, d);
    case FactorFormat::bf16:
      return multiply_add_fast<Bf16>(core, format, factors, block, d);
    case FactorFormat::tf32:
      return multiply_add_fast<Tf32>(core, format, factors, block, d);
  }
}

}  // namespace halfulp::gpu::simt
