// Fills of graph_attention: values around its two clips, and the probes G2 to G6.
#include <array>
#include <bit>

#include "properties/fill.hpp"
#include "properties/number.hpp"

namespace halfulp::properties {
namespace {

constexpr std::string_view kAttention = "graph_attention";

int log2_floor(std::int64_t value) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(value))) - 1;
}

// floor(sqrt(value)) by binary digits.
std::uint64_t square_root(unsigned __int128 value) {
  std::uint64_t root = 0;
  for (std::uint64_t bit = std::uint64_t{1} << 63; bit != 0; bit >>= 1) {
    const std::uint64_t next = root | bit;
    if (static_cast<unsigned __int128>(next) * next <= value) root = next;
  }
  return root;
}

std::uint64_t small_integer(const Scene& scene, Quantity quantity, const Place& place) {
  return integer(scene.format, draw(scene, quantity, place), -8, 8);
}

// Products with a standard deviation near 4 and logits near 3.5, whatever the dim: both clips act
// on some.
std::uint64_t saturating(const Scene& scene, Quantity quantity, const Place& place) {
  const Draw bits = draw(scene, quantity, place);
  const int quarter = log2_floor(scene.dim) / 4;
  switch (quantity) {
    case Quantity::q:
    case Quantity::k:
      return normal(scene.format, bits, 1 + quarter);
    case Quantity::e:
      return normal(scene.format, bits, -2 * quarter);
    default:
      return normal(scene.format, bits);
  }
}

// k q / sqrt(dim) within two units in the last place of 5 or -5 at half of the channels. Half of
// the edges have a single e of 1 or -1, which puts the logit there too.
std::uint64_t clip(const Scene& scene, Quantity quantity, const Place& place) {
  const Draw bits = draw(scene, quantity, place);
  const bool negative = (bits.words[0] & 1) != 0;
  if (quantity == Quantity::q) return number(scene.format, negative ? -1 : 1);
  if (quantity == Quantity::v) return normal(scene.format, bits);
  if (quantity == Quantity::e) {
    const Draw edge(scene.seed, 69, place.i, place.j);
    if ((edge.words[3] & 1) != 0) return uniform(scene.format, bits);
    const bool hot = place.k == edge.below(static_cast<std::uint64_t>(scene.dim));
    return number(scene.format, hot ? (negative ? -1 : 1) : 0);
  }
  if ((bits.words[0] & 2) != 0) return normal(scene.format, bits);
  constexpr int kScale = 40;
  const auto square = static_cast<unsigned __int128>(scene.dim) << (2 * kScale);
  const std::uint64_t target = 5 * square_root(square);
  const int shift =
      static_cast<int>(std::bit_width(target)) - reference::traits(scene.format).precision;
  const auto nearest =
      static_cast<std::int64_t>((target + (std::uint64_t{1} << (shift - 1))) >> shift);
  const std::int64_t significand = nearest - 2 + static_cast<std::int64_t>(bits.below(5, 2));
  return number(scene.format, negative ? -significand : significand, shift - kScale);
}

// G2: q = 0, so every logit is 0, every weight 1 and out the mean of v.
std::uint64_t zero_query(const Scene& scene, Quantity quantity, const Place& place) {
  switch (quantity) {
    case Quantity::q:
      return number(scene.format, 0);
    case Quantity::k:
      return normal(scene.format, draw(scene, quantity, place));
    default:
      return small_integer(scene, quantity, place);
  }
}

// G3: sqrt(dim) is a power of two, k = T sqrt(dim) and q a power of two: t = T q hits the clip at
// 5, just misses it and just passes it, exactly. No k is a q.
std::uint64_t exact_products(const Scene& scene, Quantity quantity, const Place& place) {
  constexpr std::int64_t kSixteenths[] = {80, 82, 78, 40, 41, 39, 160, 164, 156, 48, 64};
  constexpr int kQueryExponent[] = {0, 0, 1, -1};
  const Draw bits = draw(scene, quantity, place);
  const bool negative = (bits.words[0] & 1) != 0;
  switch (quantity) {
    case Quantity::k: {
      const std::int64_t target = kSixteenths[bits.below(11, 2)];
      return number(scene.format, negative ? -target : target, log2_floor(scene.dim) / 2 - 4);
    }
    case Quantity::q:
      return number(scene.format, negative ? -1 : 1, kQueryExponent[bits.below(4, 2)]);
    case Quantity::e:
      return integer(scene.format, bits, -3, 3);
    default:
      return small_integer(scene, quantity, place);
  }
}

bool sign_of(const Scene& scene, Quantity quantity, const Place& place) {
  return (draw(scene, quantity, place).words[0] & 1) != 0;
}

// The sign of t = k q at an edge's channel.
bool product_sign(const Scene& scene, const Place& place) {
  const auto source = static_cast<std::uint64_t>(scene.graph->source[place.i]);
  const auto destination = static_cast<std::uint64_t>(scene.graph->destination[place.i]);
  return sign_of(scene, Quantity::k, {source, place.j, place.k}) !=
         sign_of(scene, Quantity::q, {destination, place.j, place.k});
}

