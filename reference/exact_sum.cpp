#include "reference/exact_sum.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>

#include "reference/ops/clones.hpp"
#include "reference/require.hpp"

namespace halfulp::reference {
namespace {

// One deposit adds less than 2^33 to a limb.
constexpr int deposits_before_carry = 1 << 29;

constexpr int block_size = 512;
// Scaled values stay within 2^51, where adding 1.5 * 2^52 makes an integer of a double, with vector
// instructions that every processor has; a block of their products stays below 2^(51 + 51 + 9).
constexpr int scaled_bits = 51;
constexpr double integer_shift = 0x1.8p52;
// Narrower ones are cut in two slices of which each has 20 bits and a sign: their products, and the
// sum of a block of them, are exact in double.
constexpr int slice_bits = 20;
constexpr int sliced_bits = 2 * slice_bits;
// 2^-quantum and 2^quantum must be normal doubles.
constexpr int lowest_quantum = -1000;

struct Parts {
  bool negative;
  std::uint64_t significand;
  int exponent;
};

Parts parts(double finite) {
  const auto bits = std::bit_cast<std::uint64_t>(finite);
  const auto field = static_cast<int>(bits >> 52 & 0x7ff);
  const std::uint64_t fraction = bits & 0x000fffffffffffffULL;
  return {bits >> 63 != 0, field == 0 ? fraction : fraction | 1ULL << 52,
          std::max(field, 1) - 1075};
}

double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

// Every magnitude is below 2^(result - 1022); 0x7ff: one is not finite.
HALFULP_CLONES
int largest_field(const double* values, int count) {
  std::int32_t largest = 0;  // upper half of a pattern without its sign: grows with the magnitude
  for (int i = 0; i < count; ++i) {
    const std::uint64_t bits = std::bit_cast<std::uint64_t>(values[i]);
    largest = std::max(largest, static_cast<std::int32_t>(bits >> 32 & 0x7fffffff));
  }
  return largest >> 20;
}

// Whether values[i] = scaled[i] * 2^quantum with integers |scaled[i]| <= 2^51, for all of them.
HALFULP_CLONES
bool scale(const double* values, int count, int quantum, std::int64_t* scaled) {
  const double up = power_of_two(-quantum), down = power_of_two(quantum);
  std::uint64_t difference = 0;
  for (int i = 0; i < count; ++i) {
    const double shifted = values[i] * up + integer_shift;
    scaled[i] = std::bit_cast<std::int64_t>(shifted) - std::bit_cast<std::int64_t>(integer_shift);
    const double restored = (shifted - integer_shift) * down;  // tiny values do not come back
    difference |= std::bit_cast<std::uint64_t>(restored) ^ std::bit_cast<std::uint64_t>(values[i]);
  }
  return difference << 1 == 0;  // -0 comes back as +0
}

struct Slices {
  double high[block_size];
  double low[block_size];
};

// Whether values[i] = (high[i] * 2^20 + low[i]) * 2^quantum with integers |high[i]|, |low[i]| <=
// 2^20, for all of them.
HALFULP_CLONES
bool slice(const double* values, int count, int quantum, Slices& slices) {
  const double up = power_of_two(-quantum), down = power_of_two(quantum);
  constexpr double high_shift = integer_shift * (1 << slice_bits);
  std::uint64_t difference = 0;
  for (int i = 0; i < count; ++i) {
    const double value = values[i] * up;
    const double high = (value + high_shift) - high_shift, low = value - high;
    const double restored = (((low + integer_shift) - integer_shift) + high) * down;
    difference |= std::bit_cast<std::uint64_t>(restored) ^ std::bit_cast<std::uint64_t>(values[i]);
    slices.high[i] = high * (1.0 / (1 << slice_bits));
    slices.low[i] = low;
  }
  return difference << 1 == 0;
}

constexpr int padding = 8;  // slices are added up in so many places at once

struct SliceSums {
  std::int64_t high_high = 0, high_low = 0, low_high = 0, low_low = 0;
};

// Sums of the products of two blocks of slices, padded with zeros.
HALFULP_CLONES
SliceSums product_of(const Slices& left, const Slices& right, int count) {
  constexpr int lanes = 4, vectors = padding / lanes;
  using Vector [[gnu::vector_size(lanes * sizeof(double))]] = double;
  Vector high_high[vectors] = {}, high_low[vectors] = {}, low_high[vectors] = {};
  Vector low_low[vectors] = {};
  for (int i = 0; i < count; i += padding) {
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) {
      const int at = i + v * lanes;
      Vector left_high, left_low, right_high, right_low;
      std::memcpy(&left_high, left.high + at, sizeof(Vector));
      std::memcpy(&left_low, left.low + at, sizeof(Vector));
      std::memcpy(&right_high, right.high + at, sizeof(Vector));
      std::memcpy(&right_low, right.low + at, sizeof(Vector));
      high_high[v] += left_high * right_high;
      high_low[v] += left_high * right_low;
      low_high[v] += left_low * right_high;
      low_low[v] += left_low * right_low;
    }
  }
  SliceSums sums;
  for (int v = 0; v < vectors; ++v) {
    for (int lane = 0; lane < lanes; ++lane) {
      sums.high_high += static_cast<std::int64_t>(high_high[v][lane]);
      sums.high_low += static_cast<std::int64_t>(high_low[v][lane]);
      sums.low_high += static_cast<std::int64_t>(low_high[v][lane]);
      sums.low_low += static_cast<std::int64_t>(low_low[v][lane]);
    }
  }
  return sums;
}

}  // namespace

