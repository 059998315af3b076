// One mma.sync at once: 16 x 8 outputs of the model in tensor_core.hpp, bit for bit, many times as
// fast as one output after another.
//
//   TileFactors factors = ...;            // the warp's fragments, in matrix order
//   float d[16][8] = ...;                 // the accumulator, then the result
//   multiply_add_tile(core, FactorFormat::f16, factors, d);
#pragma once
#include <cstdint>

#include "gpu/simt/tensor_core.hpp"

namespace halfulp::gpu::simt {

inline constexpr int kTileRows = 16;
inline constexpr int kTileColumns = 8;
inline constexpr int kTileDepth = 16;  // f16 and bf16; tf32 uses the first 8

// Element bits as `decode` takes them.
struct TileFactors {
  std::uint32_t a[kTileRows][kTileDepth];     // a[m][k]
  std::uint32_t b[kTileDepth][kTileColumns];  // b[k][n]
};

// d += a b.
void multiply_add_tile(const TensorCore& core, FactorFormat format, const TileFactors& factors,
                       float (&d)[kTileRows][kTileColumns]);

}  // namespace halfulp::gpu::simt
