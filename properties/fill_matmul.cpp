// Fills of matmul. `a` is (row, k), `b` is (k, column). Probes make every partial sum exact in fp32
// whatever the order [B18], so that a right kernel's answer is known to the bit; each says what it
// sees.
#include <algorithm>
#include <array>
#include <bit>

#include "properties/fill.hpp"
#include "properties/number.hpp"

namespace halfulp::properties {
namespace {

using reference::Format;

constexpr std::string_view kMatmul = "matmul";

// Streams of draws that are not those of an operand.
constexpr std::uint32_t kPositions = 80, kLines = 81;

bool left(Quantity quantity) { return quantity == Quantity::a; }
std::uint64_t depth(Quantity quantity, const Place& place) {
  return left(quantity) ? place.j : place.i;
}
std::uint64_t line(Quantity quantity, const Place& place) {
  return left(quantity) ? place.i : place.j;
}
std::uint64_t k_of(const Scene& scene) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(1, scene.k));
}
bool negative(const Draw& draw) { return (draw.words[0] >> 31) != 0; }
std::uint64_t signed_one(const Scene& scene, bool minus) {
  return number(scene.format, minus ? -1 : 1);
}
// The sign of a whole row or column.
bool line_negative(const Scene& scene, Quantity quantity, const Place& place) {
  return negative(Draw(scene.seed, kLines, line(quantity, place), left(quantity) ? 0 : 1));
}
// The unit in the last place of 1 that the operands have, and no narrower format: 2^-12 in fp32.
int last_bit(Format format) { return std::max(-12, 1 - reference::traits(format).precision); }

// M1: plus or minus one. Every k shows in every element.
std::uint64_t signs(const Scene& scene, Quantity quantity, const Place& place) {
  return signed_one(scene, negative(draw(scene, quantity, place)));
}

// M2: 1 to 3 with a sign. Exchanged indices show.
std::uint64_t small_integers(const Scene& scene, Quantity quantity, const Place& place) {
  const Draw bits = draw(scene, quantity, place);
  const auto size = static_cast<std::int64_t>(1 + bits.below(3, 2));
  return number(scene.format, negative(bits) ? -size : size);
}

// At most `most` of all k, one in each group of equally many, another one in each row.
bool chosen_in_row(const Scene& scene, const Place& place, std::uint64_t most) {
  const std::uint64_t group = (k_of(scene) + most - 1) / most;
  const Draw position(scene.seed, kPositions, place.i, place.j / group);
  return place.j % group == position.below(group);
}

// M3: as M1, but so few products that sums are exact in the storage format itself: partial sums and
// atomics in it show nothing, anything else does.
std::uint64_t sparse_signs(const Scene& scene, Quantity quantity, const Place& place) {
  const int bits = std::min(11, reference::traits(scene.format).precision);
  const std::uint64_t most = std::uint64_t{1} << (bits - 1);
  if (left(quantity) && !chosen_in_row(scene, place, most)) return number(scene.format, 0);
  return signs(scene, quantity, place);
}

// The single 1 of a row (or column) that copies a number of the other operand: neighbours copy
// neighbours, upwards or downwards.
bool copies(const Scene& scene, Quantity quantity, const Place& place) {
  const Draw whole(scene.seed, kPositions, 0);
  const std::uint64_t at = line(quantity, place) % k_of(scene);
  const std::uint64_t moved = (whole.below(2) == 0 ? at : k_of(scene) - 1 - at);
  return depth(quantity, place) == (moved + whole.below(k_of(scene), 2)) % k_of(scene);
}

