// CUDA's execution keywords, thread indices and block-wide operations for the host build.
#pragma once
#include <source_location>

#include "gpu/simt/host/copy.hpp"
#include "gpu/simt/host/vectors.hpp"
#include "gpu/simt/runtime.hpp"

#define __global__
#define __device__
#define __host__
#define __constant__ static const
#define __grid_constant__
#define __launch_bounds__(...)
#define __forceinline__ inline __attribute__((always_inline))
#define __shared__ static_assert(false, "use SIMT_SHARED(Type, name, [extents])");
#define SIMT_UNROLL

// The executor sets these before it lets a thread run. They are const here, so that kernels cannot
// assign them (as in CUDA) and their reads are not instrumented; the executor owns the writable
// objects.
extern const __thread uint3 threadIdx __asm__("halfulp_simt_thread_index");
extern const __thread uint3 blockIdx __asm__("halfulp_simt_block_index");
extern const __thread uint3 blockDim __asm__("halfulp_simt_block_extent");
extern const __thread uint3 gridDim __asm__("halfulp_simt_grid_extent");

inline namespace HALFULP_SIMT_COPY {

using HalfulpSite = std::source_location;
namespace halfulp_runtime = ::halfulp::gpu::simt::runtime;

inline constexpr int warpSize = 32;

inline void __syncthreads(HalfulpSite site = HalfulpSite::current()) {
  halfulp_runtime::barrier(halfulp_runtime::Barrier::plain, 0, site);
}
inline int __syncthreads_count(int predicate, HalfulpSite site = HalfulpSite::current()) {
  return halfulp_runtime::barrier(halfulp_runtime::Barrier::count, predicate, site);
}
inline int __syncthreads_and(int predicate, HalfulpSite site = HalfulpSite::current()) {
  return halfulp_runtime::barrier(halfulp_runtime::Barrier::all, predicate, site);
}
inline int __syncthreads_or(int predicate, HalfulpSite site = HalfulpSite::current()) {
  return halfulp_runtime::barrier(halfulp_runtime::Barrier::any, predicate, site);
}
inline void __threadfence() { halfulp_runtime::fence(halfulp_runtime::Scope::gpu); }
inline void __threadfence_block() { halfulp_runtime::fence(halfulp_runtime::Scope::block); }
inline void __nanosleep(unsigned) {}

}  // namespace HALFULP_SIMT_COPY
