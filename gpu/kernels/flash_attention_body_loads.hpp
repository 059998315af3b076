// From q, k, v and an additive mask in global memory to tiles of them in shared memory.
//
// Rows of a tile have kWidth channels, a multiple of 128 bytes; the 16-byte chunks of each 128
// bytes are exchanged so that the eight rows that ldmatrix reads at once lie in different banks.
// Channels from dim on and rows past the last are zeros, and are not read.
//
// Part of a kernel's translation unit, like access.hpp.
#pragma once
#include <cstdint>
#include <type_traits>

#include "gpu/kernels/flash_attention_access.hpp"
#include "gpu/simt/simt.cuh"

namespace halfulp::gpu::HALFULP_BUILD {

// Storage of tf32: the bits of a float, of which a tensor core ignores the lowest 13.
struct Tf32 {
  float value;
};

// Two neighbours at once, at an address that is a multiple of their size.
__device__ inline void flash_store_pair(float* to, float x, float y) {
  simt::store_vector(to, make_float2(x, y));
}
template <class T>
__device__ inline void flash_store_pair(T* to, float x, float y) {
  const T pair[2] = {from_float<T>(x), from_float<T>(y)};
  unsigned bits;
  memcpy(&bits, pair, sizeof bits);
  *reinterpret_cast<unsigned*>(to) = bits;
}

// The type that holds bits of an element in memory.
template <class T>
using FlashBits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint16_t>;

template <class T, int kWidth>
struct FlashRows {
  static constexpr int kChunk = 16 / static_cast<int>(sizeof(T));  // elements
  static constexpr int kRowChunks = kWidth / kChunk;
  static constexpr int kRowBytes = kRowChunks * 16;
  static_assert(kWidth % kChunk == 0 && kRowChunks % 8 == 0);

  // Bytes from the start of the tile to a chunk of a row.
  __device__ static int offset(int row, int chunk) {
    return row * kRowBytes + (chunk ^ (row & 7)) * 16;
  }
};

// The thread's share of copies of rows of one head, all of whose threads take part.
template <class T, int kWidth>
class FlashCopier {
  using Rows = FlashRows<T, kWidth>;
  using Bits = FlashBits<T>;

 public:
  // blockDim.x is a multiple of kRowChunks.
  __device__ FlashCopier(const HeadRows& rows, const FlashHead& head, int dim)
      : head_(row_of<const Bits>(rows, head, 0)),
        stride_(rows.stride[2]),
        dim_(dim),
        aligned_(rows.aligned) {}

  // Rows row0 ... row0 + count - 1, of which `left` exist, and channels from channel0 on.
  // Aligned rows go by cp.async, without a commit.
  __device__ void copy(unsigned char* tile, std::int64_t row0, int count, int left,
                       int channel0) const {
    const int thread = static_cast<int>(threadIdx.x);
    const int chunk = thread % Rows::kRowChunks;
    const int step = static_cast<int>(blockDim.x) / Rows::kRowChunks;
    const int channel = channel0 + chunk * Rows::kChunk;
    const int channels = max(0, min(dim_ - channel, Rows::kChunk));
    int row = thread / Rows::kRowChunks;
    const Bits* from = head_ + (row0 + row) * stride_ + channel;
#pragma unroll 4
    for (; row < count; row += step) {
      unsigned char* to = tile + Rows::offset(row, chunk);
      const int existing = row < left ? channels : 0;
      if (aligned_) {
        simt::cp_async_16(to, from, existing * static_cast<int>(sizeof(T)));
      } else {
        copy_elements(to, from, existing);
      }
      from += step * stride_;
    }
  }

 private:
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

  const Bits* head_;
  std::int64_t stride_;
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

  // `rows` of the warp's rows exist.
  __device__ FlashMaskTile(const FlashAttention& g, const FlashHead& head, std::int64_t row0,
                           int rows, unsigned char* tile)
      : tile_(tile), g_(g.additive), rows_(max(0, min(rows, kRows))), keys_(g.keys) {
    size_ = g_.format == Format::f32 ? 4 : static_cast<int>(sizeof(T));
    first_ = head.batch * g_.stride[0] + head.head * g_.stride[1] + row0 * g_.stride[2];
    const auto multiple = [this](std::int64_t elements) { return elements * size_ % 16 == 0; };
    aligned_ = aligned16(g_.data) && multiple(g_.stride[0]) && multiple(g_.stride[1]) &&
               multiple(g_.stride[2]) && g_.stride[3] == 1;
  }

  // Keys key0 ... key0 + kKeys - 1; those past the last are not read and get zeros. By cp.async,
  // without a commit, where the mask is aligned.
  __device__ void copy(std::int64_t key0) const {
    const int keys = static_cast<int>(min(keys_ - key0, std::int64_t{kKeys}));
    const std::int64_t first = first_ + key0 * g_.stride[3];
    if (aligned_) {
      copy_chunks(first, keys);
    } else if (size_ == 4) {
      copy_elements<std::uint32_t>(first, keys);
    } else {
      copy_elements<FlashBits<T>>(first, keys);
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
  __device__ bool single() const { return size_ == 4; }

 private:
  __device__ void copy_chunks(std::int64_t first, int keys) const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int row_chunks = kKeys * size_ / 16;
    const int step = 32 / row_chunks;
    const int chunk = lane % row_chunks;
    const auto* data = static_cast<const unsigned char*>(g_.data);
    const int bytes = max(0, min(16, keys * size_ - chunk * 16));
#pragma unroll 4
    for (int row = lane / row_chunks; row < kRows; row += step) {
      const unsigned char* from = data + (first + row * g_.stride[2]) * size_ + chunk * 16;
      simt::cp_async_16(tile_ + row * (kKeys + kPad) * size_ + chunk * 16, from,
                        row < rows_ ? bytes : 0);
    }
  }

  template <class Bits>
  __device__ void copy_elements(std::int64_t first, int keys) const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const auto* from = static_cast<const Bits*>(g_.data) + first;
    auto* to = reinterpret_cast<Bits*>(tile_);
#pragma unroll 4
    for (int i = lane; i < kRows * kKeys; i += 32) {
      const int row = i / kKeys;
      const int key = i % kKeys;
      const bool exists = row < rows_ && key < keys;
      to[row * (kKeys + kPad) + key] =
          exists ? from[row * g_.stride[2] + key * g_.stride[3]] : Bits{0};
    }
  }

  unsigned char* tile_;
  const AdditiveMask& g_;
  std::int64_t first_;
  int rows_, size_;
  std::int64_t keys_;
  bool aligned_;
};

}  // namespace halfulp::gpu::HALFULP_BUILD
