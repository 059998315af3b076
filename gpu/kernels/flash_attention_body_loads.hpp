// From q, k, v and an additive mask in global memory to tiles of them in shared memory.
//
// Rows of a tile have kWidth channels and lie 16 bytes further apart than these need, so that the
// eight rows that ldmatrix reads at once lie in different banks. Channels from dim on and rows past
// the last are zeros, and are not read.
//
// Part of a kernel's translation unit, like access.hpp.
#pragma once
#include <cstdint>

#include "gpu/kernels/flash_attention_access.hpp"
#include "gpu/simt/simt.cuh"

namespace halfulp::gpu::HALFULP_BUILD {

template <class T, int kWidth>
struct FlashRows {
  static constexpr int kChunk = 16 / static_cast<int>(sizeof(T));  // elements
  static constexpr int kRowChunks = kWidth / kChunk;
  static constexpr int kPitch = (kRowChunks + 1) * 16;
  static_assert(kWidth % kChunk == 0 && kRowChunks % 8 == 0);

  // Bytes from the start of the tile to a chunk of a row.
  __device__ static constexpr int offset(int row, int chunk) { return row * kPitch + chunk * 16; }
};

// The thread's share of copies of rows of one head, in which all threads of the block take part.
// kBatch: copies that are issued without a test in between, as many as each thread has or fewer.
template <class T, int kWidth, int kBatch>
class FlashCopier {
  using Rows = FlashRows<T, kWidth>;
  using Bits = BitsOf<T>;

 public:
  // blockDim.x is a multiple of kRowChunks.
  __device__ FlashCopier(const HeadRows& rows, const FlashHead& head, std::int64_t dim)
      : stride_(rows.stride[2]), dim_(static_cast<int>(dim)), aligned_(rows.aligned) {
    const int row = static_cast<int>(threadIdx.x) / Rows::kRowChunks;
    const int chunk = static_cast<int>(threadIdx.x) % Rows::kRowChunks;
    from_ = row_of<const Bits>(rows, head, row) + chunk * Rows::kChunk;
    to_ = Rows::offset(row, chunk);
  }

  // Rows row0 ... row0 + count - 1, of which `left` exist, and channels from channel0 on.
  // Aligned rows go by cp.async, without a commit.
  __device__ void copy(unsigned char* tile, std::int64_t row0, int count, int left,
                       int channel0) const {
    const Bits* from = from_ + (row0 * stride_ + channel0);
    const int step = static_cast<int>(blockDim.x) / Rows::kRowChunks;
    const std::int64_t stride = step * stride_;
    unsigned char* to = tile + to_;
    if (aligned_ && left >= count && dim_ - channel0 >= kWidth) {
#pragma unroll 1
      for (int row = 0; row < count; row += kBatch * step) {
        SIMT_UNROLL
        for (int i = 0; i < kBatch; ++i) {
          simt::cp_async_16(to, from);
          from += stride;
          to += step * Rows::kPitch;
        }
      }
      return;
    }
    const int chunk = static_cast<int>(threadIdx.x) % Rows::kRowChunks;
    const int existing = max(0, min(dim_ - channel0 - chunk * Rows::kChunk, Rows::kChunk));
#pragma unroll 1
    for (int row = static_cast<int>(threadIdx.x) / Rows::kRowChunks; row < count; row += step) {
      const int elements = row < left ? existing : 0;
      if (aligned_) {
        simt::cp_async_16(to, from, elements * static_cast<int>(sizeof(T)));
      } else {
        copy_elements(to, from, elements);
      }
      from += stride;
      to += step * Rows::kPitch;
    }
  }

 private:
  // One element after another: rows of any alignment.
  __device__ static void copy_elements(unsigned char* to, const Bits* from, int existing) {
    Bits element[Rows::kChunk];
    SIMT_UNROLL
    for (int i = 0; i < Rows::kChunk; ++i) {
      element[i] = 0;
      if (i < existing) element[i] = from[i];
    }
    uint4 bits;
    memcpy(&bits, element, sizeof bits);
    simt::store_vector(to, bits);
  }

