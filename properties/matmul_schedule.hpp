// How a matmul kernel cuts its sums over k, from its launch parameters: the tiles of c, the
// programs of Stream-K, the splits of k. Worked out from the definition of the schedules, apart
// from what the kernels themselves compute.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "gpu/numerics.hpp"
#include "gpu/problem.hpp"

namespace halfulp::properties {

// "128x64x64": rows and columns of c, and the block of k in elements of 16 bits; of 32 bits a block
// has at most 32. Asserts that it is one.
struct TileSize {
  std::int64_t m = 1, n = 1, k = 1;
};
TileSize tile_size(std::string_view word, gpu::Format storage);

struct MatmulSchedule {
  std::int64_t m = 0, n = 0, k = 0;
  TileSize tile;           // 1: the kernel has no tiles to choose
  std::int64_t group = 1;  // rows of tiles in a group of the tile order
  std::int64_t splits = 1;
  std::int64_t programs = 0;  // 0: as many blocks as can be resident
  bool two_tile = false;

  bool tiled() const { return tile.m > 1; }
  std::int64_t tile_rows() const;
  std::int64_t tile_columns() const;
  std::int64_t tiles() const { return tile_rows() * tile_columns(); }
  std::int64_t iterations() const;  // blocks of k of one tile
  // Place of a tile in the order: group by group, each down its columns.
  std::int64_t tile_index(std::int64_t row, std::int64_t column) const;
  // How many tiles, the first of the order, programs share evenly; the rest are whole. Programs are
  // 1 or more.
  std::int64_t shared_tiles() const;
};
MatmulSchedule schedule_of(const gpu::Problem& problem);

// The k that one program adds to a tile.
struct KShare {
  std::int64_t part = 0;  // the program
  std::int64_t begin = 0, end = 0;
};
// In order of k. Programs are 1 or more.
std::vector<KShare> program_shares(const MatmulSchedule& schedule, std::int64_t tile);

// Upper bounds for any element of c.
struct PartialSums {
  std::int64_t most = 1;     // how many partial sums it is made of
  std::int64_t longest = 0;  // products in one of them; 0: all
};
PartialSums partial_sums(const gpu::Numerics& numerics, const MatmulSchedule& schedule);

}  // namespace halfulp::properties
