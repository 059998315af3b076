// Sums, magnitudes and prefix ranges of a tile of a matrix product, over one block of k. Internal
// to reference/ops.
//
// The same values on every processor: products of operands of at most 24 bits are exact in double,
// and every element is summed in ascending k, whatever the width of the vectors.
#pragma once
#include <cstdint>

namespace halfulp::reference {

inline constexpr int kTileRows = 6;
inline constexpr int kTileColumns = 8;

struct alignas(64) Tile {
  double sum[kTileRows][kTileColumns] = {};
  double magnitude[kTileRows][kTileColumns] = {};
  double high[kTileRows][kTileColumns] = {};  // of the prefix sums, the empty one included
  double low[kTileRows][kTileColumns] = {};
};

// a (k, kTileRows) and b (k, kTileColumns), both packed; `ranges` false leaves high and low alone.
void accumulate(const double* a, const double* b, std::int64_t k, bool ranges, Tile& tile);

}  // namespace halfulp::reference
