// What flash_attention kernels do with addresses: rows of a head, elements of a mask in memory.
//
// Part of a kernel's translation unit, like access.hpp.
#pragma once
#include <cstdint>

#include "gpu/kernels/access.hpp"
#include "gpu/kernels/flash_attention.hpp"

namespace halfulp::gpu::HALFULP_BUILD {

struct FlashHead {
  std::int64_t batch = 0, head = 0;
};
// The heads of all batches, numbered batch by batch.
__device__ inline FlashHead flash_head(const FlashAttention& g, std::int64_t index) {
  return {index / g.heads, index % g.heads};
}

// Row i of a head.
template <class T>
__device__ inline T* row_of(const HeadRows& rows, const FlashHead& at, std::int64_t i) {
  return static_cast<T*>(rows.data) +
         (at.batch * rows.stride[0] + at.head * rows.stride[1] + i * rows.stride[2]);
}

// The element of the mask that is added to the score of query i with key j of a head.
template <class T>
__device__ inline float additive_at(const AdditiveMask& mask, const FlashHead& at, std::int64_t i,
                                    std::int64_t j) {
  const std::int64_t offset = at.batch * mask.stride[0] + at.head * mask.stride[1] +
                              i * mask.stride[2] + j * mask.stride[3];
  if (mask.format == Format::f32) return static_cast<const float*>(mask.data)[offset];
  return to_float(static_cast<const T*>(mask.data)[offset]);
}

inline constexpr float kLog2E = 1.44269504f;

// The score of a closed key, and the maximum of none.
__device__ inline float closed_score() { return -__int_as_float(0x7f800000); }

// A row's maximum as exponents may subtract it: 0 while the row has no open key, since -inf less
// -inf is NaN.
__device__ inline float finite_maximum(float maximum) {
  return maximum == closed_score() ? 0.0f : maximum;
}

}  // namespace halfulp::gpu::HALFULP_BUILD