// A number to be copied. Columns of the operand (rows, if it is the left one) have either small
// numbers, subnormal ones among them, or large ones, so that no sum with zeros loses bits [B16].
std::uint64_t copied(const Scene& scene, Quantity quantity, const Place& place) {
  const Draw bits = draw(scene, quantity, place);
  const auto& traits = reference::traits(scene.format);
  const bool small = line_negative(scene, quantity, place);
  const std::uint64_t kind = bits.words[1] % 8;
  const bool minus = (bits.words[3] & 1) != 0;
  if (small && kind < 3) {
    const auto magnitude = static_cast<std::int64_t>(
        1 + bits.below((std::uint64_t{1} << (traits.precision - 1)) - 1, 2));
    return number(scene.format, minus ? -magnitude : magnitude,
                  traits.exponent_min - traits.precision + 1);
  }
  if (!small && kind == 0) {
    const std::int64_t largest = (std::int64_t{1} << traits.precision) - 1;
    // The largest fp32 number is too near to overflow for the truth in double to tell.
    const int exponent = traits.exponent_max - (traits.precision > 11 ? 1 : 0);
    return number(scene.format, minus ? -largest : largest, exponent - traits.precision + 1);
  }
  return small ? any_exponent(scene.format, bits, traits.exponent_min, -1)
               : any_exponent(scene.format, bits, 0, traits.exponent_max - 1);
}

// M4: rows of a single 1 copy rows of b.
std::uint64_t copy_right(const Scene& scene, Quantity quantity, const Place& place) {
  if (!left(quantity)) return copied(scene, quantity, place);
  return number(scene.format, copies(scene, quantity, place) ? 1 : 0);
}

// M4-left: columns of a single 1 copy columns of a.
std::uint64_t copy_left(const Scene& scene, Quantity quantity, const Place& place) {
  if (left(quantity)) return copied(scene, quantity, place);
  return number(scene.format, copies(scene, quantity, place) ? 1 : 0);
}

// M4-low: the same as M4, b with every significand bit that its storage can hold.
std::uint64_t copy_low_bits(const Scene& scene, Quantity quantity, const Place& place) {
  const Format stored = scene.format == Format::tf32 ? Format::fp32 : scene.format;
  if (left(quantity)) return copy_right(scene, quantity, place);
  return any_exponent(stored, draw(scene, quantity, place), -8, 8);
}

// M5: in each stretch of k, 4096 and -4096 among ones: partial sums in a narrow format lose the
// ones.
std::uint64_t straddle(const Scene& scene, Quantity quantity, const Place& place) {
  const std::uint64_t stretch = std::max<std::uint64_t>(128, k_of(scene) / 512);
  const std::uint64_t k = depth(quantity, place);
  const std::uint64_t begin = k / stretch * stretch;
  const std::uint64_t length = std::min(stretch, k_of(scene) - begin);
  const Draw where(scene.seed, kPositions, k / stretch);
  if (length < 2) return signs(scene, quantity, place);
  const std::uint64_t first = where.below(length);
  const std::uint64_t second = (first + 1 + where.below(length - 1, 2)) % length;
  if (k - begin != first && k - begin != second) return signs(scene, quantity, place);
  const bool minus =
      left(quantity) && line_negative(scene, quantity, place) != (k - begin == first);
  return number(scene.format, minus ? -64 : 64);
}

// M6: 60000 twice, -60000 twice, ones elsewhere: partial sums overflow fp16, the sum does not.
std::uint64_t overflowing(const Scene& scene, Quantity quantity, const Place& place) {
  const std::uint64_t quarter = k_of(scene) / 4;
  const std::uint64_t k = depth(quantity, place);
  if (quarter == 0 || k >= 4 * quarter) return signs(scene, quantity, place);
  const Draw where(scene.seed, kPositions, k / quarter);
  if (k % quarter != where.below(quarter)) return signs(scene, quantity, place);
  const bool minus = left(quantity) && (k / quarter >= 2);
  return number(scene.format, left(quantity) ? (minus ? -250 : 250) : 240);
}

