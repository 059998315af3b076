// Fills of flash_attention. Elements are (batch + head * kHeadStep, row, channel); rows of k and v
// are keys. Scores are put where a kernel's running maximum, rescaling and tails show; `carrier` is
// the channel of a head that carries them. A1 to A10 are probes.
#include <algorithm>
#include <array>
#include <bit>

#include "properties/fill.hpp"
#include "properties/number.hpp"

namespace halfulp::properties {
namespace {

using reference::Format;

constexpr std::string_view kFlash = "flash_attention";

// Streams of draws that are not those of an operand.
constexpr std::uint32_t kCarrier = 88, kPositions = 89;

std::uint64_t at_least_one(std::int64_t count) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(1, count));
}
bool negative(const Draw& draw) { return (draw.words[0] >> 31) != 0; }

std::uint64_t carrier(const Scene& scene, const Place& place) {
  return Draw(scene.seed, kCarrier, place.i).below(at_least_one(scene.dim));
}
std::uint64_t tile_of(const Scene& scene, std::uint64_t key) {
  return key / at_least_one(scene.tile_keys);
}
std::uint64_t tiles(const Scene& scene) {
  return scene.keys == 0 ? 0 : tile_of(scene, static_cast<std::uint64_t>(scene.keys) - 1) + 1;
}

// |scale| * q * k: the powers of two that q and k carry beside their numbers, so that scores are
// the product of these numbers times 2^`exponent`, or up to twice that. q carries most: k holds
// more numbers.
int query_exponent(const Scene& scene, int exponent = 0) {
  return std::clamp(exponent - scene.scale_exponent, -10, 12);
}
int key_exponent(const Scene& scene, int exponent = 0) {
  return exponent - scene.scale_exponent - query_exponent(scene, exponent);
}

// v: integers that name key, channel and head, exact in every format.
std::uint64_t id(const Scene& scene, const Place& place) {
  const int bits = std::min(11, reference::traits(scene.format).precision);
  const std::uint64_t value =
      place.j * 5 + place.k * 37 + place.i % kHeadStep * 101 + place.i / kHeadStep * 211 + 1;
  return number(scene.format, static_cast<std::int64_t>(value % (std::uint64_t{1} << bits)));
}

std::uint64_t ids(const Scene& scene, Quantity quantity, const Place& place) {
  if (quantity == Quantity::v) return id(scene, place);
  return normal(scene.format, draw(scene, quantity, place));
}

// A2 and A3: q = 0, every score 0, every weight 1.
std::uint64_t opposite(const Scene& scene, Quantity quantity, const Place& place) {
  if (quantity == Quantity::q) return number(scene.format, 0);
  if (quantity == Quantity::k) return normal(scene.format, draw(scene, quantity, place));
  const auto last = static_cast<std::uint64_t>(scene.keys) - 1;
  const Place first{place.i, std::min(place.j, last - place.j), place.k};
  if (place.j == last - place.j) return number(scene.format, 0);
  const bool minus = negative(draw(scene, quantity, first)) != (first.j != place.j);
  return number(scene.format, minus ? -1 : 1);
}
std::uint64_t mean(const Scene& scene, Quantity quantity, const Place& place) {
  if (quantity == Quantity::q) return number(scene.format, 0);
  if (quantity == Quantity::k) return normal(scene.format, draw(scene, quantity, place));
  return integer(scene.format, draw(scene, quantity, place), -8, 8);
}

// A4: v = 1.
std::uint64_t constant(const Scene& scene, Quantity quantity, const Place& place) {
  if (quantity == Quantity::v) return number(scene.format, 1);
  return normal(scene.format, draw(scene, quantity, place));
}

// A score for each key in one channel of q and k; the others are zero, or add noise of about 1/2.
struct Level {
  std::int64_t significand = 0;
  int exponent = 0;
};
std::uint64_t carried(const Scene& scene, Quantity quantity, const Place& place, Level level,
                      bool noise) {
  const bool here = place.k == carrier(scene, place);
  if (!here && !noise) return number(scene.format, 0);
  if (!here) {
    return normal(scene.format, draw(scene, quantity, place), quantity == Quantity::k ? -1 : 0);
  }
  if (quantity == Quantity::q) {
    const int sign = scene.scale_negative ? -1 : 1;  // so that scores have that of the level
    return number(scene.format, sign, query_exponent(scene, level.exponent));
  }
  return number(scene.format, level.significand, key_exponent(scene, level.exponent));
}

