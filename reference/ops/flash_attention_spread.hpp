// Sums over the keys of weighted distances, for flash attention. Internal to reference/ops.
#pragma once
#include <cstdint>

#include "reference/ops/matmul_tile.hpp"

namespace halfulp::reference {

// Of one query and one panel of kTileColumns channels: spread[c] += sum over the keys of moved
// |v - mean[c]|, rounded_sum[c] += sum of rounded |v|. values (keys, kTileColumns).
struct Spread {
  double mean[kTileColumns] = {};
  double spread[kTileColumns] = {};
  double rounded[kTileColumns] = {};
};
void add_spread(const double* values, const double* moved, const double* rounded, std::int64_t keys,
                Spread& sums);

}  // namespace halfulp::reference
