// Shapes around the kernel's tiles, launch parameters around what a shape makes of them, work that
// suits the backend.
#include "properties/matmul_generate.hpp"

#include <algorithm>

#include "properties/fill.hpp"
#include "properties/generate.hpp"
#include "properties/matmul_schedule.hpp"
#include "properties/operands.hpp"
#include "properties/operation.hpp"

namespace halfulp::properties {
namespace {

// Products of whole tiles and whole blocks of k: the host backends run each of them.
constexpr double kWorkMost[gpu::kBackends] = {1.0e6, 3.0e5, 1.0e8};
constexpr double kLargeWorkMost = 4.0e9;  // of shapes as models have them; cuda
constexpr double kLongWorkMost = 1.5e6;   // of many tiles or many blocks of k; host backends

const gpu::Parameter* find(const gpu::Kernel& kernel, std::string_view name) {
  for (const gpu::Parameter& parameter : kernel.parameters) {
    if (parameter.name == name) return &parameter;
  }
  return nullptr;
}

TileSize tile_of(const gpu::Kernel& kernel, const Case& c) {
  if (find(kernel, "tile") == nullptr) return {64, 64, 32};
  return tile_size(c.text("tile"), storage_format(c));
}

// Small tiles more often than large ones where work counts, now and then any.
void choose_tile(Choices& choose, const gpu::Kernel& kernel, gpu::Backend backend, Case& c) {
  const gpu::Parameter* parameter = find(kernel, "tile");
  if (parameter == nullptr) return;
  std::vector<std::pair<double, std::string_view>> words;
  for (const std::string_view word : parameter->words) {
    const TileSize size = tile_size(word, storage_format(c));
    words.emplace_back(static_cast<double>(size.m * size.n * size.k), word);
  }
  std::ranges::stable_sort(words, {}, [](const auto& entry) { return entry.first; });
  std::size_t index = 0;
  constexpr int kAny[gpu::kBackends] = {6, 10, 4};
  if (choose.one_in(kAny[static_cast<std::size_t>(backend)])) {
    index = static_cast<std::size_t>(choose.between(0, std::ssize(words) - 1));
  }
  while (index + 1 < words.size() && choose.one_in(backend == gpu::Backend::cuda ? 2 : 4)) ++index;
  c.set("tile", std::string(words[index].second));
}

// Around multiples of a tile's edge; `most` tiles.
std::int64_t choose_size(Choices& choose, std::int64_t edge, std::int64_t most) {
  constexpr std::int64_t kPrimes[] = {2, 3, 5, 7, 11, 13, 17, 23, 31, 37, 61, 97, 131, 257, 509};
  if (choose.one_in(30)) return 0;
  const std::int64_t largest = edge * most;
  switch (choose.between(0, 9)) {
    case 0:
      return 1;
    case 1:
    case 2:
      return std::min(largest, kPrimes[choose.between(0, choose.size() < 50 ? 7 : 14)]);
    case 3:
    case 4:
      return choose.between(1, std::min(largest, edge + 2));
    case 5:
      return std::min(largest, 8 * choose.between(1, std::max<std::int64_t>(1, largest / 8)));
    default: {
      const std::int64_t tiles = choose.between(1, most);
      return std::clamp<std::int64_t>(tiles * edge + choose.between(-1, 1), 1, largest + 1);
    }
  }
}

double ceiling(std::int64_t size, std::int64_t edge) {
  return static_cast<double>((size + edge - 1) / edge * edge);
}

// Multiples of 256 from 256 to 8192, even in their logarithm.
bool choose_large_shape(Choices& choose, Case& c) {
  const auto size = [&] {
    const std::int64_t low = std::int64_t{256} << choose.between(0, 4);
    return choose.between(low / 256, 2 * low / 256) * 256;
  };
  const std::int64_t m = size(), n = size(), k = size();
  if (static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) > kLargeWorkMost) {
    return false;
  }
  c.set("m", m);
  c.set("n", n);
  c.set("k", k);
  return true;
}

// One tile or two, of leading dimensions that are copied in whole chunks of 16 bytes.
void choose_aligned_shape(Choices& choose, const TileSize& tile, Case& c) {
  c.set("m", choose.between(1, tile.m + 1));
  c.set("n", 8 * choose.between(1, tile.n / 8 + 1));
  c.set("k", 8 * choose.between(1, tile.k / 4));
}

// The same of rows and columns that end within a chunk, or one before the end of a tile: the gap
// after them makes the leading dimensions whole chunks. Of two tiles along an axis, the first is
// whole.
void choose_padded_shape(Choices& choose, const TileSize& tile, Case& c) {
  const std::int64_t gap = choose.one_in(2) ? 1 : choose.between(1, 7);
  const bool small = tile.m * tile.n <= 64 * 64;
  const auto size = [&](std::int64_t edge) {
    const std::int64_t most = small ? 2 * edge : edge + 8;
    return (choose.one_in(2) ? edge * (small && choose.one_in(2) ? 2 : 1)
                             : 8 * choose.between(1, most / 8)) -
           gap;
  };
  c.set("m", size(tile.m));
  c.set("n", size(tile.n));
  c.set("k", size(choose.one_in(2) ? tile.k : 2 * tile.k));
  c.set("layout", "gap:" + std::to_string(gap));
}

// Each tile, format and order of storage has code of its own: all are as likely, and one or two
// tiles show it.
void choose_instance(Choices& choose, const gpu::Kernel& kernel, Case& c) {
  const gpu::Parameter* parameter = find(kernel, "tile");
  const auto last = std::ssize(kernel.storage) - 1;
  c.set("tile", std::string(choose.word(parameter->words)));
  c.set("in",
        std::string(gpu::name(kernel.storage[static_cast<std::size_t>(choose.between(0, last))])));
  c.set("transpose", std::string(choose.word({"none", "a", "b", "ab"})));
  const TileSize tile = tile_of(kernel, c);
  if (choose.one_in(3)) return choose_padded_shape(choose, tile, c);
  choose_aligned_shape(choose, tile, c);
  if (choose.one_in(2)) c.set("m", 8 * choose.between(1, tile.m / 8 + 1));
  c.set("layout", "packed");
}

// A column or a row of many tiles, a tile of many blocks of k, several rounds of tiles of few or of
// several blocks of k.
bool choose_long_shape(Choices& choose, const TileSize& tile, Case& c) {
  std::int64_t m = choose.between(1, tile.m), n = choose.between(1, tile.n);
  std::int64_t k = choose.between(1, 2 * tile.k);
  const auto around = [&](std::int64_t edge, std::int64_t low, std::int64_t high) {
    return edge * choose.between(low, high) + choose.between(-1, 0);
  };
  switch (choose.between(0, 5)) {
    case 0:
      m = around(tile.m, 5, 12);
      if (choose.one_in(2)) n = choose.between(tile.n + 1, 2 * tile.n);
      break;
    case 1:
      n = around(tile.n, 5, 12);
      break;
    case 2:
      k = around(tile.k, 30, 40);
      break;
    case 3:
      m = around(tile.m, 3, 3);
      n = around(tile.n, 3, 3);
      k = around(tile.k, 2, 4);
      break;
    default: {
      std::int64_t& size = choose.one_in(2) ? m : n;
      size = around(&size == &m ? tile.m : tile.n, 7, 11);
      k = around(tile.k, 3, 4);
    }
  }
  if (ceiling(m, tile.m) * ceiling(n, tile.n) * ceiling(k, tile.k) > kLongWorkMost) return false;
  c.set("m", m);
  c.set("n", n);
  c.set("k", k);
  return true;
}

void choose_shape(Choices& choose, gpu::Backend backend, const TileSize& tile, Case& c) {
  const bool large = backend == gpu::Backend::cuda && choose.size() > 50 && choose.one_in(20);
  if (large && choose_large_shape(choose, c)) return;
  if (choose.one_in(8)) return choose_aligned_shape(choose, tile, c);
  if (choose.one_in(8) && choose_long_shape(choose, tile, c)) return;
  const double most = kWorkMost[static_cast<std::size_t>(backend)];
  const std::int64_t tiles = backend == gpu::Backend::cuda ? 2 + choose.size() / 10 : 3;
  std::int64_t m = choose_size(choose, tile.m, tiles);
  std::int64_t n = choose_size(choose, tile.n, tiles);
  std::int64_t k = choose_size(choose, tile.k, backend == gpu::Backend::cuda ? 4 * tiles : 7);
  // One long dimension: sums of many terms on cuda, many blocks of k to share on the host.
  if (choose.one_in(6)) k += tile.k * choose.between(4, backend == gpu::Backend::cuda ? 250 : 12);
  const auto work = [&] { return ceiling(m, tile.m) * ceiling(n, tile.n) * ceiling(k, tile.k); };
  while (work() > most && (k > tile.k || n > tile.n || m > tile.m)) {
    // What is left keeps its place beside a multiple of the tile.
    const auto halve = [](std::int64_t& size, std::int64_t edge) {
      size = size > edge ? (size / edge + 1) / 2 * edge + size % edge - edge * (size % edge > 0)
                         : size;
      size = std::max<std::int64_t>(size, 1);
    };
    const double rows = static_cast<double>(m) / static_cast<double>(tile.m);
    const double columns = static_cast<double>(n) / static_cast<double>(tile.n);
    const double depth = static_cast<double>(k) / static_cast<double>(tile.k);
    if (depth >= 2 * std::max(rows, columns) || std::max(rows, columns) <= 1) {
      halve(k, tile.k);
    } else if (rows > columns) {
      halve(m, tile.m);
    } else {
      halve(n, tile.n);
    }
  }
  c.set("m", m);
  c.set("n", n);
  c.set("k", k);
}

// Groups that leave a lower one at the end, where there are rows for it; others of any height.
std::int64_t choose_group(Choices& choose, std::int64_t rows) {
  if (choose.one_in(2)) return 1;
  if (rows >= 3 && choose.one_in(2)) return choose.between(2, rows - 1);
  return choose.between(2, choose.one_in(8) ? 64 : 5);
}

// Numbers of programs that leave 0, 1 or all but one of a wave of tiles, more programs than tiles
// or than blocks of k, or none to choose.
std::int64_t choose_programs(Choices& choose, std::int64_t tiles, std::int64_t iterations) {
  const auto wave = [&](std::int64_t count) {  // a divisor of count
    const std::int64_t programs = choose.between(1, std::max<std::int64_t>(1, count));
    for (std::int64_t p = programs; p > 1; --p) {
      if (count % p == 0) return p;
    }
    return std::max<std::int64_t>(1, count);
  };
  // More programs than a warp has lanes.
  if (iterations > 32 && choose.one_in(3)) return tiles * choose.between(33, iterations);
  switch (choose.between(0, 9)) {
    case 0:
      return 0;
    case 1:
      return wave(tiles);  // tiles mod P = 0
    case 2:
      return wave(tiles - 1);  // 1
    case 3:
      return wave(tiles + 1);  // P - 1
    case 4:
      return tiles + choose.between(1, 3);
    case 5:
      return tiles * iterations + choose.between(-1, 1);
    case 6:
      return choose.between(1, std::max<std::int64_t>(1, tiles * iterations));
    default:
      return choose.between(2, 7);
  }
}

// Numbers of programs that share more tiles than they are, all of them. Two thirds of the tiles are
// the fewest with which they are at work on a tile and on the one as many further on at once.
std::int64_t choose_programs_of_rounds(Choices& choose, std::int64_t tiles) {
  if (choose.one_in(2)) return choose.between(tiles / 2 + 1, tiles - 1);
  return choose.between(2 * tiles / 3, (2 * tiles + 2) / 3);
}

void choose_parameters(Choices& choose, const gpu::Kernel& kernel, gpu::Backend backend,
                       const TileSize& tile, Case& c) {
  MatmulSchedule schedule;
  schedule.m = c.integer("m");
  schedule.n = c.integer("n");
  schedule.k = c.integer("k");
  schedule.tile = tile;
  const auto set = [&](std::string_view field, std::int64_t value) {
    const gpu::Parameter* parameter = find(kernel, field);
    if (parameter == nullptr) return;
    std::int64_t high = parameter->high;
    if (parameter->resident) {
      high = std::min(high, backend == gpu::Backend::cuda ? 100 : c.integer("resident"));
    }
    c.set(field, std::clamp(value, parameter->low, high));
  };
  set("group", choose_group(choose, schedule.tile_rows()));
  const std::int64_t iterations = schedule.iterations();
  set("splits", choose.one_in(4) ? choose.between(1, 64) : choose.between(1, iterations + 1));
  // Now and then all tiles are shared, in two rounds.
  const std::int64_t tiles = schedule.tiles();
  const bool rounds = tiles >= 4 && choose.one_in(tiles >= 7 && iterations >= 3 ? 2 : 3);
  std::int64_t programs = rounds ? choose_programs_of_rounds(choose, tiles)
                                 : choose_programs(choose, tiles, iterations);
  // The host executor runs one block a program; all of them at once now and then, of rounds often.
  if (backend != gpu::Backend::cuda) {
    programs = std::min<std::int64_t>(programs, 40);
    const bool at_once = rounds ? !choose.one_in(3) : choose.one_in(6);
    if (at_once) c.set("resident", std::max(programs, c.integer("resident")));
  }
  set("programs", programs);
  set("two_tile", rounds || choose.one_in(3) ? 1 : 0);
}

}  // namespace

