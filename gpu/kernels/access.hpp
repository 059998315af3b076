// What every kernel does with stored numbers: read one as float, write a float with one rounding,
// and the same for 16 bytes at once. Arithmetic is never done in a 16-bit format.
//
// Part of a kernel's translation unit: everything lives in the namespace of its build, so that the
// plain, the instrumented and the CUDA object code never mix.
#pragma once
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "gpu/simt/simt.cuh"

namespace halfulp::gpu::HALFULP_BUILD {

// Storage of tf32: the bits of a float, of which a tensor core ignores the lowest 13.
struct Tf32 {
  float value;
};

// The type that holds an element's bits.
template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint16_t>;

// The type of the elements of an output.
template <class T>
using OutputOf = std::conditional_t<std::is_same_v<T, Tf32>, float, T>;

__device__ inline float to_float(float x) { return x; }
__device__ inline float to_float(__half x) { return __half2float(x); }
__device__ inline float to_float(__nv_bfloat16 x) { return __bfloat162float(x); }

template <class T>
__device__ inline T from_float(float x) = delete;
template <>
__device__ inline float from_float<float>(float x) {
  return x;
}
template <>
__device__ inline __half from_float<__half>(float x) {
  return __float2half_rn(x);
}
template <>
__device__ inline __nv_bfloat16 from_float<__nv_bfloat16>(float x) {
  return __float2bfloat16_rn(x);
}

// Two neighbours at once, at an address that is a multiple of their size.
__device__ inline void store_pair(float* to, float x, float y) {
  simt::store_vector(to, make_float2(x, y));
}
template <class T>
__device__ inline void store_pair(T* to, float x, float y) {
  const T pair[2] = {from_float<T>(x), from_float<T>(y)};
  unsigned bits;
  memcpy(&bits, pair, sizeof bits);
  *reinterpret_cast<unsigned*>(to) = bits;
}

// Elements in one 16-byte access.
template <class T>
inline constexpr int kPack = 16 / static_cast<int>(sizeof(T));

__device__ inline bool aligned16(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) % 16 == 0;
}

// kPack elements at a 16-byte aligned address.
template <class T>
__device__ inline void load_pack(const T* from, float (&x)[kPack<T>]) {
  const uint4 bits = simt::load_vector<uint4>(from);
  T element[kPack<T>];
  memcpy(element, &bits, sizeof bits);
  SIMT_UNROLL
  for (int i = 0; i < kPack<T>; ++i) x[i] = to_float(element[i]);
}

template <class T>
__device__ inline void store_pack(T* to, const float (&x)[kPack<T>]) {
  T element[kPack<T>];
  SIMT_UNROLL
  for (int i = 0; i < kPack<T>; ++i) element[i] = from_float<T>(x[i]);
  uint4 bits;
  memcpy(&bits, element, sizeof bits);
  simt::store_vector(to, bits);
}

}  // namespace halfulp::gpu::HALFULP_BUILD
