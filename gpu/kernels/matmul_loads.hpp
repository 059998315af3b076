// From a matrix in global memory to a tile of it in shared memory, and from there to the fragments
// of a warp.
//
// A tile holds kMn rows of A (columns of B) by kK elements of k. It is kept the way the matrix
// lies: rows along k (kInnerK), or along m or n. The 16-byte chunks of a row are exchanged so that
// the eight rows that ldmatrix reads at once lie in different banks. Rows are not padded for that:
// cp.async would fetch the 32 bytes of a sector twice where they are not a multiple of 32 bytes
// from each other. Elements of 4 bytes along m or n are read one by one, eight of each of four rows
// at a time: their rows are 32 bytes apart.
//
// Part of a kernel's translation unit, like access.hpp.
#pragma once
#include <cstdint>

#include "gpu/kernels/access.hpp"
#include "gpu/kernels/matmul.hpp"
#include "gpu/simt/simt.cuh"

namespace halfulp::gpu::HALFULP_BUILD {

template <class T, int kMn, int kK, bool kInnerK>
struct MatmulLayout {
  static constexpr int kChunk = 16 / static_cast<int>(sizeof(T));  // elements
  static constexpr int kRows = kInnerK ? kMn : kK;
  static constexpr int kInner = kInnerK ? kK : kMn;
  static constexpr bool kSingly = sizeof(T) == 4 && !kInnerK;
  static constexpr int kRowChunks = kInner / kChunk;
  static constexpr int kRowPitch = kRowChunks * 16 + (kSingly ? 32 : 0);  // bytes
  static constexpr int kBytes = kRows * kRowPitch;
  static_assert(kInner % kChunk == 0 && kRowChunks % 2 == 0);

  // Bytes from the start of the tile to chunk `inner / kChunk` of a row; kSingly: to element
  // `inner`.
  __device__ static int offset(int row, int inner) {
    if constexpr (kSingly) return row * kRowPitch + inner * 4;
    return row * kRowPitch + (inner / kChunk ^ exchange(row)) * 16;
  }

 private:
  // Rows 8 apart have the same: 8 rows of the same chunk are in 8 places modulo 128 bytes.
  __device__ static int exchange(int row) {
    if constexpr (kRowChunks % 8 == 0) return row & 7;
    if constexpr (kRowChunks % 4 == 0) return row >> 1 & 3;
    return row >> 2 & 1;
  }
};
// Bytes that hold a tile in either layout.
template <class T, int kMn, int kK>
inline constexpr int kMatmulTileBytes =
    MatmulLayout<T, kMn, kK, true>::kBytes > MatmulLayout<T, kMn, kK, false>::kBytes
        ? MatmulLayout<T, kMn, kK, true>::kBytes
        : MatmulLayout<T, kMn, kK, false>::kBytes;

// The least power of two that is not less.
__host__ __device__ constexpr int matmul_power_of_two(int least) {
  int power = 1;
  while (power < least) power *= 2;
  return power;
}

// One operand's tile, seen along m (A) or n (B).
struct MatmulSide {
  const void* data = nullptr;
  std::int64_t stride_mn = 0;
  std::int64_t stride_k = 0;
  int left_mn = 0;  // rows or columns from the tile's first to the end of the matrix
};
__device__ inline MatmulSide side_a(const Matmul& g, std::int64_t row0) {
  return {g.a.data, g.a.stride[0], g.a.stride[1], static_cast<int>(g.m - row0)};
}
__device__ inline MatmulSide side_b(const Matmul& g, std::int64_t column0) {
  return {g.b.data, g.b.stride[1], g.b.stride[0], static_cast<int>(g.n - column0)};
}

// A thread's share of the copies of one operand by cp.async, from one block of k to the next: for
// aligned matrices that lie as kInnerK says, where no chunk of 16 bytes is partly outside: copies
// of fewer bytes cost many instructions. Chunks outside of the matrix or past k_end become zero,
// unread.
template <class T, int kMn, int kK, bool kInnerK, int kThreads>
class MatmulCopier {
  using Layout = MatmulLayout<T, kMn, kK, kInnerK>;
  static constexpr int kLanes = matmul_power_of_two(Layout::kRowChunks);  // of a row; not all copy
  static constexpr int kRowsPerStep = kThreads / kLanes;
  static constexpr int kSteps = (Layout::kRows + kRowsPerStep - 1) / kRowsPerStep;
  static_assert(kThreads % kLanes == 0);
  static_assert(Layout::kSingly || kRowsPerStep % 8 == 0, "a thread has one place in its rows");