// M7, a: three terms whose sum lies halfway between two neighbours of the output, or next to that;
// around the largest number; among the subnormal ones.
std::uint64_t tie_term(const Scene& scene, std::uint64_t kind, std::uint64_t term) {
  const auto& traits = reference::traits(scene.format);
  if (traits.precision > 11 || scene.format == Format::tf32) {  // fp32 outputs round nothing
    constexpr std::int64_t kTerms[] = {1 << 20, 1, 3};
    return number(scene.format, kTerms[term] + static_cast<std::int64_t>(kind));
  }
  const std::int64_t one = std::int64_t{1} << traits.precision;  // its neighbours are 2 apart
  const int low = traits.exponent_min - traits.precision + 1;
  const int high = traits.exponent_max - traits.precision - 1;       // a quarter of the largest ulp
  const std::int64_t beyond = scene.format == Format::fp16 ? 4 : 3;  // fp32 bears no 2^128
  struct Term {
    std::int64_t significand;
    int exponent;
  };
  const Term terms[8][3] = {{{one, 0}, {1, 0}, {0, 0}},
                            {{one, 0}, {3, 0}, {0, 0}},
                            {{one, 0}, {1, 0}, {1, -10}},
                            {{one, 0}, {1, 0}, {-1, -10}},
                            {{4 * (one - 1), high}, {2, high}, {-1, high - 3}},
                            {{4 * (one - 1), high}, {2, high}, {0, high}},
                            {{4 * (one - 1), high}, {beyond, high}, {0, high}},
                            {{1, low}, {2, low}, {4, low}}};
  return number(scene.format, terms[kind][term].significand, terms[kind][term].exponent);
}

std::uint64_t ties(const Scene& scene, Quantity quantity, const Place& place) {
  if (!left(quantity)) {  // halves make ties of the subnormal sums
    const Draw column(scene.seed, kLines, place.j, 1);
    const std::int64_t size = column.below(2, 2) == 0 ? 2 : 1;
    return number(scene.format, negative(column) ? -size : size, -1);
  }
  const std::uint64_t k = k_of(scene);
  const std::uint64_t first = Draw(scene.seed, kPositions, 0).below(k);
  const std::uint64_t kind = (place.i + scene.seed) % 8;
  for (std::uint64_t term = 0; term < std::min<std::uint64_t>(3, k); ++term) {
    const std::uint64_t at = (first + term * std::max<std::uint64_t>(1, k / 3)) % k;
    if (place.j == at) return tie_term(scene, kind, term);
  }
  return number(scene.format, 0);
}

// M8: rows of a spell k in bits, and in its complement: a lost k leaves its number behind.
std::uint64_t address_lines(const Scene& scene, Quantity quantity, const Place& place) {
  if (!left(quantity)) return signed_one(scene, line_negative(scene, quantity, place));
  std::uint64_t bits = 1;
  while ((k_of(scene) - 1) >> bits != 0) ++bits;
  const std::uint64_t bit = place.j >> (place.i / 2 % bits) & 1;
  return number(scene.format, static_cast<std::int64_t>(place.i % 2 == 0 ? bit : 1 - bit));
}

// One product in each 32 of k, another k in each row: the first is 2048 (256 in bf16), the others
// one, so that sums of whole chunks, rounded to the output, lose the ones.
std::uint64_t chunks(const Scene& scene, Quantity quantity, const Place& place) {
  constexpr std::uint64_t kChunk = 32;
  if (!left(quantity)) return signed_one(scene, line_negative(scene, quantity, place));
  const std::uint64_t chunk = place.j / kChunk;
  const std::uint64_t length = std::min(kChunk, k_of(scene) - chunk * kChunk);
  const Draw where(scene.seed, kPositions, place.i, chunk);
  if (place.j % kChunk != where.below(length)) return number(scene.format, 0);
  const int bits = std::min(11, reference::traits(scene.format).precision);
  return number(scene.format, chunk == 0 ? std::int64_t{1} << bits : 1);
}

// a is one and a bit that the next narrower format has not, b a sign: operands that are silently
// converted show.
std::uint64_t low_bit(const Scene& scene, Quantity quantity, const Place& place) {
  if (!left(quantity)) return signed_one(scene, line_negative(scene, quantity, place));
  if (!chosen_in_row(scene, place, 1024)) return number(scene.format, 0);
  const int bit = last_bit(scene.format);
  return number(scene.format, (std::int64_t{1} << -bit) + 1, bit);
}