// A5 and A6: in each tile one key is 128 or more above all others, so that their weights are zero:
// out is the id of that key in the last open tile (A6: the first).
std::uint64_t ladder(const Scene& scene, Quantity quantity, const Place& place, bool ascending) {
  if (quantity == Quantity::v) return id(scene, place);
  const std::uint64_t tile = tile_of(scene, place.j);
  const std::uint64_t begin = tile * at_least_one(scene.tile_keys);
  const std::uint64_t length =
      std::min(at_least_one(scene.tile_keys), static_cast<std::uint64_t>(scene.keys) - begin);
  const bool chosen =
      place.j - begin == Draw(scene.seed, kPositions, place.i, tile)
                             .below(at_least_one(static_cast<std::int64_t>(length)));
  const std::uint64_t step = ascending ? tile : tiles(scene) - 1 - tile;
  const Level level{static_cast<std::int64_t>(step + (chosen ? 1 : 0)), 7};
  return carried(scene, quantity, place, level, false);
}
std::uint64_t ascending(const Scene& scene, Quantity quantity, const Place& place) {
  return ladder(scene, quantity, place, true);
}
std::uint64_t descending(const Scene& scene, Quantity quantity, const Place& place) {
  return ladder(scene, quantity, place, false);
}

// A8: even keys score 0 and hold 0, odd ones score a gap of up to 8, of either sign, and hold 4096.
// With two keys open the output is 4096 / (1 + e^gap), or one of the two.
std::uint64_t gaps(const Scene& scene, Quantity quantity, const Place& place) {
  if (quantity == Quantity::v) return number(scene.format, place.j % 2 == 0 ? 0 : 4096);
  if (place.k != carrier(scene, place)) return number(scene.format, 0);
  if (quantity == Quantity::k) {
    return number(scene.format, place.j % 2 == 0 ? 0 : 1, key_exponent(scene) - 1);
  }
  const int bits = std::min(11, reference::traits(scene.format).precision);
  const Draw chosen = draw(scene, quantity, place);
  const auto gap = static_cast<std::int64_t>(1 + chosen.below(std::uint64_t{1} << bits, 2));
  return number(scene.format, negative(chosen) ? -gap : gap, 3 - bits + query_exponent(scene));
}

// A10: v is one where channel = key - first, for a window of dim keys: out holds their weights.
std::uint64_t window(const Scene& scene, Quantity quantity, const Place& place) {
  if (quantity != Quantity::v) return normal(scene.format, draw(scene, quantity, place));
  const std::uint64_t first =
      Draw(scene.seed, kPositions, place.i).below(at_least_one(scene.keys - scene.dim + 1));
  return number(scene.format, place.j == first + place.k ? 1 : 0);
}

// Scores that rise or fall by 3.5 to 7 from tile to tile, 5 to 10 in powers of two.
std::uint64_t rising(const Scene& scene, Quantity quantity, const Place& place) {
  if (quantity == Quantity::v) return id(scene, place);
  const auto tile = static_cast<std::int64_t>(tile_of(scene, place.j));
  return carried(scene, quantity, place, {7 * tile, -1}, true);
}
std::uint64_t falling(const Scene& scene, Quantity quantity, const Place& place) {
  if (quantity == Quantity::v) return id(scene, place);
  const auto tile = static_cast<std::int64_t>(tile_of(scene, place.j));
  return carried(scene, quantity, place, {-7 * tile, -1}, true);
}

// v: ones in even channels, which any mean keeps.
std::uint64_t half_ones(const Scene& scene, const Place& place) {
  if (place.k % 2 == 0) return number(scene.format, 1);
  return normal(scene.format, draw(scene, Quantity::v, place));
}
// Every score near -8 or -16, far below the 0 of a key that is not there.
std::uint64_t low(const Scene& scene, Quantity quantity, const Place& place) {
  if (quantity == Quantity::v) return half_ones(scene, place);
  return carried(scene, quantity, place, {-8, 0}, true);
}
// And near -60000 or -120000, below what stands for minus infinity in some kernels.
std::uint64_t lowest(const Scene& scene, Quantity quantity, const Place& place) {
  if (quantity == Quantity::v) return half_ones(scene, place);
  return carried(scene, quantity, place, {-15, 12}, true);
}

