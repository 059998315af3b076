// How a matmul kernel cuts its sums over k, from its launch parameters: the tiles of c, the programs
// of Stream-K, the splits of k. Worked out from the definition of the schedules, apart from what the
// kernels themselves compute.
#pragma once
#include <cstdint>
#include <string_view>

#include "gpu/numerics.hpp"
#include "gpu/problem.hpp"

namespace halfulp::properties {

// "128x64x32": rows and columns of c, and the block of k. Asserts that it is one.
struct TileSize {
  std::int64_t m = 1, n = 1, k = 1;
};
TileSize tile_size(std::string_view word);

struct MatmulSchedule {
  std::int64_t m = 0, n = 0, k = 0;
  TileSize tile;           // 1: the kernel has no tiles to choose
  std::int64_t group = 1;  // rows of tiles in a group of the tile order
  std::int64_t splits = 1;
  std::int64_t programs = 0;  // 0: as many blocks as can be resident
  bool two_tile = false;

  std::int64_t tiles() const;
  std::int64_t iterations() const;  // blocks of k of one tile
};
MatmulSchedule schedule_of(const gpu::Problem& problem);

// Upper bounds for any element of c.
struct PartialSums {
  std::int64_t most = 1;     // how many partial sums it is made of
  std::int64_t longest = 0;  // products in one of them; 0: all
};
PartialSums partial_sums(const gpu::Numerics& numerics, const MatmulSchedule& schedule);

}  // namespace halfulp::properties
