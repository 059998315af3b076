// Fills of scatter_normalize: the probes S1 to S8, whose sums are exact in any order.
#include <algorithm>
#include <array>
#include <bit>

#include "properties/fill.hpp"
#include "properties/number.hpp"

namespace halfulp::properties {
namespace {

constexpr std::string_view kScatter = "scatter_normalize";

std::size_t node_of(const Scene& scene, const Place& place) {
  return static_cast<std::size_t>(scene.graph->destination[place.i]);
}

std::uint64_t one(const Scene& scene, Quantity, const Place&) { return number(scene.format, 1); }

// S1
std::uint64_t exact_integers(const Scene& scene, Quantity quantity, const Place& place) {
  return integer(scene.format, draw(scene, quantity, place), quantity == Quantity::scores ? 1 : -8,
                 8);
}

// S3: channel 2 b holds bit b of the edge's number, channel 2 b + 1 its complement.
std::uint64_t address_lines(const Scene& scene, Quantity quantity, const Place& place) {
  if (quantity == Quantity::scores) return number(scene.format, 1);
  constexpr std::uint64_t kBits = 24;
  const std::uint64_t channel = place.j * static_cast<std::uint64_t>(scene.dim) + place.k;
  const std::uint64_t bit = (place.i + 1) >> (channel / 2 % kBits) & 1;
  return number(scene.format, static_cast<std::int64_t>(channel % 2 == 0 ? bit : 1 - bit));
}

// S4: one edge of a node adds 4096, another takes it away, the others add 1 or -1. A sum kept in a
// narrow format loses ones on the way.
std::uint64_t straddle(const Scene& scene, Quantity quantity, const Place& place) {
  if (quantity == Quantity::scores) return number(scene.format, 1);
  const std::size_t node = node_of(scene, place);
  const auto degree = static_cast<std::uint64_t>(scene.in_degree[node]);
  const auto rank = static_cast<std::uint64_t>(scene.rank[place.i]);
  const Draw chosen(scene.seed, 68, node);
  const std::uint64_t up = chosen.below(degree);
  if (degree >= 2) {
    const std::uint64_t down = (up + 1 + chosen.below(degree - 1, 2)) % degree;
    if (rank == up) return number(scene.format, 4096);
    if (rank == down) return number(scene.format, -4096);
  }
  return number(scene.format, (draw(scene, quantity, place).words[0] & 1) == 0 ? 1 : -1);
}

// S5: the scores of a node are powers of two whose sum is a power of two, at least 32. With n
// leaves of a binary tree, 2 (n - 2^depth) lie one level below `depth`.
std::uint64_t power_denominator(const Scene& scene, Quantity quantity, const Place& place) {
  if (quantity == Quantity::values) return exact_integers(scene, quantity, place);
  const auto degree = static_cast<std::uint32_t>(scene.in_degree[node_of(scene, place)]);
  const auto rank = static_cast<std::uint32_t>(scene.rank[place.i]);
  const int depth = std::bit_width(degree) - 1;
  const int root = std::max(5, depth + 1);
  const bool deeper = rank < 2 * (degree - (std::uint32_t{1} << depth));
  return number(scene.format, 1, root - depth - (deeper ? 1 : 0));
}

// S5-ties: for epsilon 1, with which every denominator is 32, and every sum and quotient exact. The
// first value of a node and the small ones beside it end halfway between two numbers of 8 or 11
// bits.
std::uint64_t ties_by_power(const Scene& scene, Quantity quantity, const Place& place) {
  const bool first = scene.rank[place.i] == 0;
  if (quantity == Quantity::values) {
    if (!first) return exact_integers(scene, quantity, place);
    const bool half = (draw(scene, quantity, place).words[0] & 1) != 0;
    return number(scene.format, half ? 2048 : 256);
  }
  const auto degree = static_cast<std::uint32_t>(scene.in_degree[node_of(scene, place)]);
  const int depth = std::bit_width(degree) - 1;
  const auto deepest = 2 * (degree - (std::uint32_t{1} << depth));
  const bool deeper = static_cast<std::uint32_t>(scene.rank[place.i]) < deepest;
  // The first of the powers of two whose sum is 32, in units of the smallest of them, less 1.
  const int unit = depth + (deepest > 0 ? 1 : 0);
  const std::int64_t leaf = (std::int64_t{1} << 5) << (unit - depth - (deeper ? 1 : 0));
  return number(scene.format, leaf - (first ? std::int64_t{1} << unit : 0), -unit);
}

// S6: every denominator is epsilon alone; numerators are 0 at every second node.
std::uint64_t zero_denominator(const Scene& scene, Quantity quantity, const Place& place) {
  if (quantity == Quantity::scores || node_of(scene, place) % 2 == 0) {
    return number(scene.format, 0);
  }
  const Draw bits = draw(scene, quantity, place);
  return number(scene.format, 1 + static_cast<std::int64_t>(bits.below(7)), -10);
}

// S8: addends below the smallest normal number, which global atomics may flush.
std::uint64_t subnormal_addends(const Scene& scene, Quantity quantity, const Place& place) {
  if (quantity == Quantity::scores) return number(scene.format, 1);
  const auto& traits = reference::traits(scene.format);
  const Draw bits = draw(scene, quantity, place);
  const auto steps = static_cast<std::int64_t>(
      1 + bits.below((std::uint64_t{1} << (traits.precision - 1)) - 1, 2));
  const bool negative = (bits.words[0] >> 31) != 0;
  return number(scene.format, negative ? -steps : steps,
                traits.exponent_min - traits.precision + 1);
}

constexpr std::array kRows{
    Fill{"S1", kScatter, true, exact_integers, "small integers: every sum exact in any order"},
    Fill{"S2", kScatter, true, one, "values and scores 1: the histogram of in-degrees"},
    Fill{"S3", kScatter, true, address_lines, "channels spell each edge's number in bits"},
    Fill{"S4", kScatter, true, straddle, "4096 and -4096 among ones: the format of partial sums"},
    Fill{"S5", kScatter, true, power_denominator, "denominators a power of two, 32 or more"},
    Fill{"S5-ties", kScatter, true, ties_by_power,
         "with eps=1 exact quotients, halfway for storage"},
    Fill{"S6", kScatter, true, zero_denominator, "denominators 0 before epsilon is added"},
    Fill{"S8", kScatter, true, subnormal_addends, "subnormal addends, scores 1"},
};

}  // namespace

std::span<const Fill> scatter_fills() { return kRows; }

}  // namespace halfulp::properties