  const Bits* from_;  // the thread's first chunk in row 0
  std::int64_t stride_;
  int to_;
  int dim_;
  bool aligned_;
};

// An additive mask's part for the rows of one warp and kKeys keys, in its own format, in shared
// memory that this warp alone uses. Rows lie kPad elements apart from each other, so that the eight
// rows that a warp reads at once lie in different banks.
template <class T, int kRows, int kKeys>
class FlashMaskTile {
  static constexpr int kPad = 8;

 public:
  static constexpr int kBytes = kRows * (kKeys + kPad) * 4;

  // `rows` of the warp's rows exist. What follows from g is not kept: registers are scarce.
  __device__ FlashMaskTile(const FlashAttention& g, const FlashHead& head, std::int64_t row0,
                           int rows, unsigned char* tile)
      : g_(g), tile_(tile), rows_(rows) {
    first_ = head.batch * mask().stride[0] + head.head * mask().stride[1] + row0 * mask().stride[2];
  }

  // Keys key0 ... key0 + kKeys - 1; those past the last are not read and get zeros. By cp.async,
  // without a commit, where the mask is aligned.
  __device__ void copy(std::int64_t key0) const {
    const int keys = static_cast<int>(min(g_.keys - key0, std::int64_t{kKeys}));
    const std::int64_t first = first_ + key0 * mask().stride[3];
    if (aligned()) {
      copy_chunks(first, keys);
    } else if (single()) {
      copy_elements<std::uint32_t>(first, keys);
    } else {
      copy_elements<BitsOf<T>>(first, keys);
    }
  }

  // Those of keys `key` and key + 1 of the tile, `key` even, to the warp's row `row`.
  template <class Element>
  __device__ float2 pair(int row, int key) const {
    const auto* at = reinterpret_cast<const Element*>(tile_) + row * (kKeys + kPad) + key;
    if constexpr (sizeof(Element) == 4) {
      return simt::load_vector<float2>(at);
    } else {
      const unsigned bits = *reinterpret_cast<const unsigned*>(at);
      Element elements[2];
      memcpy(elements, &bits, sizeof bits);
      return make_float2(to_float(elements[0]), to_float(elements[1]));
    }
  }
  __device__ bool single() const { return mask().format == Format::f32; }

 private:
  __device__ const AdditiveMask& mask() const { return g_.additive; }
  __device__ int element_bytes() const { return single() ? 4 : static_cast<int>(sizeof(T)); }
  __device__ bool aligned() const {
    const auto& stride = mask().stride;
    return aligned16(mask().data) && stride[3] == 1 &&
           (stride[0] | stride[1] | stride[2]) * element_bytes() % 16 == 0;
  }

  __device__ void copy_chunks(std::int64_t first, int keys) const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int size = element_bytes();
    const int row_chunks = kKeys * size / 16;
    const int step = 32 / row_chunks;
    const int chunk = lane % row_chunks;
    const int pitch = (kKeys + kPad) * size;
    const auto* data = static_cast<const unsigned char*>(mask().data);
    const int bytes = max(0, min(16, keys * size - chunk * 16));
    int row = lane / row_chunks;
    const unsigned char* from = data + (first + row * mask().stride[2]) * size + chunk * 16;
    unsigned char* to = tile_ + row * pitch + chunk * 16;
    const std::int64_t stride = step * mask().stride[2] * size;
    if (keys == kKeys && rows_ >= kRows) {
#pragma unroll 4
      for (; row < kRows; row += step, from += stride, to += step * pitch) {
        simt::cp_async_16(to, from);
      }
    } else {
#pragma unroll 1
      for (; row < kRows; row += step, from += stride, to += step * pitch) {
        simt::cp_async_16(to, from, row < rows_ ? bytes : 0);
      }
    }
  }

  template <class Bits>
  __device__ void copy_elements(std::int64_t first, int keys) const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const auto* from = static_cast<const Bits*>(mask().data) + first;
    auto* to = reinterpret_cast<Bits*>(tile_);
#pragma unroll 4
    for (int i = lane; i < kRows * kKeys; i += 32) {
      const int row = i / kKeys;
      const int key = i % kKeys;
      const bool exists = row < rows_ && key < keys;
      to[row * (kKeys + kPad) + key] =
          exists ? from[row * mask().stride[2] + key * mask().stride[3]] : Bits{0};
    }
  }

  const FlashAttention& g_;
  unsigned char* tile_;
  std::int64_t first_;
  int rows_;
};

}  // namespace halfulp::gpu::HALFULP_BUILD
