// How the threads of a block share edges, heads and the elements of a row.
//
// A row (one node or edge, one head, `dim` elements) is worked on by `lanes` neighbouring threads.
// They take it in slices of lanes * kPack elements, kPack a thread: neighbours in vector mode, so
// that a thread's share is one 16-byte access, and `lanes` apart in scalar mode. The groups of
// `lanes` threads lie heads first, so that a warp reads neighbouring memory, then edges:
//
//   thread = (slot * heads + head) * lanes + lane
//
// Part of a kernel's translation unit, like access.hpp.
#pragma once
#include <cstdint>

#include "gpu/kernels/access.hpp"
#include "gpu/kernels/binding.hpp"

namespace halfulp::gpu::HALFULP_BUILD {

struct Spread {
  int lanes = 1;  // threads a row: a power of two, at most 32
  int lanes_log2 = 0;
  int heads = 1;  // heads side by side in a block
  int slots = 1;  // edges side by side in a block
};

inline Spread spread_over(int threads, std::int64_t heads, std::int64_t dim, int pack) {
  Spread spread;
  while (spread.lanes < 32 && spread.lanes * pack < dim) {
    spread.lanes *= 2;
    ++spread.lanes_log2;
  }
  const int groups = threads / spread.lanes;
  spread.heads = heads < groups ? static_cast<int>(heads) : groups;
  spread.slots = groups / spread.heads;
  return spread;
}

// A thread's place; threads left over have slot >= Spread::slots.
struct Seat {
  int lane = 0;
  int head = 0;
  int slot = 0;
};

// Unsigned inside: a signed division would cost as much as an edge.
__device__ inline Seat seat_of(const Spread& spread, unsigned thread) {
  const unsigned group = thread >> spread.lanes_log2;
  const auto heads = static_cast<unsigned>(spread.heads);
  const unsigned slot = group / heads;
  Seat seat;
  seat.lane = static_cast<int>(thread & static_cast<unsigned>(spread.lanes - 1));
  seat.head = static_cast<int>(group - slot * heads);
  seat.slot = static_cast<int>(slot);
  return seat;
}

// First element of row (i, head).
template <class T>
__device__ inline T* row_of(const Tensor& tensor, std::int64_t i, std::int64_t head) {
  return static_cast<T*>(tensor.data) + (i * tensor.stride[0] + head * tensor.stride[1]);
}

// Whether every row of the tensor may be read and written 16 bytes at a time, in one slice.
template <class T>
bool vectorises(const Tensor& tensor, std::int64_t dim) {
  return reinterpret_cast<std::uintptr_t>(tensor.data) % 16 == 0 && dim % kPack<T> == 0 &&
         dim <= 32 * kPack<T> && tensor.stride[0] % kPack<T> == 0 &&
         tensor.stride[1] % kPack<T> == 0;
}

// An edge as the fused kernels see it from a CSC position.
struct Edge {
  std::int32_t id = 0;  // physical edge
  std::int32_t source = 0;
  bool valid = false;  // false: past the end, weighs nothing, is neither read nor stored
};

// A thread's share of the slice that starts at element `first` of a row of `dim`.
struct Slice {
  std::int64_t first = 0;
  std::int64_t dim = 0;
  int lanes = 1;
  int lane = 0;
};

// Moves on to the row's next slice; false when there is none. In vector mode a row is one slice.
template <bool kVector, class T>
__device__ inline bool next_slice(Slice& slice) {
  if constexpr (kVector) {
    return false;
  } else {
    slice.first += slice.lanes * kPack<T>;
    return slice.first < slice.dim;
  }
}

// The row's element that is the thread's i-th, possibly past the end of the row.
template <bool kVector, class T>
__device__ inline std::int64_t element_of(const Slice& slice, int i) {
  if constexpr (kVector) return slice.lane * kPack<T> + i;
  return slice.first + i * slice.lanes + slice.lane;
}

// x = the thread's share, zeros past the end of the row; all zeros unless valid.
template <bool kVector, class T>
__device__ inline void load_slice(const T* row, const Slice& slice, bool valid,
                                  float (&x)[kPack<T>]) {
  SIMT_UNROLL
  for (int i = 0; i < kPack<T>; ++i) x[i] = 0.0f;
  if constexpr (kVector) {
    const std::int64_t d = element_of<true, T>(slice, 0);
    if (valid && d < slice.dim) load_pack(row + d, x);
  } else {
    SIMT_UNROLL
    for (int i = 0; i < kPack<T>; ++i) {
      const std::int64_t d = element_of<false, T>(slice, i);
      if (valid && d < slice.dim) x[i] = to_float(row[d]);
    }
  }
}

template <bool kVector, class T>
__device__ inline void store_slice(T* row, const Slice& slice, bool valid,
                                   const float (&x)[kPack<T>]) {
  if constexpr (kVector) {
    const std::int64_t d = element_of<true, T>(slice, 0);
    if (valid && d < slice.dim) store_pack(row + d, x);
  } else {
    SIMT_UNROLL
    for (int i = 0; i < kPack<T>; ++i) {
      const std::int64_t d = element_of<false, T>(slice, i);
      if (valid && d < slice.dim) row[d] = from_float<T>(x[i]);
    }
  }
}

// Adds what the other slots of the block left in shared memory, in order of slots; called by slot
// 0.
template <int kBlock, int kWidth>
__device__ inline void add_slots(const Spread& spread, const float (&numerators)[kBlock][kWidth],
                                 const float (&denominators)[kBlock], float (&numerator)[kWidth],
                                 float& denominator) {
  for (int slot = 1; slot < spread.slots; ++slot) {
    const int other = static_cast<int>(threadIdx.x) + slot * spread.heads * spread.lanes;
    denominator += denominators[other];
    SIMT_UNROLL
    for (int i = 0; i < kWidth; ++i) numerator[i] += numerators[other][i];
  }
}

}  // namespace halfulp::gpu::HALFULP_BUILD
