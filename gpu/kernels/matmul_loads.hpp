// From a matrix in global memory to a tile of it in shared memory, and from there to the fragments
// of a warp.
//
// A tile holds kMn rows of A (columns of B) by kK elements of k. It is kept the way the matrix
// lies: rows along k (kInnerK), or along m or n. Rows are cut into panels of at most 128 bytes, and
// the 16-byte chunks of a panel's row are exchanged so that the eight rows that ldmatrix reads at
// once lie in different banks. Elements of 4 bytes along m or n are read one by one, eight of each
// of four rows at a time: their rows are whole, 32 bytes apart.
//
// Part of a kernel's translation unit, like access.hpp.
#pragma once
#include <cstdint>
#include <type_traits>

#include "gpu/kernels/matmul.hpp"
#include "gpu/simt/simt.cuh"

namespace halfulp::gpu::HALFULP_BUILD {

// Storage of tf32: the bits of a float, of which a tensor core ignores the lowest 13.
struct Tf32 {
  float value;
};

template <class T, int kMn, int kK, bool kInnerK>
struct MatmulLayout {
  static constexpr int kChunk = 16 / static_cast<int>(sizeof(T));  // elements
  static constexpr int kRows = kInnerK ? kMn : kK;
  static constexpr int kInner = kInnerK ? kK : kMn;
  static constexpr bool kSingly = sizeof(T) == 4 && !kInnerK;
  static constexpr int kWidth = kInner < 8 * kChunk ? kInner : 8 * kChunk;  // of a panel
  static constexpr int kRowChunks = kWidth / kChunk;
  static constexpr int kPanelChunks = kRows * kRowChunks;
  static constexpr int kPanels = kInner / kWidth;
  // From a row and from a panel to the next, in bytes.
  static constexpr int kRowPitch = kSingly ? kInner * 4 + 32 : kRowChunks * 16;
  static constexpr int kPanelPitch = kRows * kRowPitch;
  static constexpr int kBytes = (kSingly ? 1 : kPanels) * kPanelPitch;
  static_assert(kInner % kWidth == 0 && (kRowChunks == 4 || kRowChunks == 8));

  // Bytes from the start of the tile to chunk `inner / kChunk` of a row; kSingly: to element
  // `inner`.
  __device__ static int offset(int row, int inner) {
    if constexpr (kSingly) return row * kRowPitch + inner * 4;
    const auto at = static_cast<unsigned>(inner);  // division by shifts
    const int chunk = static_cast<int>(at % kWidth / kChunk);
    const int place = chunk ^ (kRowChunks == 8 ? row & 7 : row >> 1 & 3);
    return static_cast<int>(at / kWidth) * kPanelPitch + row * kRowPitch + place * 16;
  }
};
// Bytes that hold a tile in either layout.
template <class T, int kMn, int kK>
inline constexpr int kMatmulTileBytes =
    MatmulLayout<T, kMn, kK, true>::kBytes > MatmulLayout<T, kMn, kK, false>::kBytes
        ? MatmulLayout<T, kMn, kK, true>::kBytes
        : MatmulLayout<T, kMn, kK, false>::kBytes;

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
// aligned matrices that lie as kInnerK says. What lies outside of the matrix or past k_end becomes
// zero, unread.
template <class T, int kMn, int kK, bool kInnerK, int kThreads>
class MatmulCopier {
  using Layout = MatmulLayout<T, kMn, kK, kInnerK>;
  static constexpr int kSteps = Layout::kPanels * Layout::kPanelChunks / kThreads;
  static constexpr bool kSeveralPanels = kThreads > Layout::kPanelChunks;  // in one step
  static constexpr int kStepsPerPanel = kSeveralPanels ? 1 : Layout::kPanelChunks / kThreads;
  static constexpr int kPanelsPerStep = kSeveralPanels ? kThreads / Layout::kPanelChunks : 1;
  static constexpr int kRowsPerStep = kSeveralPanels ? 0 : kThreads / Layout::kRowChunks;
  static_assert(kSteps * kThreads == Layout::kPanels * Layout::kPanelChunks);
  static_assert(kSeveralPanels ? kThreads % Layout::kPanelChunks == 0
                               : Layout::kPanelChunks % kThreads == 0);
  static_assert(kRowsPerStep % 8 == 0, "a thread's chunks have one place in their rows");

 public:
  __device__ MatmulCopier(const MatmulSide& side, std::int64_t mn0, int k_begin, int k_end,
                          int thread)
      : stride_step_(kRowsPerStep * (kInnerK ? side.stride_mn : side.stride_k)),
        stride_block_(kInnerK ? kK : kK * side.stride_k),
        left_mn_(side.left_mn),
        left_k_(k_end - k_begin) {
    row_ = thread % Layout::kPanelChunks / Layout::kRowChunks;
    inner_ = thread / Layout::kPanelChunks * Layout::kWidth +
             thread % Layout::kRowChunks * Layout::kChunk;
    to_ = Layout::offset(row_, inner_);
    from_ = static_cast<const T*>(side.data) + mn0 * side.stride_mn + k_begin * side.stride_k +
            row_ * (kInnerK ? side.stride_mn : side.stride_k) + inner_;
  }

  // Copies the block of k to `tile` and moves on to the next; past the last one, zeros.
  __device__ void copy(unsigned char* tile) {
    const T* from = from_;
    SIMT_UNROLL
    for (int step = 0; step < kSteps; ++step) {
      const int row = step % kStepsPerPanel * kRowsPerStep;
      const int inner = step / kStepsPerPanel * kPanelsPerStep * Layout::kWidth;
      const int row_left = (kInnerK ? left_mn_ : left_k_) - row_ - row;
      const int inner_left = (kInnerK ? left_k_ : left_mn_) - inner_ - inner;
      const int count = row_left > 0 ? max(0, min(inner_left, Layout::kChunk)) : 0;
      simt::cp_async_16(tile + to_ + Layout::offset(row, inner), from,
                        count * static_cast<int>(sizeof(T)));
      from = (step + 1) % kStepsPerPanel != 0 ? from + stride_step_
                                              : from_ + (inner + kPanelsPerStep * Layout::kWidth);
    }
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
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint16_t>;
  using Layout = MatmulLayout<T, kMn, kK, true>;
  constexpr int kWarps = kThreads / 32;
  constexpr int kGroup = 4;
  static_assert(kMn % (kGroup * kWarps) == 0 && kK % (kGroup * kWarps) == 0 && kK % 32 == 0);
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
        if (row < rows_left && column < columns_left) {
          element[i] = from[row * stride_row + column * stride_column];
        }
      }
      SIMT_UNROLL
      for (int i = 0; i < kGroup; ++i) {
        const int row = row0 + i * kWarps;
        const int k = along_k ? column : row;
        auto* chunk = reinterpret_cast<Bits*>(tile + Layout::offset(along_k ? row : column, k));
        chunk[k % Layout::kChunk] = element[i];
      }
    }
  }
}

}  // namespace halfulp::gpu::HALFULP_BUILD
