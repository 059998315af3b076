#include "properties/fill.hpp"

#include <algorithm>
#include <deque>
#include <map>

#include "properties/assert.hpp"
#include "properties/layout.hpp"
#include "properties/spec.hpp"

namespace halfulp::properties {
namespace {

bool serves(const Fill& fill, std::string_view operation) {
  const auto names = split(fill.operations, '|');
  return std::find(names.begin(), names.end(), operation) != names.end();
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
  std::int64_t extent[4] = {1, 1, 1, 1};
  std::int64_t stride[4] = {0, 0, 0, 0};
  HALFULP_ASSERT(operand.extent.size() <= 4, "fills know four dimensions");
  // The second of four dimensions, heads, comes last here; three and fewer are taken in order.
  constexpr std::size_t kPlaceOfFour[] = {0, 3, 1, 2};
  for (std::size_t axis = 0; axis < operand.extent.size(); ++axis) {
    const std::size_t to = operand.extent.size() == 4 ? kPlaceOfFour[axis] : axis;
    extent[to] = operand.extent[axis];
    stride[to] = operand.stride[axis];
  }
  // A dimension of stride 0 holds one copy: visit it once.
  const bool empty = operand.count() == 0;
  for (std::size_t axis = 0; axis < 4; ++axis) {
    if (stride[axis] == 0) extent[axis] = empty ? 0 : 1;
  }
  for (std::int64_t head = 0; head < extent[3]; ++head) {
    for (std::int64_t i = 0; i < extent[0]; ++i) {
      for (std::int64_t j = 0; j < extent[1]; ++j) {
        for (std::int64_t k = 0; k < extent[2]; ++k) {
          const Place place{static_cast<std::uint64_t>(i + head * kHeadStep),
                            static_cast<std::uint64_t>(j), static_cast<std::uint64_t>(k)};
          put(operand, head * stride[3] + i * stride[0] + j * stride[1] + k * stride[2],
              fill.value(scene, quantity, place));
        }
      }
    }
  }
}

}  // namespace halfulp::properties
