// CUDA's warp-wide operations for the host build. Lanes that have exited take no part (Volta's
// rule); reading a lane that has exited or is outside the mask is a fault. None of them but
// __syncwarp orders memory.
#pragma once
#include <cstdint>
#include <cstring>
#include <source_location>
#include <type_traits>

#include "gpu/simt/host/builtins.hpp"
#include "gpu/simt/host/copy.hpp"
#include "gpu/simt/runtime.hpp"

namespace halfulp::gpu::simt {
inline namespace HALFULP_SIMT_COPY {

// Values travel as 8 bytes in a register, so that no address of a kernel's variable escapes.
template <class T>
T shuffle(unsigned mask, T value, runtime::Shuffle kind, int argument, int width,
          std::source_location site) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8);
  std::uint64_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T));
  bits = runtime::shuffle(mask, kind, bits, argument, width, site);
  __builtin_memcpy(&value, &bits, sizeof(T));
  return value;
}

}  // namespace HALFULP_SIMT_COPY
}  // namespace halfulp::gpu::simt

inline namespace HALFULP_SIMT_COPY {

template <class T>
T __shfl_sync(unsigned mask, T value, int lane, int width = 32,
              HalfulpSite site = HalfulpSite::current()) {
  return ::halfulp::gpu::simt::shuffle(mask, value, halfulp_runtime::Shuffle::index, lane, width,
                                       site);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32,
                 HalfulpSite site = HalfulpSite::current()) {
  return ::halfulp::gpu::simt::shuffle(mask, value, halfulp_runtime::Shuffle::up,
                                       static_cast<int>(delta), width, site);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32,
                   HalfulpSite site = HalfulpSite::current()) {
  return ::halfulp::gpu::simt::shuffle(mask, value, halfulp_runtime::Shuffle::down,
                                       static_cast<int>(delta), width, site);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32,
                  HalfulpSite site = HalfulpSite::current()) {
  return ::halfulp::gpu::simt::shuffle(mask, value, halfulp_runtime::Shuffle::exclusive_or,
                                       lane_mask, width, site);
}
inline unsigned __ballot_sync(unsigned mask, int predicate,
                              HalfulpSite site = HalfulpSite::current()) {
  return halfulp_runtime::vote(mask, halfulp_runtime::Vote::ballot, predicate, site);
}
inline int __any_sync(unsigned mask, int predicate, HalfulpSite site = HalfulpSite::current()) {
  return static_cast<int>(halfulp_runtime::vote(mask, halfulp_runtime::Vote::any, predicate, site));
}
inline int __all_sync(unsigned mask, int predicate, HalfulpSite site = HalfulpSite::current()) {
  return static_cast<int>(halfulp_runtime::vote(mask, halfulp_runtime::Vote::all, predicate, site));
}
inline void __syncwarp(unsigned mask = ~0u, HalfulpSite site = HalfulpSite::current()) {
  halfulp_runtime::sync_warp(mask, site);
}

}  // namespace HALFULP_SIMT_COPY