// |t| far beyond the clip, so that it is 5 or -5 exactly.
std::uint64_t saturated(const Scene& scene, Quantity quantity, const Place& place) {
  if (quantity == Quantity::v) return small_integer(scene, quantity, place);
  return number(scene.format, sign_of(scene, quantity, place) ? -128 : 128);
}

// G4: e undoes the sign of t and alternates over the channels: the logit is 0 exactly.
std::uint64_t balanced(const Scene& scene, Quantity quantity, const Place& place) {
  if (quantity != Quantity::e) return saturated(scene, quantity, place);
  const auto dim = static_cast<std::uint64_t>(scene.dim);
  if (dim % 2 == 1 && place.k + 1 == dim) return number(scene.format, 0);
  const bool negative = (place.k % 2 != 0) != product_sign(scene, place);
  return number(scene.format, negative ? -1 : 1);
}

// G4-unbalanced: e undoes the sign of t everywhere: the logit is 5 or -5 exactly.
std::uint64_t unbalanced(const Scene& scene, Quantity quantity, const Place& place) {
  if (quantity != Quantity::e) return saturated(scene, quantity, place);
  const bool down = (Draw(scene.seed, 70, place.i, place.j).words[0] & 1) != 0;
  return number(scene.format, down != product_sign(scene, place) ? -1 : 1);
}

// G5: every logit is -5, where epsilon weighs most.
std::uint64_t lowest_logits(const Scene& scene, Quantity quantity, const Place& place) {
  switch (quantity) {
    case Quantity::v:
      return normal(scene.format, draw(scene, quantity, place));
    case Quantity::e:
      return number(scene.format, product_sign(scene, place) ? 1 : -1);
    default:
      return saturated(scene, quantity, place);
  }
}

// G6: q = 0, and the channels of v spell the source node's number in bits and their complements.
std::uint64_t address_lines(const Scene& scene, Quantity quantity, const Place& place) {
  if (quantity != Quantity::v) return zero_query(scene, quantity, place);
  constexpr std::uint64_t kBits = 24;
  const std::uint64_t channel = place.j * static_cast<std::uint64_t>(scene.dim) + place.k;
  const std::uint64_t bit = (place.i + 1) >> (channel / 2 % kBits) & 1;
  return number(scene.format, static_cast<std::int64_t>(channel % 2 == 0 ? bit : 1 - bit));
}

// G7: what a kernel's exp errs by, and little else. The first edge of a node has logit 0 and weight
// 1, in every implementation; the second one a logit of 4.863 to 4.883, exact in every order, and a
// weight just above 128, where an ulp is largest beside the number; further ones logit -5. Where v
// is -128 for the first and 1 for the second, out is nearly 0, its rounding is nothing, and the
// second weight's relative error is the error of out.
std::uint64_t single_exponential(const Scene& scene, Quantity quantity, const Place& place) {
  if (quantity == Quantity::v) {
    return number(scene.format, sign_of(scene, quantity, place) ? -128 : 1);
  }
  if (quantity != Quantity::e) return saturated(scene, quantity, place);
  const std::int32_t rank = scene.rank[place.i];
  const Draw edge(scene.seed, 71, place.i, place.j);
  const bool hot = place.k == edge.below(static_cast<std::uint64_t>(scene.dim));
  if (rank == 0 || !hot) return number(scene.format, 0);
  const bool negative = product_sign(scene, place) != (rank > 1);
  if (rank > 1) return number(scene.format, negative ? -1 : 1);
  // 249/256 to 250/256, with three bits to spare for the factor 5.
  const int bits = reference::traits(scene.format).precision >= 24 ? 21 : 8;
  const std::int64_t steps = std::int64_t{1} << (bits - 8);
  const auto step = static_cast<std::int64_t>(edge.below(static_cast<std::uint64_t>(steps) + 1, 2));
  const std::int64_t significand = 249 * steps + step;
  return number(scene.format, negative ? -significand : significand, -bits);
}

constexpr std::array kRows{
    Fill{"saturating", kAttention, false, saturating, "normal, scaled so that both clips act"},
    Fill{"clip", kAttention, false, clip, "products and logits next to the clip at 5"},
    Fill{"G2", kAttention, true, zero_query, "q = 0: out is the mean of v"},
    Fill{"G3", kAttention, true, exact_products, "exact products at, below and above the clip"},
    Fill{"G4", kAttention, true, balanced, "every product clipped, every logit 0"},
    Fill{"G4-unbalanced", kAttention, true, unbalanced, "every product clipped, logits 5 or -5"},
    Fill{"G5", kAttention, true, lowest_logits, "every logit -5: epsilon shows"},
    Fill{"G6", kAttention, true, address_lines, "q = 0, v spells the source's number in bits"},
    Fill{"G7", kAttention, true, single_exponential, "one exp decides: its error is that of out"},
};

}  // namespace

std::span<const Fill> attention_fills() { return kRows; }

}  // namespace halfulp::properties
