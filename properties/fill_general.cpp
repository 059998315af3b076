// Fills that make sense for every operation, simplest first.
#include <array>

#include "properties/fill.hpp"
#include "properties/number.hpp"

namespace halfulp::properties {
namespace {

using reference::Format;

constexpr std::string_view kAll =
    "vector_add|scatter_normalize|graph_attention|matmul|flash_attention";
constexpr std::string_view kAdded = "vector_add|scatter_normalize|graph_attention";

bool of_matmul(Quantity quantity) { return quantity == Quantity::a || quantity == Quantity::b; }

std::uint64_t ones(const Scene& scene, Quantity, const Place&) { return number(scene.format, 1); }

// Scores are summed to a denominator. It stays away from zero: the scores of a node have one sign,
// negative at one node in eight, and are at least a quarter.
std::uint64_t score(const Scene& scene, const Place& place, int exponent) {
  const Draw bits = draw(scene, Quantity::scores, place);
  const auto node = static_cast<std::uint64_t>(scene.graph->destination[place.i]);
  const bool negative = Draw(scene.seed, 64, node, place.j).below(8) == 0;
  const auto magnitude = static_cast<std::int64_t>((bits.low() >> 24) + (std::uint64_t{1} << 38));
  return number(scene.format, negative ? -magnitude : magnitude, exponent - 40);
}

std::uint64_t integers(const Scene& scene, Quantity quantity, const Place& place) {
  const bool positive = quantity == Quantity::scores;
  return integer(scene.format, draw(scene, quantity, place), positive ? 1 : -8, 8);
}

std::uint64_t one_hot(const Scene& scene, Quantity quantity, const Place& place) {
  if (quantity == Quantity::scores) return number(scene.format, 1);
  const Draw row(scene.seed, 32 + static_cast<std::uint32_t>(quantity), place.i, place.j);
  const auto width =
      scene.graph == nullptr ? std::uint64_t{5} : static_cast<std::uint64_t>(scene.dim);
  const std::uint64_t channel = scene.graph == nullptr ? place.i % 5 : place.k;
  const bool hot = scene.graph == nullptr ? channel == Draw(scene.seed, 32, 0).below(width)
                                          : channel == row.below(width);
  return number(scene.format, hot ? 1 : 0);
}

std::uint64_t uniform_fill(const Scene& scene, Quantity quantity, const Place& place) {
  if (quantity == Quantity::scores) return score(scene, place, 0);
  return uniform(scene.format, draw(scene, quantity, place));
}

std::uint64_t normal_fill(const Scene& scene, Quantity quantity, const Place& place) {
  if (quantity == Quantity::scores) return score(scene, place, 1);
  return normal(scene.format, draw(scene, quantity, place));
}

std::uint64_t positive_fill(const Scene& scene, Quantity quantity, const Place& place) {
  return positive(scene.format, draw(scene, quantity, place));
}

std::uint64_t wide(const Scene& scene, Quantity quantity, const Place& place) {
  if (of_matmul(quantity)) return matmul_wide(scene, quantity, place);
  if (scene.flash) return flash_wide(scene, quantity, place);
  if (quantity == Quantity::scores) return score(scene, place, 0);
  const bool half = scene.format == Format::fp16;
  const bool logit = quantity == Quantity::q || quantity == Quantity::k || quantity == Quantity::e;
  const int low = half ? -12 : -40;
  const int high = half ? 12 : 40;
  return any_exponent(scene.format, draw(scene, quantity, place), logit ? low / 4 : low,
                      logit ? high / 4 : high);
}

// Large values of alternating sign whose sums are small.
std::uint64_t cancelling(const Scene& scene, Quantity quantity, const Place& place) {
  if (of_matmul(quantity)) return matmul_cancelling(scene, quantity, place);
  if (scene.flash) return flash_cancelling(scene, quantity, place);
  const Draw bits = draw(scene, quantity, place);
  const auto noise = static_cast<std::int64_t>(bits.words[2] >> 12);  // 20 bits
  const std::int64_t large = (std::int64_t{64} << 20) + noise;
  const auto alternating = [&](bool negative) {
    return number(scene.format, negative ? -large : large, -20);
  };
  switch (quantity) {
    case Quantity::x:
      return alternating(false);
    case Quantity::y:
      return alternating(true);
    case Quantity::values:
      return alternating(scene.rank[place.i] % 2 != 0);
    case Quantity::v:
      return alternating(place.i % 2 != 0);
    case Quantity::scores:
      return score(scene, place, 0);
    case Quantity::e:
      return number(scene.format, place.k % 2 != 0 ? -(large >> 6) : large >> 6, -20);
    case Quantity::q:
    case Quantity::k:
      return positive(scene.format, bits);
    case Quantity::a:
    case Quantity::b:
    case Quantity::mask:
      break;
  }
  return 0;
}

std::uint64_t subnormal(const Scene& scene, Quantity quantity, const Place& place) {
  if (of_matmul(quantity)) return matmul_subnormal(scene, quantity, place);
  if (quantity == Quantity::scores) return score(scene, place, 0);
  if (quantity == Quantity::q || quantity == Quantity::k)
    return normal_fill(scene, quantity, place);
  const auto& traits = reference::traits(scene.format);
  const Draw bits = draw(scene, quantity, place);
  // Up to twice the smallest normal number, so that sums cross it.
  const auto magnitude =
      static_cast<std::int64_t>(bits.below(std::uint64_t{1} << traits.precision, 2));
  const bool negative = (bits.words[0] >> 31) != 0;
  return number(scene.format, negative ? -magnitude : magnitude,
                traits.exponent_min - traits.precision + 1);
}

// Near the largest finite number where one addition may overflow; as large as fp32 sums allow
// elsewhere.
std::uint64_t huge(const Scene& scene, Quantity quantity, const Place& place) {
  if (of_matmul(quantity)) return matmul_huge(scene, quantity, place);
  if (scene.flash) return flash_huge(scene, quantity, place);
  const Draw bits = draw(scene, quantity, place);
  const bool half = scene.format == Format::fp16;
  const int largest = reference::traits(scene.format).exponent_max;
  switch (quantity) {
    case Quantity::x:
    case Quantity::y:
      return any_exponent(scene.format, bits, largest - 2, largest);
    case Quantity::scores:
      return score(scene, place, 0);
    case Quantity::q:
    case Quantity::k:
      return any_exponent(scene.format, bits, half ? 10 : 40, half ? 15 : 60);
    case Quantity::values:
    case Quantity::v:
    case Quantity::e:
      return any_exponent(scene.format, bits, half ? 12 : 90, half ? 15 : 100);
    case Quantity::a:
    case Quantity::b:
    case Quantity::mask:
      break;
  }
  return 0;
}

// One NaN or infinity in one operand, normal values elsewhere.
std::uint64_t special(const Scene& scene, Quantity quantity, const Place& place) {
  if (of_matmul(quantity)) return matmul_special(scene, quantity, place);
  if (scene.flash) return flash_special(scene, quantity, place);
  const Draw chosen(scene.seed, 65, 0);
  const std::size_t operand = chosen.below(scene.quantities.size());
  const auto outer = static_cast<std::uint64_t>(scene.outer[operand]);
  const bool scalar_rows = quantity == Quantity::scores || scene.graph == nullptr;
  if (quantity == scene.quantities[operand] && outer > 0) {
    const Draw where(scene.seed, 66, 0);
    const Draw inner(scene.seed, 67, 0);
    const bool here =
        place.i == where.below(outer) &&
        place.j == inner.below(static_cast<std::uint64_t>(scene.heads)) &&
        (scalar_rows || place.k == inner.below(static_cast<std::uint64_t>(scene.dim), 2));
    if (here) {
      const std::uint64_t kind = where.below(3, 2);
      return kind == 0 ? not_a_number(scene.format) : infinity(scene.format, kind == 1);
    }
  }
  return normal_fill(scene, quantity, place);
}

constexpr std::array kRows{
    Fill{"ones", kAll, false, ones, "every value 1"},
    Fill{"integers", kAll, false, integers, "integers from -8 to 8, scores from 1 to 8"},
    Fill{"one_hot", kAdded, false, one_hot, "a single 1 in each row, 0 elsewhere; scores 1"},
    Fill{"uniform", kAll, false, uniform_fill, "uniform on [-1, 1)"},
    Fill{"normal", kAll, false, normal_fill, "mean 0, variance 1"},
    Fill{"positive", kAll, false, positive_fill, "uniform on (0, 1]"},
    Fill{"wide", kAll, false, wide, "exponents spread over most of the format's range"},
    Fill{"cancelling", kAll, false, cancelling, "large terms of alternating sign, small sums"},
    Fill{"subnormal", kAll, false, subnormal, "around the smallest normal number"},
    Fill{"huge", kAll, false, huge, "near the largest finite number"},
    Fill{"special", kAll, false, special, "one NaN or infinity, normal values elsewhere"},
};

}  // namespace

std::span<const Fill> general_fills() { return kRows; }

}  // namespace halfulp::properties
