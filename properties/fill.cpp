#include "properties/fill.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <utility>

#include "properties/assert.hpp"
#include "properties/layout.hpp"
#include "properties/number_row.hpp"
#include "properties/parallel.hpp"
#include "properties/spec.hpp"

namespace halfulp::properties {
namespace {

bool serves(const Fill& fill, std::string_view operation) {
  const auto names = split(fill.operations, '|');
  return std::find(names.begin(), names.end(), operation) != names.end();
}

using Coordinates = std::array<std::uint64_t, 3>;

// A line of an operand's elements: where it starts, as fills and as storage count.
struct Line {
  Coordinates first{};
  std::int64_t position = 0;
};

// All lines along one axis of the three that fills know; heads are part of i.
struct Lines {
  std::array<std::int64_t, 4> extent{1, 1, 1, 1};  // i, j, k, heads; 1 along `axis`
  std::array<std::int64_t, 4> stride{};
  std::size_t axis = 0;
  std::int64_t count = 0;
  std::int64_t length = 0;
  std::int64_t step = 0;  // in storage, from element to element of a line

  Line at(std::int64_t number) const {
    std::array<std::int64_t, 4> index{};
    Line line;
    for (const std::size_t dimension : {2, 1, 0, 3}) {
      index[dimension] = number % extent[dimension];
      number /= extent[dimension];
      line.position += index[dimension] * stride[dimension];
    }
    line.first = {static_cast<std::uint64_t>(index[0] + index[3] * kHeadStep),
                  static_cast<std::uint64_t>(index[1]), static_cast<std::uint64_t>(index[2])};
    return line;
  }
};

Lines lines_of(const gpu::Operand& operand) {
  HALFULP_ASSERT(operand.extent.size() <= 4, "fills know four dimensions");
  Lines lines;
  // The second of four dimensions, heads, comes last here; three and fewer are taken in order.
  constexpr std::size_t kPlaceOfFour[] = {0, 3, 1, 2};
  for (std::size_t axis = 0; axis < operand.extent.size(); ++axis) {
    const std::size_t to = operand.extent.size() == 4 ? kPlaceOfFour[axis] : axis;
    lines.stride[to] = operand.stride[axis];
    // A dimension of stride 0 holds one copy: visit it once.
    lines.extent[to] = operand.stride[axis] == 0 ? 1 : operand.extent[axis];
  }
  for (std::size_t axis = 1; axis < 3; ++axis) {  // neighbours in storage
    const bool closer =
        lines.stride[axis] <= lines.stride[lines.axis] || lines.extent[lines.axis] == 1;
    if (lines.extent[axis] > 1 && closer) lines.axis = axis;
  }
  lines.length = std::exchange(lines.extent[lines.axis], 1);
  lines.step = lines.stride[lines.axis];
  lines.count = operand.count() == 0 ? 0 : 1;
  for (const std::int64_t extent : lines.extent) lines.count *= extent;
  return lines;
}

struct Range {
  std::int64_t start = 0, end = 0;
};

template <class Value>
void fill_one_by_one(gpu::Operand& operand, const Lines& lines, const Line& line, Range range,
                     const Value& value) {
  Coordinates at = line.first;
  for (std::int64_t t = range.start; t < range.end; ++t) {
    at[lines.axis] = line.first[lines.axis] + static_cast<std::uint64_t>(t);
    put(operand, line.position + t * lines.step, value(Place{at[0], at[1], at[2]}));
  }
}

// The low bits of each number, `step` places apart.
template <class Stored>
void store(gpu::Operand& operand, std::int64_t position, std::int64_t step, const RowBits& bits,
           std::int64_t count) {
  const std::int64_t last = position + (count - 1) * step;
  const auto places = static_cast<std::int64_t>(operand.storage.size() / sizeof(Stored));
  HALFULP_ASSERT(position >= 0 && last < places, "outside the operand's storage");
  std::byte* to = operand.storage.data() + position * static_cast<std::int64_t>(sizeof(Stored));
  for (std::int64_t i = 0; i < count; ++i, to += step * static_cast<std::int64_t>(sizeof(Stored))) {
    const auto stored = static_cast<Stored>(bits[static_cast<std::size_t>(i)]);
    std::memcpy(to, &stored, sizeof(Stored));
  }
}

template <class Bits>
void fill_by_rows(gpu::Operand& operand, const Lines& lines, const Line& line, Range range,
                  const Bits& bits_from) {
  constexpr auto kAtOnce = static_cast<std::int64_t>(kDrawsAtOnce);
  Coordinates at = line.first;
  RowBits bits;
  for (std::int64_t t = range.start; t < range.end; t += kAtOnce) {
    at[lines.axis] = line.first[lines.axis] + static_cast<std::uint64_t>(t);
    bits_from(at, bits);
    const std::int64_t count = std::min(kAtOnce, range.end - t);
    const std::int64_t position = line.position + t * lines.step;
    if (gpu::size_bytes(operand.format) == 2) {
      store<std::uint16_t>(operand, position, lines.step, bits, count);
    } else {
      store<std::uint32_t>(operand, position, lines.step, bits, count);
    }
  }
}

}  // namespace

std::span<const Fill> fills() {
  static const std::vector<Fill> table = [] {
    std::vector<Fill> rows;
    for (const auto part : {general_fills(), vector_add_fills(), scatter_fills(), attention_fills(),
                            matmul_fills(), flash_fills()}) {
      rows.insert(rows.end(), part.begin(), part.end());
    }
    return rows;
  }();
  return table;
}

std::size_t fill_rank(std::string_view name) {
  const auto table = fills();
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (table[i].name == name) return i;
  }
  HALFULP_ASSERT(false, "no fill " + std::string(name));
  return 0;
}

