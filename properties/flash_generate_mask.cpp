// Masks whose borders lie around the kernel's tiles, and around what 32 bits hold.
#include "properties/flash_generate_mask.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace halfulp::properties {
namespace {

constexpr std::int64_t kPositionMost = std::numeric_limits<std::int32_t>::max();

// A position from 0 to `most`: around an edge of a tile, or an end.
std::int64_t position(Choices& choose, std::int64_t edge, std::int64_t most) {
  const std::int64_t any = choose.between(0, most);
  const std::int64_t near = choose.between(0, most / edge) * edge + choose.between(-1, 1);
  const std::int64_t chosen = choose.weighted<std::int64_t>(
      {{1, 0}, {1, 1}, {1, most}, {1, std::max<std::int64_t>(0, most - 1)}, {2, any}, {5, near}});
  return std::clamp<std::int64_t>(chosen, 0, most);
}

// How far a window reaches: around its query, around edges of tiles, to the end of the keys, as far
// as a kernel can be told.
std::int64_t reach(Choices& choose, std::int64_t edge, std::int64_t keys) {
  const std::int64_t small = choose.between(0, 3), near = edge + choose.between(-1, 1);
  const std::int64_t tiles = edge * choose.between(2, 5) + choose.between(-1, 1);
  const std::int64_t end = std::max<std::int64_t>(0, keys + choose.between(-1, 1));
  return choose.weighted<std::int64_t>(
      {{9, small}, {5, near}, {3, tiles}, {2, end}, {3, kPositionMost}, {2, kPositionMost - 1}});
}

// The largest positions: what is rounded up to whole tiles there has 33 bits.
std::int64_t far(Choices& choose) {
  return choose.one_in(2) ? kPositionMost : kPositionMost - choose.between(1, 127);
}

// As long as a tile or two, as the keys, as positions go; and those by whose reciprocal in fp32,
// rounded down, their own multiples come out one too small.
std::int64_t document_length(Choices& choose, std::int64_t edge, std::int64_t keys) {
  constexpr std::int64_t kReciprocalLow[] = {41, 47, 55, 61, 82, 83, 94, 97};
  switch (choose.between(0, 15)) {
    case 0:
    case 1:
      return kReciprocalLow[choose.between(0, 3)];
    case 2:
      return kReciprocalLow[choose.between(0, 7)];
    case 3:
      return far(choose);
    case 4:
    case 5:
    case 6:
      return std::max<std::int64_t>(1, reach(choose, edge, keys));
    case 7:
    case 8:
    case 9:
      return edge + choose.between(-1, 1);
    default:
      return std::max<std::int64_t>(1, position(choose, edge, keys + 1));
  }
}

std::string choose_arguments(Choices& choose, MaskFamily family, const FlashTile& tile,
                             const Case& c) {
  const std::int64_t queries = c.integer("queries"), keys = c.integer("keys");
  Mask mask{.family = family};
  const auto take = [&](std::int64_t value) { mask.arguments[mask.count++] = value; };
  const auto stretch = [&](std::int64_t edge, std::int64_t most) {
    const std::int64_t first = position(choose, edge, most);
    const std::int64_t length = choose.weighted<std::int64_t>({{2, 1}, {2, edge}, {1, most}});
    take(first);
    take(std::min(most, first + length));
  };
  const auto percent = [&] {
    take(choose.weighted<std::int64_t>({{2, 10}, {3, 50}, {2, 90}, {1, 99}, {1, 100}}));
  };
  switch (family) {
    case MaskFamily::none:
    case MaskFamily::causal_top_left:
    case MaskFamily::causal_bottom_right:
      break;
    case MaskFamily::prefix_lm:
      take(choose.one_in(6) ? far(choose) : position(choose, tile.keys, keys + 1));
      break;
    case MaskFamily::window:
      take(reach(choose, tile.keys, keys));
      take(choose.one_in(4) ? 0 : reach(choose, tile.keys, keys));
      break;
    case MaskFamily::documents:
      take(document_length(choose, tile.keys, keys));
      break;
    case MaskFamily::empty_rows:
      stretch(tile.queries, queries);
      break;
    case MaskFamily::closed:
      stretch(tile.keys, keys);
      break;
    case MaskFamily::only:
      take(position(choose, tile.keys, std::max<std::int64_t>(0, keys - 1)));
      break;
    case MaskFamily::keys:
      take(choose.between(1, 3));
      break;
    case MaskFamily::bias:
    case MaskFamily::bias_far:
      if (choose.one_in(2)) percent();
      break;
    case MaskFamily::alibi:
      take(choose.one_in(3) ? 1024 : choose.between(1, 1024));
      break;
    case MaskFamily::random:
    case MaskFamily::large:
    case MaskFamily::lowest:
      percent();
      break;
    case MaskFamily::padded_left:
    case MaskFamily::padded_right:
      take(position(choose, tile.keys, keys));
      break;
  }
  return print(mask);
}

// Families that the kernel takes; a probe's own first.
MaskFamily choose_family(Choices& choose, const gpu::Kernel& kernel, const Case& c) {
  const auto takes = [&](MaskFamily family) {
    return passing(kernel, {.family = family}) != MaskPassing::none;
  };
  const std::string_view fill = c.text("fill");
  const bool probe = (fill == "A1" || fill == "A8") && choose.one_in(2);
  if (probe && takes(MaskFamily::keys)) return MaskFamily::keys;
  const bool plain = (fill == "A2" || fill == "A3") && choose.one_in(2);
  if ((plain || choose.one_in(6)) && takes(MaskFamily::none)) return MaskFamily::none;
  std::vector<MaskFamily> families;
  for (int i = 0; i < kMaskFamilies; ++i) {
    const auto family = static_cast<MaskFamily>(i);
    if (!takes(family)) continue;
    // What every kernel has to do counts twice, and dense masks of one number are many.
    families.push_back(family);
    if (family <= MaskFamily::window || family == MaskFamily::bias) families.push_back(family);
    // Two borders, and two sizes that move them.
    const bool told = passing(kernel, {.family = family}) == MaskPassing::settings;
    if (told && family == MaskFamily::window) families.insert(families.end(), 3, family);
  }
  return families[static_cast<std::size_t>(choose.between(0, std::ssize(families) - 1))];
}

void choose_mask_layout(Choices& choose, MaskFamily family, Case& c) {
  // Bits that a narrower format has not.
  const bool long_numbers = family == MaskFamily::bias_far || family == MaskFamily::alibi;
  c.set("mask_in", choose.one_in(long_numbers ? 5 : 2) ? "input" : "f32");
  std::string axes;
  for (const char axis : broadcast_axes(family)) {
    if (choose.one_in(2)) axes += axis;
  }
  const std::string broadcast = axes.empty() ? "dense" : "broadcast:" + axes;
  // Rows that begin at multiples of 16 bytes in heads and batches that do not.
  const bool several = c.integer("batches") * c.integer("heads") > 1;
  const std::size_t apart = several && c.integer("keys") % 8 == 0 ? 5 : 1;
  c.set("mask_layout",
        choose.weighted<std::string>({{4, "dense"},
                                      {1, "transposed"},
                                      {1, "pitch:" + std::to_string(choose.between(1, 9))},
                                      {apart, "apart:" + std::to_string(choose.between(1, 9))},
                                      {1, "offset:" + std::to_string(choose.between(1, 7))},
                                      {3, broadcast}}));
}

// The lowest fp32 number times log2 e is -infinity: little can be said of kernels that multiply it.
bool overflows(const gpu::Kernel& kernel, const Case& c) {
  return kernel.numerics.log2e_first && c.text("in") != "f16";
}

}  // namespace

void choose_flash_mask(Choices& choose, const gpu::Kernel& kernel, const FlashTile& tile, Case& c) {
  MaskFamily family = choose_family(choose, kernel, c);
  if (family == MaskFamily::lowest && overflows(kernel, c) && !choose.one_in(8)) {
    family = MaskFamily::large;
  }
  const std::string_view fill = c.text("fill");
  std::string text = choose_arguments(choose, family, tile, c);
  if (family == MaskFamily::keys && fill == "A1") text = "keys:1";
  if (family == MaskFamily::keys && fill == "A8") text = "keys:2";
  c.set("mask", text);
  if (passing(kernel, parse_mask(text)) == MaskPassing::operand) {
    choose_mask_layout(choose, family, c);
    if (family == MaskFamily::lowest && c.text("in") == "f16") c.set("mask_in", "input");
  }
}

}  // namespace halfulp::properties