// One key 40 to 80 above the rest: the first or the last of all or of a tile, or anywhere.
std::uint64_t dominating(const Scene& scene, Quantity quantity, const Place& place) {
  if (quantity == Quantity::v) return id(scene, place);
  const Draw where(scene.seed, kPositions, place.i);
  const std::uint64_t keys = at_least_one(scene.keys), tile = at_least_one(scene.tile_keys);
  const std::uint64_t places[] = {0, keys - 1, std::min(tile, keys) - 1, (keys - 1) / tile * tile,
                                  where.below(keys, 2)};
  const bool chosen = place.j == places[where.below(5)];
  return carried(scene, quantity, place, {chosen ? 40 : 0, 0}, true);
}

// Scores with a deviation of 32: far out in exp, and wrong where q and k lose bits.
std::uint64_t hot(const Scene& scene, Quantity quantity, const Place& place) {
  return normal(scene.format, draw(scene, quantity, place), quantity == Quantity::q ? 5 : 0);
}

// q and k are zero but in the last channel.
std::uint64_t last_channel(const Scene& scene, Quantity quantity, const Place& place) {
  const Draw bits = draw(scene, quantity, place);
  if (quantity == Quantity::v) return normal(scene.format, bits);
  if (place.k + 1 != static_cast<std::uint64_t>(scene.dim)) return number(scene.format, 0);
  return normal(scene.format, bits,
                quantity == Quantity::q ? query_exponent(scene) : key_exponent(scene));
}

// Scores that differ by a quarter of an integer through the last bits of k that its format has (13
// bits at most: one more than the next narrower format would keep).
std::uint64_t score_low_bits(const Scene& scene, Quantity quantity, const Place& place) {
  const Draw bits = draw(scene, quantity, place);
  if (quantity == Quantity::v) return normal(scene.format, bits);
  if (place.k != carrier(scene, place)) return number(scene.format, 0);
  const int kept = std::min(13, reference::traits(scene.format).precision);
  if (quantity == Quantity::q) return number(scene.format, 1, kept - 3 + query_exponent(scene));
  const std::int64_t one = std::int64_t{1} << (kept - 1);
  return number(scene.format, one + static_cast<std::int64_t>(bits.below(16, 2)),
                1 - kept + key_exponent(scene));
}

// q k in the thousands for each channel and of one sign, so that fp16 sums overflow; equal scores.
std::uint64_t large_products(const Scene& scene, Quantity quantity, const Place& place) {
  const Draw bits = draw(scene, quantity, place);
  if (quantity == Quantity::v) return normal(scene.format, bits);
  const bool minus = (Draw(scene.seed, kCarrier, 0, place.k).words[0] & 1) != 0;
  return number(scene.format, minus ? -40 : 40);
}

// q of odd multiples of the least subnormal number, k near the largest numbers: scores of a unit or
// two, of one sign or the other for each key. Where |scale| is 2^-s, s > 0, scaled q lie half the
// least number above a multiple of it, or little less: rounded in their own format all of them lose
// that, and scores move by up to dim / 2 times the least number times k. 4-byte formats get bf16's
// numbers, which fp32 scales exactly unless it flushes them.
std::uint64_t subnormal_query(const Scene& scene, Quantity quantity, const Place& place) {
  const Draw bits = draw(scene, quantity, place);
  if (quantity == Quantity::v) return normal(scene.format, bits);
  const bool half = scene.format == Format::fp16;
  if (quantity == Quantity::k) {  // 2^15 to 2^16 in fp16, 2^127 to 2^128
    const Draw key(scene.seed, kPositions, place.i, place.j);
    const int precision = half ? 11 : 8;
    const std::int64_t one = std::int64_t{1} << (precision - 1);
    const auto value = one + static_cast<std::int64_t>(bits.below(static_cast<std::uint64_t>(one)));
    const bool minus = negative(key) != negative(Draw(scene.seed, kCarrier, 0, place.k));
    return number(scene.format, minus ? -value : value, (half ? 16 : 128) - precision);
  }
  const int shift = std::clamp(-scene.scale_exponent, 1, 5);
  const int bits_most = half ? 10 : 7;  // of a subnormal number
  // |scale| dim q k of 2 at most, where that leaves numbers to choose.
  const int dim_bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(scene.dim)));
  const int kept =
      std::clamp(bits_most - scene.scale_exponent - dim_bits - shift - 1, 0, bits_most - shift - 1);
  const auto step = static_cast<std::int64_t>(bits.below(std::uint64_t{1} << kept, 2));
  const std::int64_t size = ((4 * step + 1) << (shift - 1)) - (shift > 1 ? 1 : 0);
  const bool minus = negative(Draw(scene.seed, kCarrier, 0, place.k));
  return number(scene.format, minus ? -size : size, half ? -24 : -133);
}

