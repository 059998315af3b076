// matmul: its arguments, shared by the launchers of every variant. C = A B for matrices (m, k),
// (k, n), (m, n); products of f16, bf16 and tf32 operands by tensor cores, of f32 by IEEE FMA, all
// added in fp32.
#pragma once
#include <array>
#include <cstddef>
#include <string_view>

#include "gpu/kernels/binding.hpp"

namespace halfulp::gpu {

// Element (i, j) lies i * stride[0] + j * stride[1] elements after data.
struct Matrix {
  void* data = nullptr;
  std::int64_t stride[2] = {0, 0};
  // The axis whose stride is 1, or -1.
  int inner = -1;
  // Along that axis, whole groups of 16 bytes that start at a multiple of 16 bytes are aligned.
  bool aligned = false;
};

struct Matmul {
  Format storage = Format::f32;  // f32, tf32, f16 or bf16; c is f32 where a and b are tf32
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  Matrix a, b;  // any strides of 0 and more
  Matrix c;     // the output: rows contiguous, stride[1] = 1
};

// Most rows, columns and elements of k: positions are 32 bits wide, a tile past the last included.
inline constexpr std::int64_t kMatmulSizeMost = INT32_MAX - 4096;

// Tiles that launchers can be asked for, by the index that is the value of the setting `tile`: rows
// and columns of C, and how many 16-bit elements along k are in shared memory at a time (of 32
// bits, at most 32).
struct MatmulTileSize {
  std::string_view word;
  int m = 0, n = 0, k = 0;
};
// Variants that share tiles take the first kMatmulTilesShared of them.
inline constexpr std::array kMatmulTileSizes{
    MatmulTileSize{"32x32x32", 32, 32, 32},     MatmulTileSize{"64x64x64", 64, 64, 64},
    MatmulTileSize{"128x128x64", 128, 128, 64}, MatmulTileSize{"256x128x64", 256, 128, 64},
    MatmulTileSize{"192x112x64", 192, 112, 64}, MatmulTileSize{"64x64x32", 64, 64, 32},
    MatmulTileSize{"128x128x32", 128, 128, 32}, MatmulTileSize{"128x256x32", 128, 256, 32},
};
inline constexpr int kMatmulTiles = static_cast<int>(kMatmulTileSizes.size());
inline constexpr int kMatmulTilesShared = 4;
inline constexpr std::int64_t kMatmulTileDefault = 2;
inline constexpr std::int64_t kMatmulGroupMost = 64;

// Elements along k of a tile in shared memory at a time, where its size names `k` of 16 bits.
constexpr int matmul_tile_k(int k, std::size_t element_bytes) {
  return element_bytes == 4 && k > 32 ? 32 : k;
}

// Fills `g` from operands a, b, c; the error names the argument that is wrong.
std::string bind(const Arguments& arguments, Matmul& g);

}  // namespace halfulp::gpu
