// The grammar of masks and their rows; see flash_mask.hpp.
#include "properties/flash_mask.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "properties/assert.hpp"
#include "properties/fields.hpp"
#include "properties/fill.hpp"
#include "properties/philox.hpp"
#include "properties/spec.hpp"

namespace halfulp::properties {
namespace {

constexpr double kClosed = -std::numeric_limits<double>::infinity();
constexpr std::int64_t kPositionMax = std::numeric_limits<std::int32_t>::max();

struct Family {
  std::string_view name;
  int arguments_least = 0, arguments_most = 0;
  std::int64_t low = 0, high = kPositionMax;  // of each argument
  bool ascending = false;                     // the second is not below the first
  std::string_view axes = "bhqk";             // that may be broadcast
};

// In the order of MaskFamily: the simplest first.
constexpr std::array<Family, kMaskFamilies> kFamilies{{
    {.name = "none"},
    {.name = "causal_top_left", .axes = "bh"},
    {.name = "causal_bottom_right", .axes = "bh"},
    {.name = "prefix_lm", .arguments_least = 1, .arguments_most = 1, .axes = "bh"},
    {.name = "window", .arguments_least = 2, .arguments_most = 2, .axes = "bh"},
    {.name = "documents", .arguments_least = 1, .arguments_most = 1, .low = 1, .axes = "bh"},
    {.name = "empty_rows",
     .arguments_least = 2,
     .arguments_most = 2,
     .ascending = true,
     .axes = "bhk"},
    {.name = "closed", .arguments_least = 2, .arguments_most = 2, .ascending = true, .axes = "bhq"},
    {.name = "only", .arguments_least = 1, .arguments_most = 1, .axes = "bhq"},
    {.name = "keys",
     .arguments_least = 1,
     .arguments_most = 1,
     .low = 1,
     .high = 64,
     .axes = "bhq"},
    {.name = "random", .arguments_least = 1, .arguments_most = 1, .high = 100},
    {.name = "bias", .arguments_most = 1, .high = 100},
    {.name = "bias_far", .arguments_most = 1, .high = 100},
    {.name = "alibi",
     .arguments_least = 1,
     .arguments_most = 1,
     .low = 1,
     .high = 1024,
     .axes = "b"},
    {.name = "large", .arguments_least = 1, .arguments_most = 1, .high = 100},
    {.name = "lowest", .arguments_least = 1, .arguments_most = 1, .high = 100},
    {.name = "padded_left", .arguments_least = 1, .arguments_most = 1, .axes = "bhq"},
    {.name = "padded_right", .arguments_least = 1, .arguments_most = 1, .axes = "bhq"},
}};

const Family& row_of(MaskFamily family) { return kFamilies[static_cast<std::size_t>(family)]; }

std::string_view usage() {
  static const std::string text = [] {
    std::vector<std::string_view> names;
    for (const Family& family : kFamilies) names.push_back(family.name);
    return join(names, ", ");
  }();
  return text;
}

std::string argument_error(const Family& family, const Spec& spec) {
  const auto count = static_cast<int>(spec.arguments.size());
  const std::string start = "mask=" + shown(print(spec)) + ": " + std::string(family.name);
  const auto range = [&] {
    return " from " + std::to_string(family.low) + " to " + std::to_string(family.high);
  };
  if (family.arguments_most == 0 && count > 0) return start + " takes no number";
  if (count < family.arguments_least || count > family.arguments_most) {
    const char* many = family.arguments_least == 0
                           ? "at most one number"
                           : (family.arguments_most == 1 ? "one number" : "two numbers");
    return start + " takes " + many + range();
  }
  std::vector<std::int64_t> values;
  for (const std::string& argument : spec.arguments) {
    const auto value = parse_integer(argument);
    if (!value || *value < family.low || *value > family.high) {
      return start + " takes numbers" + range() + ", not " + shown(argument);
    }
    values.push_back(*value);
  }
  if (family.ascending && values[1] < values[0]) return start + " ends before it begins";
  return {};
}

// Streams of draws; those of cells are Quantity::mask's.
constexpr std::uint32_t kPadding = 96, kOpenKeys = 97, kFar = 98;

std::uint64_t outer(const MaskRow& place) {
  return static_cast<std::uint64_t>(place.batch + place.head * kHeadStep);
}

// The keys from `begin` to `end` - 1, as far as there are that many.
void set(std::span<double> row, std::int64_t begin, std::int64_t end, double value) {
  const auto size = static_cast<std::int64_t>(row.size());
  begin = std::clamp<std::int64_t>(begin, 0, size);
  end = std::clamp<std::int64_t>(end, begin, size);
  std::fill(row.begin() + begin, row.begin() + end, value);
}
void open_only(std::span<double> row, std::int64_t begin, std::int64_t end) {
  std::ranges::fill(row, kClosed);
  set(row, begin, end, 0);
}

// `percent` of the cells get `value`.
void scatter(const MaskRow& place, std::int64_t percent, double value, std::span<double> row) {
  for (std::size_t j = 0; j < row.size(); ++j) {
    const Draw draw(place.seed, static_cast<std::uint32_t>(Quantity::mask), outer(place),
                    static_cast<std::uint64_t>(place.query), j);
    if (draw.below(100) < static_cast<std::uint64_t>(percent)) row[j] = value;
  }
}

void add_bias(const MaskRow& place, std::span<double> row) {
  for (std::size_t j = 0; j < row.size(); ++j) {
    const Draw draw(place.seed, static_cast<std::uint32_t>(Quantity::mask), outer(place),
                    static_cast<std::uint64_t>(place.query), j);
    row[j] = (static_cast<double>(draw.below(256, 2)) - 128) / 64;
  }
}

// Differences of a few units, so that many keys have weight, on a number whose last bits a narrower
// format has not.
void add_bias_far(const MaskRow& place, std::span<double> row) {
  const auto query = static_cast<std::uint64_t>(place.query);
  const Draw around(place.seed, kFar, outer(place), query);
  const double size = std::ldexp(1 + static_cast<double>(around.below(1 << 20)) * 0x1p-20,
                                 4 + static_cast<int>(around.below(5, 2)));
  const double centre = (around.words[3] & 1) != 0 ? -size : size;
  for (std::size_t j = 0; j < row.size(); ++j) {
    const Draw draw(place.seed, static_cast<std::uint32_t>(Quantity::mask), outer(place), query, j);
    row[j] = centre + static_cast<double>(draw.below(1 << 24, 2)) * 0x1p-22 - 2;
  }
}

// Far out limited to what fp16 holds.
void add_alibi(const MaskRow& place, std::int64_t slope, std::span<double> row) {
  constexpr double kMost = 65504;
  const double step =
      std::ldexp(static_cast<double>(slope), -10 - static_cast<int>(place.head % 4));
  for (std::size_t j = 0; j < row.size(); ++j) {
    const double apart = static_cast<double>(j) - static_cast<double>(place.query);
    row[j] = std::clamp(apart * step, -kMost, kMost);
  }
}

// An odd step through the keys where there is one: neighbours in the walk differ in parity.
void open_some(const MaskRow& place, std::int64_t count, std::span<double> row) {
  std::ranges::fill(row, kClosed);
  const std::uint64_t keys = row.size();
  if (keys == 0) return;
  const Draw draw(place.seed, kOpenKeys, outer(place), static_cast<std::uint64_t>(place.query));
  std::uint64_t at = draw.below(keys);
  std::uint64_t step = 2 * draw.below((keys + 1) / 2, 2) + 1;
  while (std::gcd(step, keys) != 1) step += 2;
  for (std::int64_t i = 0; i < count; ++i, at = (at + step) % keys) row[at] = 0;
}

std::int64_t padding(const MaskRow& place, std::int64_t most) {
  const Draw draw(place.seed, kPadding, static_cast<std::uint64_t>(place.batch));
  return static_cast<std::int64_t>(draw.below(static_cast<std::uint64_t>(most) + 1));
}

// The closed forms, without limits of the range of keys.
void open_by_rule(const Mask& mask, const MaskShape& shape, std::int64_t i, std::span<double> row) {
  const std::int64_t first = mask.arguments[0], second = mask.arguments[1];
  const std::int64_t shift = shape.keys - shape.queries;
  switch (mask.family) {
    case MaskFamily::causal_top_left:
      return open_only(row, 0, i + 1);
    case MaskFamily::causal_bottom_right:
      return open_only(row, 0, i + shift + 1);
    case MaskFamily::prefix_lm:
      return open_only(row, 0, i < first ? std::max(i + 1, first) : i + 1);
    case MaskFamily::window:
      return open_only(row, i + shift - first, i + shift + second + 1);
    case MaskFamily::documents:
      return open_only(row, i / first * first, (i / first + 1) * first);
    default:
      HALFULP_ASSERT(mask.family == MaskFamily::none, "no closed form");
  }
}

}  // namespace

std::string_view name(MaskFamily family) { return row_of(family).name; }

std::string mask_error(std::string_view text) {
  const Spec spec = split_spec(text);
  for (const Family& family : kFamilies) {
    if (family.name == spec.family) return argument_error(family, spec);
  }
  std::vector<std::string_view> names;
  for (const Family& family : kFamilies) names.push_back(family.name);
  const std::string_view near =
      spec.family.size() <= kShownBytes ? nearest(spec.family, names) : "";
  std::string what = "mask=" + shown(text) + ": expected " + std::string(usage());
  if (!near.empty()) what += "; did you mean " + std::string(near) + "?";
  return what;
}

Mask parse_mask(std::string_view text) {
  HALFULP_ASSERT(mask_error(text).empty(), mask_error(text));
  const Spec spec = split_spec(text);
  Mask mask;
  for (std::size_t i = 0; i < kFamilies.size(); ++i) {
    if (kFamilies[i].name == spec.family) mask.family = static_cast<MaskFamily>(i);
  }
  for (const std::string& argument : spec.arguments) {
    mask.arguments[mask.count++] = parse_integer(argument).value();
  }
  return mask;
}

std::string print(const Mask& mask) {
  std::string text(name(mask.family));
  for (int i = 0; i < mask.count; ++i) text += ":" + std::to_string(mask.arguments[i]);
  return text;
}

bool closed_form(const Mask& mask) { return mask.family <= MaskFamily::documents; }

std::string_view broadcast_axes(MaskFamily family) { return row_of(family).axes; }

void mask_row(const Mask& mask, const MaskShape& shape, const MaskRow& place,
              std::span<double> row) {
  const std::int64_t first = mask.arguments[0], second = mask.arguments[1];
  std::ranges::fill(row, 0.0);
  switch (mask.family) {
    case MaskFamily::empty_rows:
      if (place.query >= first && place.query < second) std::ranges::fill(row, kClosed);
      return;
    case MaskFamily::closed:
      return set(row, first, second, kClosed);
    case MaskFamily::only:
      return open_only(row, first, first + 1);
    case MaskFamily::keys:
      return open_some(place, first, row);
    case MaskFamily::random:
      return scatter(place, first, kClosed, row);
    case MaskFamily::bias:
      add_bias(place, row);
      if (mask.count > 0) scatter(place, first, kClosed, row);
      return;
    case MaskFamily::bias_far:
      add_bias_far(place, row);
      if (mask.count > 0) scatter(place, first, kClosed, row);
      return;
    case MaskFamily::alibi:
      return add_alibi(place, first, row);
    case MaskFamily::large:
      return scatter(place, first, -10000, row);
    case MaskFamily::lowest:
      return scatter(place, first, place.lowest, row);
    case MaskFamily::padded_left:
      return set(row, 0, padding(place, first), kClosed);
    case MaskFamily::padded_right:
      return set(row, shape.keys - padding(place, first), shape.keys, kClosed);
    default:
      return open_by_rule(mask, shape, place.query, row);
  }
}

}  // namespace halfulp::properties
