// Sizes around the kernel's tiles, masks (flash_generate_mask.cpp), work that suits the backend.
#include "properties/flash_generate.hpp"

#include <algorithm>

#include "properties/fill.hpp"
#include "properties/flash_generate_mask.hpp"
#include "properties/flash_problem.hpp"
#include "properties/generate.hpp"
#include "properties/operation.hpp"

namespace halfulp::properties {
namespace {

// Pairs of queries and keys, whole tiles of them, times channels, and what a weight costs in
// channels: the host backends run each.
constexpr double kWorkMost[gpu::kBackends] = {8.0e5, 2.5e5, 6.0e7};
constexpr std::int64_t kWeightWork = 32;
constexpr std::int64_t kByClassPercent = 52;  // of cases

// Small tiles more often than large ones where work counts.
FlashTile choose_tile(Choices& choose, const gpu::Kernel& kernel, gpu::Backend backend, Case& c) {
  const gpu::Parameter* parameter = find_parameter(kernel, "tile");
  if (parameter == nullptr) return {32, 32};
  std::vector<std::pair<std::int64_t, std::string_view>> words;
  for (const std::string_view word : parameter->words) {
    const FlashTile tile = flash_tile(word);
    words.emplace_back(tile.queries * tile.keys, word);
  }
  std::ranges::stable_sort(words, {}, [](const auto& entry) { return entry.first; });
  std::size_t index = 0;
  while (index + 1 < words.size() && choose.one_in(backend == gpu::Backend::cuda ? 2 : 3)) ++index;
  c.set("tile", std::string(words[index].second));
  return flash_tile(words[index].second);
}

// The smaller of two draws on the host, where channels cost.
std::int64_t choose_dim(Choices& choose, gpu::Backend backend) {
  constexpr std::int64_t kDims[] = {8, 16, 24, 40, 46, 63, 64, 72, 80, 96, 128, 192, 256};
  std::int64_t index = choose.between(0, 12);
  if (backend != gpu::Backend::cuda) index = std::min(index, choose.between(0, 12));
  return choose.one_in(12) ? choose.between(9, 80) : kDims[index];
}

// Around multiples of a tile's edge, at most `most` tiles; and the sizes where others fail.
std::int64_t choose_rows(Choices& choose, std::int64_t edge, std::int64_t most) {
  constexpr std::int64_t kSizes[] = {2,  3,  4,   5,   8,   15,  16,  17,  32,  33, 64,
                                     65, 97, 127, 128, 129, 137, 255, 256, 257, 511};
  if (choose.one_in(60)) return 0;
  const std::int64_t largest = edge * most + 1;
  switch (choose.between(0, 9)) {
    case 0:
      return 1;
    case 1:
    case 2:
      return std::min(largest, kSizes[choose.between(0, choose.size() < 50 ? 10 : 20)]);
    case 3:
      return choose.between(1, std::min(largest, edge + 2));
    default: {
      const std::int64_t tiles = choose.between(1, most);
      return std::clamp<std::int64_t>(tiles * edge + choose.between(-1, 1), 1, largest);
    }
  }
}

std::int64_t tiles_of(std::int64_t size, std::int64_t edge) { return (size + edge - 1) / edge; }

// Half of the tiles; what is left keeps its place beside a multiple of the edge.
void halve(std::int64_t& size, std::int64_t edge) {
  const std::int64_t tiles = tiles_of(size, edge), over = size - (tiles - 1) * edge;
  size = tiles > 1 ? (tiles / 2 - 1) * edge + over : size;
  size = std::max<std::int64_t>(size, 1);
}

// More than the 64 channels of the smallest build of a kernel: up to 128; up to 256 with the last
// 32, or without them.
std::int64_t wide_dim(Choices& choose) {
  constexpr std::int64_t kWide[] = {65, 72, 80, 96, 127, 128};
  constexpr std::int64_t kWider[] = {129, 144, 160, 191, 192, 193, 208, 224};
  switch (choose.between(0, 2)) {
    case 0:
      return kWide[choose.between(0, 5)];
    case 1:
      return choose.one_in(2) ? choose.between(129, 224) : kWider[choose.between(0, 7)];
    default:
      return choose.one_in(2) ? choose.between(225, 255) : 256;
  }
}

std::int64_t part_of(Choices& choose, std::int64_t edge) {
  const std::int64_t any = choose.between(1, edge - 1);
  return choose.weighted<std::int64_t>({{2, any}, {1, 1}, {1, edge - 1}});
}
std::int64_t tile_and_part(Choices& choose, std::int64_t edge) {
  return edge + part_of(choose, edge);
}

struct Sizes {
  std::int64_t batches = 1, heads = 1, queries = 0, keys = 0, dim = 0;
};

// What a kernel does for all pairs, whole tiles of them.
double work_of(const Sizes& sizes, const FlashTile& tile) {
  return static_cast<double>(sizes.batches * sizes.heads * tiles_of(sizes.queries, tile.queries) *
                             tile.queries * (sizes.dim + kWeightWork)) *
         static_cast<double>(tiles_of(sizes.keys, tile.keys) * tile.keys);
}

// Whole tiles and parts of them, of channels, keys and queries: two of the three at once, so that
// no pair is rare; all three where that does not take long. -1: none is small.
Sizes choose_by_class(Choices& choose, gpu::Backend backend, const FlashTile& tile) {
  const bool all = backend == gpu::Backend::cuda;
  const int small = choose.weighted<int>({{all ? 6 : 0, -1}, {4, 0}, {3, 1}, {2, 2}});
  Sizes sizes;
  sizes.queries = choose.one_in(2) ? tile.queries * choose.weighted<int>({{3, 1}, {1, 2}})
                                   : tile_and_part(choose, tile.queries);
  const std::int64_t keys[] = {tile.keys, 2 * tile.keys, tile_and_part(choose, tile.keys)};
  sizes.keys = keys[choose.between(0, 2)];
  sizes.dim = wide_dim(choose);
  if (small == 0) sizes.queries = choose.between(1, all ? tile.queries - 1 : 8);
  if (small == 1) sizes.keys = part_of(choose, tile.keys);
  if (small == 2) sizes.dim = choose.between(8, 64);
  if (choose.one_in(all ? 2 : 8)) sizes.batches = all ? choose.between(2, 5) : 2;
  if (choose.one_in(all ? 2 : 8)) sizes.heads = all ? choose.between(2, 7) : 2;
  return sizes;
}

void set_sizes(const Sizes& sizes, Case& c) {
  c.set("batches", sizes.batches);
  c.set("heads", sizes.heads);
  c.set("queries", sizes.queries);
  c.set("keys", sizes.keys);
  c.set("dim", sizes.dim);
}

void choose_sizes(Choices& choose, gpu::Backend backend, const FlashTile& tile, Case& c) {
  if (choose.between(1, 100) <= kByClassPercent) {
    return set_sizes(choose_by_class(choose, backend, tile), c);
  }
  const bool cuda = backend == gpu::Backend::cuda;
  const std::int64_t most = cuda ? 3 + choose.size() / 8 : 4;
  Sizes sizes;
  sizes.queries = choose_rows(choose, tile.queries, cuda ? most : 2);
  sizes.keys = choose_rows(choose, tile.keys, most);
  if (choose.one_in(3)) sizes.keys = sizes.queries;
  if (choose.one_in(8)) sizes.keys += tile.keys * choose.between(2, cuda ? 60 : 6);
  sizes.batches = choose.weighted<std::int64_t>({{6, 1}, {3, 2}, {1, 3}, {1, 5}});
  sizes.heads = choose.weighted<std::int64_t>({{5, 1}, {2, 2}, {3, 3}, {1, 7}});
  sizes.dim = choose_dim(choose, backend);
  if (choose.one_in(60)) (choose.one_in(2) ? sizes.batches : sizes.heads) = 0;
  const std::int64_t dim_first = choose.one_in(2) ? 64 : 256;  // what gives way first
  auto& [batches, heads, queries, keys, dim] = sizes;
  while (work_of(sizes, tile) > kWorkMost[static_cast<std::size_t>(backend)]) {
    if (batches * heads > 2) {
      (batches > heads ? batches : heads) = 1;
    } else if (dim > dim_first) {
      dim = dim == 256 ? 64 : dim / 4 + dim % 8;
    } else if (queries > tile.queries) {
      halve(queries, tile.queries);
    } else if (keys > 2 * tile.keys) {
      halve(keys, tile.keys);
    } else if (batches * heads > 1) {
      batches = heads = 1;
    } else if (dim > 16) {
      dim = std::max<std::int64_t>(8, dim / 2);
    } else {
      break;
    }
  }
  set_sizes(sizes, c);
}

// One head of few channels, for shapes that need many rows.
void set_rows(Choices& choose, std::int64_t queries, std::int64_t keys, Case& c) {
  set_sizes({.batches = 1,
             .heads = 1,
             .queries = std::max<std::int64_t>(1, queries),
             .keys = std::max<std::int64_t>(1, keys),
             .dim = choose.between(8, 16)},
            c);
}

// Where a border of a mask lies: at an edge of a tile, or beside it.
std::int64_t beside(Choices& choose) { return choose.between(-1, 1); }

// `keys` and as many more as put what moves with them, now at `place`, where `edge` is after a
// multiple of the tile.
std::int64_t moved(std::int64_t keys, std::int64_t place, std::int64_t edge, std::int64_t tile) {
  const std::int64_t over = (edge - place) % tile;
  return keys + (over < 0 ? over + tile : over);
}

// A window over whole tiles of keys that all queries of a tile see, but for a key at either end of
// them, or less.
void choose_window_of_tiles(Choices& choose, const FlashTile& tile, Case& c) {
  const std::int64_t queries =
      choose.one_in(2) ? tile.queries : choose.between(1, tile.queries + tile.queries / 4);
  const std::int64_t last = std::min(queries, tile.queries) - 1;  // of the first tile of queries
  // Keys from the last query's first one to the first query's last one.
  // A key short more often than a key long.
  const std::int64_t begin = choose.one_in(4) ? 1 : beside(choose);
  const std::int64_t end = choose.one_in(4) ? -1 : beside(choose);
  const std::int64_t seen = tile.keys * choose.weighted<int>({{3, 1}, {1, 2}}) + end - begin;
  const std::int64_t span = seen + last - 1;
  const std::int64_t part = choose.between(0, span);
  const std::int64_t right = choose.weighted<std::int64_t>({{2, 0}, {1, span}, {2, part}});
  const std::int64_t keys = span + queries;
  set_rows(choose, queries, moved(keys, keys - queries + right + 1, end, tile.keys), c);
  c.set("mask", "window:" + std::to_string(span - right) + ":" + std::to_string(right));
}

// A window over whole tiles of keys: just long enough that one is open to all queries of a tile, or
// far longer than the tile.
void choose_long_window(Choices& choose, const FlashTile& tile, Case& c) {
  const std::int64_t queries =
      choose.one_in(2) ? tile.queries : choose.between(1, tile.queries + tile.queries / 4);
  const std::int64_t least = std::min(queries, tile.queries) + tile.keys - 2;
  const std::int64_t slack = choose.between(0, tile.keys);
  const std::int64_t around = tile.keys * choose.between(4, 6) + choose.between(-1, 1);
  const std::int64_t span = choose.weighted<std::int64_t>({{2, least + slack}, {3, around}});
  const std::int64_t part = choose.between(0, span);
  const std::int64_t right = choose.weighted<std::int64_t>({{2, 0}, {1, span}, {2, part}});
  std::int64_t keys = span + queries + choose.between(0, tile.keys);
  // So that the first query's keys end where a tile does.
  if (choose.one_in(2)) keys = moved(keys, keys - queries + right + 1, 0, tile.keys);
  set_rows(choose, queries, keys, c);
  c.set("mask", "window:" + std::to_string(span - right) + ":" + std::to_string(right));
}

// More keys than queries, so that the first query's keys end beside the end of a tile: its keys are
// open to all, or all but one.
void choose_diagonal(Choices& choose, const FlashTile& tile, Case& c) {
  const std::int64_t queries = choose.between(2, tile.queries + tile.queries / 4);
  const std::int64_t keys = queries + tile.keys * choose.weighted<int>({{2, 1}, {1, 2}}) - 1;
  set_rows(choose, queries, keys + beside(choose), c);
}

// Sizes at which the numbers of a mask that settings tell show.
void suit_mask(Choices& choose, const gpu::Kernel& kernel, const FlashTile& tile, Case& c) {
  const Mask mask = parse_mask(c.text("mask"));
  const bool told = passing(kernel, mask) == MaskPassing::settings;
  const std::int64_t queries = c.integer("queries"), keys = c.integer("keys");
  if (c.text("order") == "exhaustive" || queries * keys == 0) return;
  const std::int64_t length = mask.arguments[0];
  if (mask.family == MaskFamily::window) {
    if (told && choose.one_in(2)) return choose_window_of_tiles(choose, tile, c);
    if (choose.one_in(told ? 4 : 6)) return choose_long_window(choose, tile, c);
    // Positions before the first key, less what a window reaches.
    const bool before = length > keys && queries > 2 && queries <= keys;
    if (told && before && !choose.one_in(4)) c.set("keys", choose.between(1, queries - 2));
  } else if (told && mask.family == MaskFamily::causal_bottom_right) {
    if (choose.one_in(4)) choose_diagonal(choose, tile, c);
  } else if (told && mask.family == MaskFamily::documents && length < 2 * tile.keys) {
    if (length >= std::min(queries, keys) && choose.one_in(2)) {
      set_rows(choose, length + choose.between(1, length), length + choose.between(1, length), c);
    }
  }
}

// Scores that change from tile to tile are as the fill says whatever the scale, so that products of
// q and k are not: tiles enough that those of a large scale stay close where scores do not.
void choose_large_scale(Choices& choose, const FlashTile& tile, Case& c) {
  const auto scale = choose.weighted<std::string>({{1, "2"}, {2, "4"}, {2, "30"}});
  c.set("scale", choose.one_in(3) ? "-" + scale : scale);
  if (c.text("order") == "exhaustive" || !choose.one_in(2)) return;
  const std::int64_t keys = tile.keys * choose.between(3, 5) + choose.between(-1, 1);
  set_rows(choose, choose.between(1, 8), keys, c);
}

void choose_scale(Choices& choose, const FlashTile& tile, Case& c) {
  const std::string_view fill = c.text("fill");
  const bool steps = fill == "rising" || fill == "falling" || fill == "dominating";
  if (steps && choose.one_in(3)) return choose_large_scale(choose, tile, c);
  if (fill == "subnormal_q" && choose.one_in(2)) {  // exact but for the last bits
    return c.set("scale", choose.weighted<std::string>(
                              {{1, "0.5"}, {1, "0.25"}, {1, "0.125"}, {1, "0.0625"}}));
  }
  if (!choose.one_in(4)) return;
  const auto scale = choose.weighted<std::string>({{3, "0.3"},
                                                   {2, "0.125"},
                                                   {2, "1"},
                                                   {2, "0.70710677"},
                                                   {2, "0.01"},
                                                   {2, "2"},
                                                   {2, "4"},
                                                   {2, "30"}});
  c.set("scale", choose.one_in(3) ? "-" + scale : scale);
}

}  // namespace

Case generate_flash_case(const gpu::Kernel& kernel, gpu::Backend backend, const rc::Random& random,
                         int size) {
  Choices choose(random, size);
  Case c = make_case(kernel.operation, kernel.name);
  const FlashTile tile = choose_tile(choose, kernel, backend, c);
  choose_sizes(choose, backend, tile, c);
  const bool tiny = c.integer("batches") * c.integer("heads") <= 2 &&
                    c.integer("queries") <= tile.queries && c.integer("keys") <= tile.keys;
  choose_common(choose, kernel, backend, tiny, c);
  if (c.text("layout") == "packed" && choose.one_in(10)) c.set("layout", "every:2");
  // A mean of 2^n values of v.
  if (c.text("fill") == "A3" && c.integer("keys") > 1) {
    std::int64_t keys = 1;
    while (2 * keys <= c.integer("keys")) keys *= 2;
    c.set("keys", keys);
  }
  choose_scale(choose, tile, c);
  choose_flash_mask(choose, kernel, tile, c);
  suit_mask(choose, kernel, tile, c);
  choose_law(choose, c);
  return c;
}

}  // namespace halfulp::properties
