// The quick model of a whole mma equals the model of one output bit for bit, whatever the operands.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstring>

#include "gpu/simt/host/numbers.hpp"
#include "gpu/simt/random.hpp"
#include "gpu/simt/tensor_tile.hpp"

namespace halfulp::gpu::simt {
namespace {

using Tile = float[kTileRows][kTileColumns];

// Which bits the elements and the accumulator have.
enum class Kind { any, close, wide, subnormal, sparse, cancelling, overflowing, tiny, specials };
constexpr Kind kKinds[] = {Kind::any,         Kind::close,  Kind::wide,
                           Kind::subnormal,   Kind::sparse, Kind::cancelling,
                           Kind::overflowing, Kind::tiny,   Kind::specials};

struct Layout {
  int fraction_bits, exponent_bits, lowest;  // lowest: position of the lowest bit that counts
};
Layout layout(FactorFormat format) {
  if (format == FactorFormat::f16) return {10, 5, 0};
  if (format == FactorFormat::bf16) return {7, 8, 0};
  return {10, 8, 13};
}

// An element with an exponent field from `low` to `high` (of the largest finite one), random sign
// and fraction; the bits below those that count are random too.
std::uint32_t element(FactorFormat format, Random& random, double low, double high) {
  const Layout f = layout(format);
  const auto largest = static_cast<double>((1u << f.exponent_bits) - 2);
  const auto first = static_cast<unsigned>(low * largest);
  const auto last = static_cast<unsigned>(high * largest);
  const unsigned exponent = first + random.below(last - first + 1);
  const unsigned fraction = random.below(1u << f.fraction_bits);
  const unsigned sign = random.below(2) << (f.exponent_bits + f.fraction_bits);
  const std::uint32_t bits = (sign | exponent << f.fraction_bits | fraction) << f.lowest;
  return bits | (f.lowest > 0 ? random.below(1u << f.lowest) : 0);
}

std::uint32_t element(FactorFormat format, Kind kind, Random& random) {
  const Layout f = layout(format);
  const std::uint32_t infinity = ((1u << f.exponent_bits) - 1) << (f.fraction_bits + f.lowest);
  switch (kind) {
    case Kind::any:
      return format == FactorFormat::tf32 ? static_cast<std::uint32_t>(random.next())
                                          : static_cast<std::uint32_t>(random.next()) & 0xffff;
    case Kind::close:
    case Kind::cancelling:
      return element(format, random, 0.5, 0.52);
    case Kind::wide:
      return element(format, random, 0.1, 0.9);
    case Kind::subnormal:
      return element(format, random, 0, random.below(2) == 0 ? 0.0 : 0.6);
    case Kind::sparse:
      return random.below(4) != 0 ? random.below(2) << 15 << f.lowest
                                  : element(format, random, 0, 1);
    case Kind::overflowing:
      return element(format, random, 0.9, 1);
    case Kind::tiny:
      return element(format, random, 0, 0.3);
    case Kind::specials:
      if (random.below(100) == 0) return infinity | random.below(2) << (f.fraction_bits - 1);
      return element(format, random, 0.4, 0.6);
  }
  return 0;
}

float accumulator(Kind kind, Random& random) {
  const auto with_exponent = [&random](unsigned first, unsigned count) {
    const unsigned exponent = first + random.below(count);
    return std::bit_cast<float>(random.below(2) << 31 | exponent << 23 | random.below(1u << 23));
  };
  if (random.below(8) == 0) return random.below(2) == 0 ? 0.0f : -0.0f;
  switch (kind) {
    case Kind::any:
      return std::bit_cast<float>(static_cast<std::uint32_t>(random.next()));
    case Kind::tiny:
      return with_exponent(0, 90);
    case Kind::subnormal:
      return with_exponent(0, 4);
    case Kind::overflowing:
      return with_exponent(250, 5);
    case Kind::wide:
      return with_exponent(60, 140);
    default:
      return with_exponent(120, 16);
  }
}

void fill(FactorFormat format, Kind kind, Random& random, TileFactors& factors, Tile& d) {
  for (auto& row : factors.a) {
    for (std::uint32_t& x : row) x = element(format, kind, random);
  }
  for (auto& row : factors.b) {
    for (std::uint32_t& x : row) x = element(format, kind, random);
  }
  for (auto& row : d) {
    for (float& x : row) x = accumulator(kind, random);
  }
  if (kind != Kind::cancelling) return;
  // Each odd product undoes the one before, up to the last bit of one factor.
  const std::uint32_t sign = format == FactorFormat::tf32 ? 0x80000000u : 0x8000u;
  const std::uint32_t last = 1u << layout(format).lowest;
  for (int k = 1; k < kTileDepth; k += 2) {
    for (auto& row : factors.a) row[k] = row[k - 1] ^ sign ^ (random.below(2) == 0 ? last : 0);
    for (int n = 0; n < kTileColumns; ++n) factors.b[k][n] = factors.b[k - 1][n];
  }
}

// d = c + a b by the model of one output.
void expected_tile(const TensorCore& core, FactorFormat format, const TileFactors& factors,
                   Tile& d) {
  const std::size_t depth = format == FactorFormat::tf32 ? 8 : 16;
  std::array<Factor, 16> a;
  std::array<Factor, 16> b;
  for (int m = 0; m < kTileRows; ++m) {
    for (int n = 0; n < kTileColumns; ++n) {
      for (std::size_t k = 0; k < depth; ++k) {
        a[k] = decode(format, factors.a[m][k]);
        b[k] = decode(format, factors.b[k][n]);
      }
      d[m][n] =
          multiply_add(core, format, d[m][n], std::span(a).first(depth), std::span(b).first(depth));
    }
  }
}

TEST(SimtTensor, TileEqualsTheModelOfOneOutput) {
  Random random(20);
  const TensorCore cores[] = {
      kTensorCoreHopper, kTensorCoreAmpere, kTensorCoreRounded, {23, 4, 4}, {30, 16, 8}};
  for (const FactorFormat format : {FactorFormat::f16, FactorFormat::bf16, FactorFormat::tf32}) {
    for (const TensorCore& core : cores) {
      for (const Kind kind : kKinds) {
        for (int i = 0; i < 40; ++i) {
          TileFactors factors;
          Tile d;
          Tile expected;
          fill(format, kind, random, factors, d);
          std::memcpy(expected, d, sizeof d);
          expected_tile(core, format, factors, expected);
          multiply_add_tile(core, format, factors, d);
          ASSERT_EQ(std::memcmp(d, expected, sizeof d), 0)
              << "format " << static_cast<int>(format) << ", F " << core.fraction_bits << ", kind "
              << static_cast<int>(kind) << ", tile " << i;
        }
      }
    }
  }
}

// The largest sums that the quick model must hold in 32 bits: every product at its format's largest
// significands.
TEST(SimtTensor, LargestSumsDoNotWrap) {
  const std::uint32_t largest[] = {0x3fff, 0x3fff, 0x3fffffff};  // 2 minus an ulp
  for (const FactorFormat format : {FactorFormat::f16, FactorFormat::bf16, FactorFormat::tf32}) {
    for (const float c : {1.9999999f, 3.9999998f, 0.0f}) {
      TileFactors factors;
      for (auto& row : factors.a) {
        for (std::uint32_t& x : row) x = largest[static_cast<std::size_t>(format)];
      }
      for (auto& row : factors.b) {
        for (std::uint32_t& x : row) x = largest[static_cast<std::size_t>(format)];
      }
      Tile d;
      for (auto& row : d) std::fill(std::begin(row), std::end(row), c);
      Tile expected;
      std::memcpy(expected, d, sizeof d);
      expected_tile(kTensorCoreHopper, format, factors, expected);
      multiply_add_tile(kTensorCoreHopper, format, factors, d);
      EXPECT_EQ(std::memcmp(d, expected, sizeof d), 0) << static_cast<int>(format) << " " << c;
      EXPECT_GT(d[0][0], 20.0f);
    }
  }
}

}  // namespace
}  // namespace halfulp::gpu::simt