const Fill& find_fill(std::string_view name) { return fills()[fill_rank(name)]; }

std::string_view fill_words(std::string_view operation) {
  static std::map<std::string, std::string, std::less<>> known;
  const auto found = known.find(operation);
  if (found != known.end()) return found->second;
  std::string words;
  for (const Fill& fill : fills()) {
    if (!serves(fill, operation)) continue;
    words += (words.empty() ? "" : "|") + std::string(fill.name);
  }
  return known.emplace(operation, words).first->second;
}

Scene make_scene(std::uint64_t seed, reference::Format format, const Graph* graph) {
  Scene scene;
  scene.seed = seed;
  scene.format = format;
  scene.graph = graph;
  if (graph != nullptr) {
    scene.in_degree = in_degree(*graph);
    scene.rank = rank_at_destination(*graph);
  }
  return scene;
}

void fill_operand(gpu::Operand& operand, const Fill& fill, const Scene& scene, Quantity quantity) {
  const Lines lines = lines_of(operand);
  if (lines.count == 0 || lines.length == 0) return;
  constexpr std::int64_t kShortLine = 8;  // takes less time one by one
  const bool by_rows = quantity != Quantity::scores && lines.length >= kShortLine;
  const NumberRow row = by_rows ? number_row(fill.name) : nullptr;
  constexpr std::int64_t kPiece = 4096;  // of a line: one line may be all there is
  constexpr std::int64_t kThreadNumbers = 1 << 17;
  const std::int64_t pieces = (lines.length + kPiece - 1) / kPiece;
  const std::int64_t least = 1 + kThreadNumbers / std::min(kPiece, lines.length);
  for_parts(lines.count * pieces, least, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t piece = first; piece < last; ++piece) {
      const Line line = lines.at(piece / pieces);
      const std::int64_t start = piece % pieces * kPiece;
      const std::int64_t end = std::min(start + kPiece, lines.length);
      if (row != nullptr) {
        fill_by_rows(operand, lines, line, {start, end}, [&](const Coordinates& at, RowBits& bits) {
          const auto stream = static_cast<std::uint32_t>(quantity);
          row(scene.format, draws_in_row(scene.seed, stream, at, lines.axis), bits);
        });
      } else {
        fill_one_by_one(operand, lines, line, {start, end},
                        [&](const Place& place) { return fill.value(scene, quantity, place); });
      }
    }
  });
}

}  // namespace halfulp::properties
