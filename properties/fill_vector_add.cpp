// Fills of vector_add: x + y at the places where an addition rounds, overflows or reads the wrong
// element.
#include <array>

#include "properties/fill.hpp"
#include "properties/number.hpp"

namespace halfulp::properties {
namespace {

constexpr std::string_view kAdd = "vector_add";

// x counts the element modulo half the exact range, y says which half: every sum is exact, and
// neighbours differ.
std::uint64_t address(const Scene& scene, Quantity quantity, const Place& place) {
  const int precision = reference::traits(scene.format).precision;
  const std::uint64_t half = std::uint64_t{1} << (precision - 1);
  const std::uint64_t value =
      quantity == Quantity::x ? place.i % half : (place.i / half % 2 == 0 ? 0 : half);
  return number(scene.format, static_cast<std::int64_t>(value));
}

// x + y lies exactly between two neighbours of the format, or one step of x's format to either side
// of that.
std::uint64_t ties(const Scene& scene, Quantity quantity, const Place& place) {
  const Draw bits(scene.seed, static_cast<std::uint32_t>(Quantity::x), place.i);
  const int precision = reference::traits(scene.format).precision;
  const auto leading = std::int64_t{1} << (precision - 1);
  const std::int64_t significand = leading + (bits.words[0] & (leading - 1));
  const bool negative = (bits.words[1] & 1) != 0;
  const bool opposite = (bits.words[1] & 2) != 0;
  // y is half a unit in x's last place, or one unit in y's own last place to either side.
  constexpr std::int64_t kNudges[] = {0, 0, 1, -1};
  const std::int64_t nudge = kNudges[bits.below(4, 2)];
  if (quantity == Quantity::x) {
    return number(scene.format, negative ? -significand : significand, -precision + 1);
  }
  const std::int64_t half = leading + nudge;
  const bool down = negative != opposite;
  return number(scene.format, down ? -half : half, 1 - 2 * precision);
}

// Sums at and around the largest finite number and the first one that overflows.
std::uint64_t overflow(const Scene& scene, Quantity quantity, const Place& place) {
  const Draw bits(scene.seed, static_cast<std::uint32_t>(Quantity::x), place.i);
  const auto& traits = reference::traits(scene.format);
  const std::int64_t largest = (std::int64_t{1} << traits.precision) - 1;
  const int exponent = traits.exponent_max - traits.precision + 1;
  const bool negative = (bits.words[1] & 1) != 0;
  // y is a quarter, a half, three quarters or one unit in x's last place, or nothing.
  const auto quarters = static_cast<std::int64_t>(bits.below(5, 2));
  const std::int64_t value = quantity == Quantity::x ? largest * 4 : quarters;
  return number(scene.format, negative ? -value : value, exponent - 2);
}

constexpr std::array kRows{
    Fill{"address", kAdd, true, address, "x + y counts the elements exactly"},
    Fill{"ties", kAdd, true, ties, "x + y halfway between two neighbours, or next to that"},
    Fill{"overflow", kAdd, true, overflow, "x + y around the largest finite number"},
};

}  // namespace

std::span<const Fill> vector_add_fills() { return kRows; }

}  // namespace halfulp::properties