void ExactSum::deposit(bool negative, unsigned __int128 significand, int exponent) {
  const int position = exponent - lowest_exponent;
  std::int64_t* limb = limbs_.data() + position / limb_bits;
  const int shift = position % limb_bits;
  const std::int64_t sign = negative ? -1 : 1;
  for (; significand != 0; significand >>= limb_bits, ++limb) {
    const std::uint64_t chunk = (static_cast<std::uint64_t>(significand) & 0xffffffff) << shift;
    limb[0] += sign * static_cast<std::int64_t>(chunk & 0xffffffff);
    limb[1] += sign * static_cast<std::int64_t>(chunk >> limb_bits);
  }
  if (++deposits_ == deposits_before_carry) carry();
}

// Leaves every limb but the last in [0, 2^32); the last one has the sign of the sum.
void ExactSum::carry() {
  std::int64_t carried = 0;
  for (int i = 0; i < limb_count - 1; ++i) {
    const std::int64_t total = limbs_[static_cast<std::size_t>(i)] + carried;
    limbs_[static_cast<std::size_t>(i)] = total & 0xffffffff;
    carried = total >> limb_bits;
  }
  limbs_.back() += carried;
  deposits_ = 0;
}

void ExactSum::add(double value) {
  if (!std::isfinite(value)) {
    special_ += value;
    return;
  }
  const Parts p = parts(value);
  deposit(p.negative, p.significand, p.exponent);
}

void ExactSum::add(const double* values, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) add(values[i]);
}

void ExactSum::add_integer(__int128 integer, int exponent) {
  HALFULP_REQUIRE(exponent >= lowest_exponent && exponent <= 2048, "the limbs hold the exponent");
  deposit(integer < 0, static_cast<unsigned __int128>(integer < 0 ? -integer : integer), exponent);
}

void ExactSum::add_product(double left, double right) {
  if (!std::isfinite(left) || !std::isfinite(right)) {
    special_ += left * right;
    return;
  }
  const Parts l = parts(left), r = parts(right);
  const auto product = static_cast<unsigned __int128>(l.significand) * r.significand;
  deposit(l.negative != r.negative, product, l.exponent + r.exponent);
}

void ExactSum::add_products(const double* left, const double* right, std::int64_t count) {
  for (std::int64_t first = 0; first < count; first += block_size) {
    const int size = static_cast<int>(std::min<std::int64_t>(block_size, count - first));
    if (add_block(left + first, right + first, size)) continue;
    for (std::int64_t i = first; i < first + size; ++i) add_product(left[i], right[i]);
  }
}