constexpr std::array kRows{
    Fill{"A1", kFlash, true, ids, "v names key, channel and head: the value of a single open key"},
    Fill{"A2", kFlash, true, opposite,
         "q = 0, v = 1 and -1 that cancel: +0 whatever the sum of weights"},
    Fill{"A3", kFlash, true, mean, "q = 0, small integers: their mean, exact for 2^n keys"},
    Fill{"A4", kFlash, true, constant, "v = 1: numerator and denominator agree"},
    Fill{"A5", kFlash, true, ascending, "each tile of keys has the largest score so far: its v"},
    Fill{"A6", kFlash, true, descending, "the first tile has the largest score: its v"},
    Fill{"A8", kFlash, true, gaps, "v = 0 and 4096 for scores 0 and a gap: exp, scale, log2 e"},
    Fill{"A10", kFlash, true, window, "v = identity on a window of keys: out holds the weights"},
    Fill{"rising", kFlash, false, rising, "scores rise by 3.5 to 7 from tile to tile of keys"},
    Fill{"falling", kFlash, false, falling, "scores fall by 3.5 to 7 from tile to tile of keys"},
    Fill{"low", kFlash, false, low, "every score between -8 and -16, below that of padding"},
    Fill{"lowest", kFlash, false, lowest, "every score below -50000"},
    Fill{"dominating", kFlash, false, dominating, "one key 40 or more above the rest"},
    Fill{"hot", kFlash, false, hot, "scores with a deviation of 32"},
    Fill{"last_channel", kFlash, false, last_channel, "q and k zero but in the last channel"},
    Fill{"score_low_bits", kFlash, false, score_low_bits, "scores differ by the last bits of k"},
    Fill{"subnormal_q", kFlash, false, subnormal_query, "q odd multiples of the least number"},
    Fill{"large_products", kFlash, false, large_products, "scores whose sum overflows fp16"},
};

}  // namespace

std::uint64_t flash_wide(const Scene& scene, Quantity quantity, const Place& place) {
  const Draw bits = draw(scene, quantity, place);
  if (quantity != Quantity::v) return normal(scene.format, bits);
  const bool half = scene.format == Format::fp16;
  return any_exponent(scene.format, bits, half ? -12 : -40, half ? 12 : 40);
}

// Values of neighbouring keys cancel but for a part in 2^6.
std::uint64_t flash_cancelling(const Scene& scene, Quantity quantity, const Place& place) {
  const Draw bits = draw(scene, quantity, place);
  if (quantity != Quantity::v) return normal(scene.format, bits, -3);
  const auto noise = static_cast<std::int64_t>(bits.words[2] >> 12);  // 20 bits
  const std::int64_t large = (std::int64_t{64} << 20) + noise;
  return number(scene.format, place.j % 2 != 0 ? -large : large, -20);
}

// v near 60000 in fp16, as large as fp32 sums allow elsewhere.
std::uint64_t flash_huge(const Scene& scene, Quantity quantity, const Place& place) {
  const Draw bits = draw(scene, quantity, place);
  if (quantity != Quantity::v) return normal(scene.format, bits);
  if (scene.format != Format::fp16) return any_exponent(scene.format, bits, 90, 100);
  const auto value = static_cast<std::int64_t>(59000 + bits.below(2000, 2));
  return number(scene.format, place.k % 2 != 0 ? -value : value);
}

std::uint64_t flash_special(const Scene& scene, Quantity quantity, const Place& place) {
  const Draw chosen(scene.seed, kPositions, 0, 1), where(scene.seed, kPositions, 0, 2);
  const Draw inner(scene.seed, kPositions, 0, 3);
  const std::size_t operand = chosen.below(scene.quantities.size());
  const auto outer = at_least_one(scene.outer[operand]);
  const std::int64_t rows = quantity == Quantity::q ? scene.queries : scene.keys;
  const bool here = quantity == scene.quantities[operand] &&
                    place.i % kHeadStep == where.below(outer) &&
                    place.i / kHeadStep == where.below(at_least_one(scene.heads), 2) &&
                    place.j == inner.below(at_least_one(rows)) &&
                    place.k == inner.below(at_least_one(scene.dim), 2);
  if (!here) return normal(scene.format, draw(scene, quantity, place));
  const std::uint64_t kind = chosen.below(3, 2);
  return kind == 0 ? not_a_number(scene.format) : infinity(scene.format, kind == 1);
}

std::span<const Fill> flash_fills() { return kRows; }

}  // namespace halfulp::properties
