// Partial sums of matmul schedules; see matmul_schedule.hpp.
#include "properties/matmul_schedule.hpp"

#include <algorithm>

#include "properties/assert.hpp"
#include "properties/spec.hpp"

namespace halfulp::properties {
namespace {

std::int64_t ratio_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Programs take contiguous ranges of full or full + 1 of the iterations of `shared` tiles. The
// other tiles have one sum each, over all of k.
PartialSums of_shared_tiles(const MatmulSchedule& schedule, std::int64_t shared) {
  const std::int64_t iterations = schedule.iterations();
  if (shared == 0) return {};
  const std::int64_t full = shared * iterations / schedule.programs;
  PartialSums sums;
  sums.most = std::min(iterations, schedule.programs);
  if (full > 0 && iterations > 1) {  // all but the first and the last lie within the tile
    sums.most = std::min(sums.most, (iterations - 2) / full + 2);
  }
  if (shared == schedule.tiles()) {
    sums.longest = std::min(iterations, full + 1) * schedule.tile.k;
  }
  return sums;
}

PartialSums of_programs(const MatmulSchedule& schedule) {
  const std::int64_t iterations = schedule.iterations();
  if (iterations <= 1) return {};
  // Any number of programs: at worst each iteration has its own.
  if (schedule.programs == 0) return {.most = iterations, .longest = 0};
  const std::int64_t rest = schedule.tiles() % schedule.programs;
  PartialSums sums = of_shared_tiles(schedule, rest);
  // A further round is shared where there is one: surely if more tiles than that remain.
  const std::int64_t more = rest + schedule.programs;
  if (!schedule.two_tile || schedule.tiles() < more) return sums;
  PartialSums shared = of_shared_tiles(schedule, more);
  if (schedule.tiles() > more) return shared;
  return {.most = std::max(sums.most, shared.most), .longest = 0};
}

}  // namespace

TileSize tile_size(std::string_view word, gpu::Format storage) {
  const auto sizes = split(word, 'x');
  HALFULP_ASSERT(sizes.size() == 3, "a tile is BMxBNxBK, not " + std::string(word));
  TileSize tile;
  tile.m = parse_integer(sizes[0]).value();
  tile.n = parse_integer(sizes[1]).value();
  tile.k = parse_integer(sizes[2]).value();
  if (gpu::size_bytes(storage) == 4) tile.k = std::min<std::int64_t>(tile.k, 32);
  HALFULP_ASSERT(tile.m > 0 && tile.n > 0 && tile.k > 0, "an empty tile: " + std::string(word));
  return tile;
}

std::int64_t MatmulSchedule::tile_rows() const { return ratio_up(m, tile.m); }

std::int64_t MatmulSchedule::tile_columns() const { return ratio_up(n, tile.n); }

std::int64_t MatmulSchedule::iterations() const { return ratio_up(k, tile.k); }

std::int64_t MatmulSchedule::tile_index(std::int64_t row, std::int64_t column) const {
  const std::int64_t first = row / group * group;
  const std::int64_t height = std::min(group, tile_rows() - first);
  return first * tile_columns() + column * height + row - first;
}

std::int64_t MatmulSchedule::shared_tiles() const {
  const std::int64_t rest = tiles() % programs;
  return rest + (two_tile && tiles() - rest >= programs ? programs : 0);
}

std::vector<KShare> program_shares(const MatmulSchedule& schedule, std::int64_t tile) {
  const std::int64_t shared = schedule.shared_tiles(), iterations = schedule.iterations();
  if (tile >= shared) return {{(tile - shared) % schedule.programs, 0, schedule.k}};
  const std::int64_t full = shared * iterations / schedule.programs;
  const std::int64_t longer = shared * iterations % schedule.programs;  // programs with one more
  std::vector<KShare> shares;
  const std::int64_t begin = tile * iterations, end = begin + iterations;
  const auto first_of = [&](std::int64_t program) {
    return program * full + std::min(program, longer);
  };
  std::int64_t program = begin < longer * (full + 1) ? begin / (full + 1)
                                                     : longer + (begin - longer * (full + 1)) /
                                                                    std::max<std::int64_t>(1, full);
  for (; program < schedule.programs && first_of(program) < end; ++program) {
    const std::int64_t from = std::max(begin, first_of(program)) - begin;
    const std::int64_t to = std::min(end, first_of(program + 1)) - begin;
    shares.push_back({program, from * schedule.tile.k, std::min(to * schedule.tile.k, schedule.k)});
  }
  return shares;
}

MatmulSchedule schedule_of(const gpu::Problem& problem) {
  const gpu::Operand& a = problem.operand("a");
  MatmulSchedule schedule;
  schedule.m = a.extent[0];
  schedule.k = a.extent[1];
  schedule.n = problem.operand("b").extent[1];
  for (const gpu::Setting& setting : problem.settings) {
    if (setting.name == "tile") schedule.tile = tile_size(setting.word, a.format);
    if (setting.name == "group") schedule.group = setting.value;
    if (setting.name == "splits") schedule.splits = setting.value;
    if (setting.name == "programs") schedule.programs = setting.value;
    if (setting.name == "two_tile") schedule.two_tile = setting.value != 0;
  }
  return schedule;
}

PartialSums partial_sums(const gpu::Numerics& numerics, const MatmulSchedule& schedule) {
  switch (numerics.partials) {
    case gpu::Partials::one:
      return {};
    case gpu::Partials::fixed:
      return {.most = std::max(1, numerics.partials_most), .longest = 0};
    case gpu::Partials::splits: {
      const std::int64_t iterations = std::max<std::int64_t>(1, schedule.iterations());
      PartialSums sums;
      sums.most = std::min(schedule.splits, iterations);
      sums.longest = ratio_up(iterations, schedule.splits) * schedule.tile.k;
      return sums;
    }
    case gpu::Partials::programs:
      return of_programs(schedule);
  }
  return {};
}

}  // namespace halfulp::properties
