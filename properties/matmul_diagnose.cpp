// Tiles, programs and lost k of wrong elements; see matmul_diagnose.hpp.
#include "properties/matmul_diagnose.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "properties/matmul_schedule.hpp"
#include "properties/translate.hpp"
#include "reference/ops/matmul_residual.hpp"

namespace halfulp::properties {
namespace {

constexpr std::int64_t kSharesShown = 6;
constexpr double kWorkMost = 4e9;  // products of the residual's projection

std::string range_text(std::int64_t begin, std::int64_t end) {
  return end - begin == 1 ? fmt::format("k {}", begin) : fmt::format("k {} to {}", begin, end - 1);
}

std::string shares_text(std::string_view what, const std::vector<KShare>& shares) {
  std::string text;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (i == kSharesShown) return text + fmt::format(", ... {} more", shares.size() - i);
    text += fmt::format("{}{} {} ({})", i == 0 ? "" : ", ", what, shares[i].part,
                        range_text(shares[i].begin, shares[i].end));
  }
  return text;
}

std::string parts_text(const gpu::Numerics& numerics, const MatmulSchedule& schedule,
                       std::int64_t tile) {
  if (schedule.k == 0) return {};
  switch (numerics.partials) {
    case gpu::Partials::programs: {
      if (schedule.programs == 0) return "; as many programs as can be resident share the work";
      const auto shares = program_shares(schedule, tile);
      const std::string_view how = shares.size() == 1 ? "; computed by " : "; shared by ";
      return std::string(how) + shares_text("program", shares);
    }
    case gpu::Partials::splits:
      return fmt::format("; k in at most {} parts of at most {}",
                         partial_sums(numerics, schedule).most,
                         partial_sums(numerics, schedule).longest);
    default:
      return {};
  }
}

// Of the elements of the tile, or of the whole output where there are no tiles.
std::string residual_text(const gpu::Problem& problem, const reference::Matmul& op,
                          const std::vector<std::byte>& c, const reference::Window& tile) {
  const double work = static_cast<double>(tile.rows) * static_cast<double>(tile.columns) *
                      static_cast<double>(op.k);
  if (op.k == 0 || work > kWorkMost) return {};
  const gpu::Operand& operand = problem.operand("c");
  reference::View output = view(operand);
  output.data = c.data() + (tile.first_row * operand.stride[0] + tile.first_column) *
                               gpu::size_bytes(operand.format);
  output.extent[0] = tile.rows;
  output.extent[1] = tile.columns;
  const reference::Matmul part = reference::window(op, tile);
  const auto found = reference::project(part, reference::residual_of(part, output));
  const auto what = [](double weight) { return weight < 0 ? "left out" : "added once too often"; };
  if (found.names_range()) {
    return fmt::format("its tile looks as if {} were {} ({:.0f}% of the error)",
                       range_text(found.first, found.last), what(found.range_weight),
                       100 * found.range_explained);
  }
  if (!found.names_k()) return {};
  return fmt::format("its tile looks as if k {} were {} (weight {:.2f}, {:.0f}% of the error)",
                     found.k, what(found.weight), found.weight, 100 * found.explained);
}

}  // namespace

std::vector<std::string> matmul_diagnosis(const gpu::Problem& problem,
                                          const gpu::Numerics& numerics,
                                          const reference::Matmul& op,
                                          const std::vector<std::byte>& c,
                                          reference::Element element) {
  const MatmulSchedule schedule = schedule_of(problem);
  const std::int64_t row = element.index / schedule.n, column = element.index % schedule.n;
  std::vector<std::string> lines;
  reference::Window window{0, 0, schedule.m, schedule.n};
  if (schedule.tiled()) {
    const TileSize& size = schedule.tile;
    const std::int64_t tile_row = row / size.m, tile_column = column / size.n;
    const std::int64_t tile = schedule.tile_index(tile_row, tile_column);
    lines.push_back(fmt::format(
        "c[{},{}] is in tile ({}, {}) of {} x {}, number {}{}", row, column, tile_row, tile_column,
        schedule.tile_rows(), schedule.tile_columns(), tile, parts_text(numerics, schedule, tile)));
    window = {tile_row * size.m, tile_column * size.n,
              std::min(size.m, schedule.m - tile_row * size.m),
              std::min(size.n, schedule.n - tile_column * size.n)};
  }
  std::string residual = residual_text(problem, op, c, window);
  if (!residual.empty()) lines.push_back(std::move(residual));
  return lines;
}

}  // namespace halfulp::properties