 public:
  __device__ MatmulCopier(const MatmulSide& side, std::int64_t mn0, int k_begin, int k_end,
                          int thread)
      : stride_step_(kRowsPerStep * (kInnerK ? side.stride_mn : side.stride_k)),
        stride_block_(kInnerK ? kK : kK * side.stride_k),
        left_mn_(side.left_mn),
        left_k_(k_end - k_begin) {
    row_ = thread / kLanes;
    inner_ = thread % kLanes * Layout::kChunk;
    to_ = Layout::offset(row_, inner_);
    from_ = static_cast<const T*>(side.data) + mn0 * side.stride_mn + k_begin * side.stride_k +
            row_ * (kInnerK ? side.stride_mn : side.stride_k) + inner_;
  }

  // Copies part `part` of kParts of the block of k to `tile`.
  template <int kParts>
  __device__ void copy(unsigned char* tile, int part) const {
    const bool inside = inner_ < (kInnerK ? left_k_ : left_mn_);
    const int row_left = (kInnerK ? left_mn_ : left_k_) - row_;
    if (kLanes != Layout::kRowChunks && inner_ >= Layout::kInner) return;
    SIMT_UNROLL
    for (int step = 0; step < kSteps; ++step) {
      const int row = step * kRowsPerStep;
      if (step * kParts / kSteps != part) continue;
      if (row + kRowsPerStep > Layout::kRows && row_ + row >= Layout::kRows) continue;
      simt::cp_async_16(tile + to_ + row * Layout::kRowPitch, from_ + step * stride_step_,
                        inside && row < row_left ? 16 : 0);
    }
  }

  // Moves on to the next block of k; past the last one, copies are zeros.
  __device__ void next() {
    from_ += stride_block_;
    left_k_ -= kK;
  }

 private:
  const T* from_;
  std::int64_t stride_step_, stride_block_;
  int to_, row_, inner_;
  int left_mn_, left_k_;
};

// The same for matrices of any strides, one block of k by all threads, element by element. They lie
// in the tile with rows along k; along_k: a warp's lanes take neighbours along k, else along m or
// n. kGroup elements of a thread are under way at a time.
template <class T, int kMn, int kK, int kThreads>
__device__ inline void matmul_copy_elements(const MatmulSide& side, bool along_k, std::int64_t mn0,
                                            std::int64_t k0, int left_k, unsigned char* tile) {
  using Bits = BitsOf<T>;
  using Layout = MatmulLayout<T, kMn, kK, true>;
  constexpr int kWarps = kThreads / 32;
  constexpr int kGroup = 4;
  const Bits* from =
      static_cast<const Bits*>(side.data) + mn0 * side.stride_mn + k0 * side.stride_k;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int rows = along_k ? kMn : kK;
  const int columns = along_k ? kK : kMn;
  const std::int64_t stride_row = along_k ? side.stride_mn : side.stride_k;
  const std::int64_t stride_column = along_k ? side.stride_k : side.stride_mn;
  const int rows_left = along_k ? side.left_mn : left_k;
  const int columns_left = along_k ? left_k : side.left_mn;
#pragma unroll 1
  for (int column = lane; column < columns; column += 32) {
#pragma unroll 1
    for (int row0 = warp; row0 < rows; row0 += kGroup * kWarps) {
      Bits element[kGroup];
      SIMT_UNROLL
      for (int i = 0; i < kGroup; ++i) {
        const int row = row0 + i * kWarps;
        element[i] = 0;
        if (row < rows && row < rows_left && column < columns_left) {
          element[i] = from[row * stride_row + column * stride_column];
        }
      }
      SIMT_UNROLL
      for (int i = 0; i < kGroup; ++i) {
        const int row = row0 + i * kWarps;
        if (row >= rows) continue;
        const int k = along_k ? column : row;
        auto* chunk = reinterpret_cast<Bits*>(tile + Layout::offset(along_k ? row : column, k));
        chunk[k % Layout::kChunk] = element[i];
      }
    }
  }
}

}  // namespace halfulp::gpu::HALFULP_BUILD