bool ExactSum::add_block(const double* left, const double* right, int count) {
  const int left_field = largest_field(left, count), right_field = largest_field(right, count);
  if (left_field == 0x7ff || right_field == 0x7ff) return false;
  const auto quantum = [](int field, int bits) { return field - 1022 - bits; };
  if (std::min(quantum(left_field, scaled_bits), quantum(right_field, scaled_bits)) <
      lowest_quantum) {
    return false;
  }
  __int128 sum = 0;
  int bits = sliced_bits;
  Slices left_slices, right_slices;
  if (slice(left, count, quantum(left_field, bits), left_slices) &&
      slice(right, count, quantum(right_field, bits), right_slices)) {
    const int padded = (count + padding - 1) / padding * padding;
    for (Slices* slices : {&left_slices, &right_slices}) {
      std::fill(slices->high + count, slices->high + padded, 0.0);
      std::fill(slices->low + count, slices->low + padded, 0.0);
    }
    const SliceSums sums = product_of(left_slices, right_slices, padded);
    const __int128 mixed = static_cast<__int128>(sums.high_low) + sums.low_high;
    sum = (static_cast<__int128>(sums.high_high) << sliced_bits) + (mixed << slice_bits) +
          sums.low_low;
  } else {
    bits = scaled_bits;
    std::int64_t scaled_left[block_size], scaled_right[block_size];
    if (!scale(left, count, quantum(left_field, bits), scaled_left) ||
        !scale(right, count, quantum(right_field, bits), scaled_right)) {
      return false;
    }
    for (int i = 0; i < count; ++i) sum += static_cast<__int128>(scaled_left[i]) * scaled_right[i];
  }
  const auto magnitude = static_cast<unsigned __int128>(sum < 0 ? -sum : sum);
  deposit(sum < 0, magnitude, quantum(left_field, bits) + quantum(right_field, bits));
  return true;
}

int ExactSum::sign() const {
  const Dyadic value = dyadic();
  if (value.significand == 0) return 0;
  return value.negative ? -1 : 1;
}

Dyadic ExactSum::dyadic() const {
  ExactSum magnitude = *this;
  magnitude.carry();
  Dyadic result;
  result.negative = magnitude.limbs_.back() < 0;
  if (result.negative) {
    for (std::int64_t& limb : magnitude.limbs_) limb = -limb;
    magnitude.carry();
  }
  const auto& limbs = magnitude.limbs_;
  const auto top =
      std::find_if(limbs.rbegin(), limbs.rend(), [](std::int64_t l) { return l != 0; });
  if (top == limbs.rend()) return result;
  // Four limbs from the top make 97 to 128 bits; the two lowest bits of 128 make room for a
  // successor.
  auto below = top;
  int taken = 0;
  for (; below != limbs.rend() && taken < 4; ++below, ++taken) {
    result.significand = result.significand << limb_bits | static_cast<std::uint64_t>(*below);
  }
  const auto lowest = static_cast<int>(limbs.rend() - below);
  result.exponent = lowest * limb_bits + lowest_exponent;
  result.sticky = std::any_of(below, limbs.rend(), [](std::int64_t l) { return l != 0; });
  while (result.significand >> 126 != 0) {
    result.sticky |= (result.significand & 1) != 0;
    result.significand >>= 1;
    ++result.exponent;
  }
  return result;
}

std::uint64_t ExactSum::round(Format format, Rounding rounding) const {
  return is_finite() ? encode(format, dyadic(), rounding) : encode(format, special_, rounding);
}

Enclosure ExactSum::enclosure() const {
  if (!is_finite()) return {special_, special_};
  const Dyadic value = dyadic();
  return {decode(Format::fp64, encode(Format::fp64, value, Rounding::downward)),
          decode(Format::fp64, encode(Format::fp64, value, Rounding::upward))};
}

}  // namespace halfulp::reference