Case generate_matmul_case(const gpu::Kernel& kernel, gpu::Backend backend, const rc::Random& random,
                          int size) {
  Choices choose(random, size);
  Case c = make_case(kernel.operation, kernel.name);
  choose_tile(choose, kernel, backend, c);
  TileSize tile = tile_of(kernel, c);
  choose_shape(choose, backend, tile, c);
  const std::int64_t k = c.integer("k");
  const bool tiny = c.integer("m") <= tile.m && c.integer("n") <= tile.n && k <= 2 * tile.k;
  choose_common(choose, kernel, backend, tiny, c);
  tile = tile_of(kernel, c);  // of the format that was chosen
  c.set("transpose", choose.weighted<std::string>({{4, "none"}, {1, "a"}, {1, "b"}, {1, "ab"}}));
  if (c.text("order") != "exhaustive") {
    const gpu::Parameter* tiles = find(kernel, "tile");
    if (tiles != nullptr && choose.one_in(tiles->words.size() > 4 ? 4 : 12)) {
      choose_instance(choose, kernel, c);
      tile = tile_of(kernel, c);
    } else if (choose.one_in(10)) {
      choose_padded_shape(choose, tile, c);
    }
  }
  choose_parameters(choose, kernel, backend, tile, c);
  const Operation& operation = *find_operation(c.operation);
  if (!operation.validate(c).empty()) c.set("fill", "M4");  // fp32 numbers where none are taken
  choose_law(choose, c);
  return c;
}

}  // namespace halfulp::properties
