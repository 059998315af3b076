// From a matrix in global memory to a tile of it in shared memory, and from there to the fragments
// of a warp.
//
// A tile holds kMn rows of A (columns of B) by kK elements of k. It is kept the way the matrix
// lies: rows along k (kInnerK), or along m or n. Rows are cut into panels of at most 128 bytes, one
// panel after the other, and the 16-byte chunks of a row are exchanged so that the eight rows that
// ldmatrix reads at once lie in different banks:
//
//   chunk of (row, inner element i) = i / kWidth: panel, i % kWidth / kChunk ^ f(row): place
//
// Part of a kernel's translation unit, like access.hpp.
#pragma once
#include <cstdint>
#include <cstring>
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
  static constexpr int kWidth = kInner < 8 * kChunk ? kInner : 8 * kChunk;
  static constexpr int kRowChunks = kWidth / kChunk;
  static constexpr int kPanelChunks = kRows * kRowChunks;
  static constexpr int kBytes = kMn * kK * static_cast<int>(sizeof(T));
  // Elements of 4 bytes that lie along m or n are read one by one, four rows at a time.
  static constexpr bool kSingly = sizeof(T) == 4 && !kInnerK;
  static_assert(kInner % kWidth == 0 && (kRowChunks == 4 || kRowChunks == 8));

  __device__ static int place(int row, int chunk) {
    if constexpr (kSingly) return chunk ^ ((row & 3) << 1 & (kRowChunks - 1));
    if constexpr (kRowChunks == 8) return chunk ^ (row & 7);
    return chunk ^ (row >> 1 & 3);
  }
  // Bytes from the start of the tile to chunk `inner / kChunk` of a row.
  __device__ static int offset(int row, int inner) {
    const int panel = inner / kWidth;
    const int chunk = inner % kWidth / kChunk;
    return (panel * kPanelChunks + row * kRowChunks + place(row, chunk)) * 16;
  }
};

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

// A thread's share of the copies of one operand, from one block of k to the next. kAsync: 16 bytes
// at a time by cp.async, for aligned matrices whose inner axis is kInnerK's; otherwise element by
// element, any strides. What lies outside of the matrix or past k_end becomes zero, unread.
template <class T, int kMn, int kK, bool kInnerK, bool kAsync, int kThreads>
class MatmulCopier {
  using Layout = MatmulLayout<T, kMn, kK, kInnerK>;
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint16_t>;
  static constexpr int kSteps = Layout::kBytes / 16 / kThreads;
  static constexpr bool kSeveralPanels = kThreads > Layout::kPanelChunks;  // in one step
  static constexpr int kStepsPerPanel = kSeveralPanels ? 1 : Layout::kPanelChunks / kThreads;
  static constexpr int kPanelsPerStep = kSeveralPanels ? kThreads / Layout::kPanelChunks : 1;
  static constexpr int kRowsPerStep = kSeveralPanels ? 0 : kThreads / Layout::kRowChunks;
  static_assert(kSteps * kThreads * 16 == Layout::kBytes);
  static_assert(kSeveralPanels ? kThreads % Layout::kPanelChunks == 0
                               : Layout::kPanelChunks % kThreads == 0);
  static_assert(kRowsPerStep % 8 == 0, "a thread's chunks have one place in their rows");

 public:
  __device__ MatmulCopier(const MatmulSide& side, std::int64_t mn0, int k_begin, int k_end,
                          int thread)
      : stride_row_(kInnerK ? side.stride_mn : side.stride_k),
        stride_inner_(kInnerK ? side.stride_k : side.stride_mn),
        left_mn_(side.left_mn),
        left_k_(k_end - k_begin) {
    const int chunk = thread % Layout::kRowChunks;
    row_ = thread % Layout::kPanelChunks / Layout::kRowChunks;
    inner_ = thread / Layout::kPanelChunks * Layout::kWidth + chunk * Layout::kChunk;
    to_ = Layout::offset(row_, inner_);
    const std::int64_t origin = mn0 * side.stride_mn + k_begin * side.stride_k;
    from_ =
        static_cast<const Bits*>(side.data) + origin + row_ * stride_row_ + inner_ * stride_inner_;
  }

  // Copies the block of k to `tile` and moves on to the next; past the last one, zeros.
  __device__ void copy(unsigned char* tile) {
    SIMT_UNROLL
    for (int step = 0; step < kSteps; ++step) {
      const int row = step % kStepsPerPanel * kRowsPerStep;
      const int inner = step / kStepsPerPanel * kPanelsPerStep * Layout::kWidth;
      const int row_left = (kInnerK ? left_mn_ : left_k_) - row_ - row;
      const int inner_left = (kInnerK ? left_k_ : left_mn_) - inner_ - inner;
      const int count = row_left > 0 ? max(0, min(inner_left, Layout::kChunk)) : 0;
      const Bits* from = from_ + (row * stride_row_ + inner * stride_inner_);
      unsigned char* to = tile + to_ + step * kThreads * 16;
      if constexpr (kAsync) {
        simt::cp_async_16(to, from, count * static_cast<int>(sizeof(T)));
      } else {
        copy_elements(to, from, count);
      }
    }
    from_ += kK * (kInnerK ? stride_inner_ : stride_row_);
    left_k_ -= kK;
  }

 private:
  __device__ void copy_elements(unsigned char* to, const Bits* from, int count) const {
    Bits element[Layout::kChunk];
    SIMT_UNROLL
    for (int i = 0; i < Layout::kChunk; ++i) {
      element[i] = 0;
      if (i < count) element[i] = from[i * stride_inner_];
    }
    uint4 chunk;
    memcpy(&chunk, element, sizeof chunk);
    simt::store_vector(to, chunk);
  }

  const Bits* from_;
  std::int64_t stride_row_, stride_inner_;
  int to_, row_, inner_;
  int left_mn_, left_k_;
};

}  // namespace halfulp::gpu::HALFULP_BUILD
