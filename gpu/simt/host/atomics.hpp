// CUDA's atomics, and acquire/release, for the host build. Each is a scheduling point. atomicAdd on
// float keeps subnormals, which a GPU flushes in global memory; on the 16-bit formats both keep
// them (PTX atom.add.noftz) and round the sum once, to nearest even. The pair forms are two
// atomics, one for each element, and others may come between them.
#pragma once
#include <source_location>
#include <type_traits>

#include "gpu/simt/host/builtins.hpp"
#include "gpu/simt/host/copy.hpp"
#include "gpu/simt/runtime.hpp"

inline namespace HALFULP_SIMT_COPY {

#define HALFULP_ATOMIC(name, operation)                                                            \
  template <class T>                                                                               \
  T name(T* address, std::type_identity_t<T> operand, HalfulpSite site = HalfulpSite::current()) { \
    return halfulp_runtime::atomic<T>(address, halfulp_runtime::Atomic::operation, operand, T{},   \
                                      site);                                                       \
  }
HALFULP_ATOMIC(atomicAdd, add)
HALFULP_ATOMIC(atomicExch, exchange)
HALFULP_ATOMIC(atomicMax, maximum)
HALFULP_ATOMIC(atomicMin, minimum)
HALFULP_ATOMIC(atomicAnd, bit_and)
HALFULP_ATOMIC(atomicOr, bit_or)
#undef HALFULP_ATOMIC

inline __half2 atomicAdd(__half2* address, __half2 operand,
                         HalfulpSite site = HalfulpSite::current()) {
  return halfulp_runtime::atomic_add_pair(address, operand, site);
}
inline __nv_bfloat162 atomicAdd(__nv_bfloat162* address, __nv_bfloat162 operand,
                                HalfulpSite site = HalfulpSite::current()) {
  return halfulp_runtime::atomic_add_pair(address, operand, site);
}

template <class T>
T atomicCAS(T* address, std::type_identity_t<T> compare, std::type_identity_t<T> value,
            HalfulpSite site = HalfulpSite::current()) {
  return halfulp_runtime::atomic<T>(address, halfulp_runtime::Atomic::compare_exchange, value,
                                    compare, site);
}

}  // namespace HALFULP_SIMT_COPY

namespace halfulp::gpu::simt {
inline namespace HALFULP_SIMT_COPY {

inline unsigned load_acquire(const unsigned* address,
                             std::source_location site = std::source_location::current()) {
  return runtime::load_acquire(address, site);
}
inline int load_acquire(const int* address,
                        std::source_location site = std::source_location::current()) {
  return static_cast<int>(runtime::load_acquire(reinterpret_cast<const unsigned*>(address), site));
}
inline void store_release(unsigned* address, unsigned value,
                          std::source_location site = std::source_location::current()) {
  runtime::store_release(address, value, site);
}
inline void store_release(int* address, int value,
                          std::source_location site = std::source_location::current()) {
  runtime::store_release(reinterpret_cast<unsigned*>(address), static_cast<unsigned>(value), site);
}

}  // namespace HALFULP_SIMT_COPY
}  // namespace halfulp::gpu::simt
