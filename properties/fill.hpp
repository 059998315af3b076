// Fills: named rules for the values of the inputs. Each is one row of a table, simplest first.
//
// An element's value depends on the seed, its operand and its coordinates alone (and, for probes,
// on the graph around it), so a smaller case keeps the values of the elements that it keeps. Fills
// named by a letter and a digit are exact probes: whatever the order of summation, a right kernel's
// answer is known to the bit or nearly so.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/problem.hpp"
#include "properties/graph.hpp"
#include "properties/philox.hpp"
#include "reference/format.hpp"

namespace halfulp::properties {

// What an operand means to a fill. Also its stream of random numbers: the values are part of every
// seed's meaning and never change.
enum class Quantity : std::uint32_t { x = 1, y, values, scores, q, k, v, e, a, b, mask };

// Everything that a fill may look at.
struct Scene {
  std::uint64_t seed = 1;
  reference::Format format = reference::Format::fp32;
  std::int64_t heads = 1;
  std::int64_t dim = 1;
  std::int64_t m = 0, n = 0, k = 0;     // matmul
  bool flash = false;                   // flash_attention, which also has:
  std::int64_t queries = 0, keys = 0;   //
  std::int64_t tile_keys = 1;           //   keys of one of the kernel's tiles
  int scale_exponent = 0;               //   2^this <= |scale| < 2^(this + 1)
  bool scale_negative = false;          //   larger products make smaller scores
  std::vector<Quantity> quantities;     // the problem's floating-point inputs, in order
  std::vector<std::int64_t> outer;      // the outermost extent of each
  const Graph* graph = nullptr;         // nullptr: vector_add, matmul
  std::vector<std::int32_t> in_degree;  // (nodes)
  std::vector<std::int32_t> rank;  // (edges): how many edges before this one enter the same node
};
Scene make_scene(std::uint64_t seed, reference::Format format, const Graph* graph);

// Coordinates of an element: (i, head, channel), (i, head), (i) or (row, column); of the four
// dimensions of flash_attention (batch + head * kHeadStep, row, channel).
struct Place {
  std::uint64_t i = 0, j = 0, k = 0;
};
inline constexpr std::int64_t kHeadStep = 1 << 20;

using FillValue = std::uint64_t (*)(const Scene&, Quantity, const Place&);

struct Fill {
  std::string_view name;
  std::string_view operations;  // "vector_add|graph_attention"
  bool probe = false;
  FillValue value = nullptr;
  std::string_view help;
};

std::span<const Fill> fills();
const Fill& find_fill(std::string_view name);  // asserts
std::size_t fill_rank(std::string_view name);  // position in the table: lower is simpler
// "ones|integers|..." for one operation's `fill` field; static storage.
std::string_view fill_words(std::string_view operation);

// Writes every element of a laid-out operand (fill_gaps first). On dimensions of stride 0 the
// coordinate is 0.
void fill_operand(gpu::Operand& operand, const Fill& fill, const Scene& scene, Quantity quantity);

inline Draw draw(const Scene& scene, Quantity quantity, const Place& place) {
  return {scene.seed, static_cast<std::uint32_t>(quantity), place.i, place.j, place.k};
}

// The rules themselves: fill_general.cpp, fill_vector_add.cpp, fill_scatter.cpp,
// fill_attention.cpp, fill_matmul.cpp, fill_flash.cpp.
std::span<const Fill> general_fills();
std::span<const Fill> vector_add_fills();
std::span<const Fill> scatter_fills();
std::span<const Fill> attention_fills();
std::span<const Fill> matmul_fills();
std::span<const Fill> flash_fills();

// What general fills of the same names are for matmul, where values are multiplied.
std::uint64_t matmul_wide(const Scene& scene, Quantity quantity, const Place& place);
std::uint64_t matmul_cancelling(const Scene& scene, Quantity quantity, const Place& place);
std::uint64_t matmul_subnormal(const Scene& scene, Quantity quantity, const Place& place);
std::uint64_t matmul_huge(const Scene& scene, Quantity quantity, const Place& place);
std::uint64_t matmul_special(const Scene& scene, Quantity quantity, const Place& place);
// And for flash_attention, whose sums are over keys.
std::uint64_t flash_wide(const Scene& scene, Quantity quantity, const Place& place);
std::uint64_t flash_cancelling(const Scene& scene, Quantity quantity, const Place& place);
std::uint64_t flash_huge(const Scene& scene, Quantity quantity, const Place& place);
std::uint64_t flash_special(const Scene& scene, Quantity quantity, const Place& place);

}  // namespace halfulp::properties