constexpr std::array kRows{
    Fill{"M1", kMatmul, true, signs, "1 and -1: every k shows in every element"},
    Fill{"M2", kMatmul, true, small_integers, "1 to 3 with signs: exchanged indices"},
    Fill{"M3", kMatmul, true, sparse_signs, "few 1 and -1: exact in the storage format too"},
    Fill{"M4", kMatmul, true, copy_right, "rows of a single 1 copy rows of b, extremes among them"},
    Fill{"M4-left", kMatmul, true, copy_left, "columns of a single 1 copy columns of a"},
    Fill{"M4-low", kMatmul, true, copy_low_bits, "as M4, every bit of the stored significand set"},
    Fill{"M5", kMatmul, true, straddle, "4096 and -4096 among ones: the accumulator's format"},
    Fill{"M6", kMatmul, true, overflowing, "60000 and -60000, twice: partial sums that overflow"},
    Fill{"M7", kMatmul, true, ties, "sums halfway between two outputs: the last rounding"},
    Fill{"M8", kMatmul, true, address_lines, "rows spell k in bits: names a lost k"},
    Fill{"chunks", kMatmul, true, chunks, "one product in each 32 of k: format of partial sums"},
    Fill{"low_bit", kMatmul, true, low_bit, "1 and one bit more: operands converted in silence"},
};

}  // namespace

std::uint64_t matmul_wide(const Scene& scene, Quantity quantity, const Place& place) {
  const bool half = scene.format == Format::fp16;
  return any_exponent(scene.format, draw(scene, quantity, place), half ? -10 : -40, half ? 5 : 40);
}

// Neighbours in k cancel but for a part in 2^6.
std::uint64_t matmul_cancelling(const Scene& scene, Quantity quantity, const Place& place) {
  const Draw bits = draw(scene, quantity, place);
  const auto noise = static_cast<std::int64_t>(bits.words[2] >> 12);  // 20 bits
  const std::int64_t large = (std::int64_t{64} << 20) + noise;
  const bool minus = left(quantity) && place.j % 2 != 0;
  return number(scene.format, minus ? -large : large, left(quantity) ? -20 : -26);
}

// a around the smallest normal number, b normal: so are the products.
std::uint64_t matmul_subnormal(const Scene& scene, Quantity quantity, const Place& place) {
  const Draw bits = draw(scene, quantity, place);
  if (!left(quantity)) return normal(scene.format, bits);
  const auto& traits = reference::traits(scene.format);
  const auto magnitude =
      static_cast<std::int64_t>(bits.below(std::uint64_t{1} << traits.precision, 2));
  return number(scene.format, negative(bits) ? -magnitude : magnitude,
                traits.exponent_min - traits.precision + 1);
}

// Products near the largest output; in fp32 not so near that a sum of all magnitudes overflows.
std::uint64_t matmul_huge(const Scene& scene, Quantity quantity, const Place& place) {
  if (scene.format == Format::fp16)
    return any_exponent(scene.format, draw(scene, quantity, place), 5, 7);
  const int high = (125 - static_cast<int>(std::bit_width(k_of(scene)))) / 2;
  return any_exponent(scene.format, draw(scene, quantity, place), high - 4, high);
}

// One NaN or infinity in one operand. One in four of the numbers that it is multiplied by is zero:
// of zeros too such a product is NaN.
std::uint64_t matmul_special(const Scene& scene, Quantity quantity, const Place& place) {
  const Draw where(scene.seed, kLines, 0, 2);
  const bool in_left = where.below(2) == 0;
  const auto lines =
      static_cast<std::uint64_t>(std::max<std::int64_t>(1, in_left ? scene.m : scene.n));
  if (depth(quantity, place) == Draw(scene.seed, kLines, 1, 2).below(k_of(scene))) {
    if (left(quantity) != in_left) {
      if (draw(scene, quantity, place).below(4, 2) == 0) return number(scene.format, 0);
    } else if (line(quantity, place) == where.below(lines, 2)) {
      const std::uint64_t kind = Draw(scene.seed, kLines, 2, 2).below(3);
      return kind == 0 ? not_a_number(scene.format) : infinity(scene.format, kind == 1);
    }
  }
  return normal(scene.format, draw(scene, quantity, place));
}

std::span<const Fill> matmul_fills() { return kRows; }

}  // namespace halfulp::properties
