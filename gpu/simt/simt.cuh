// The one header a kernel source includes. nvcc compiles it to CUDA; g++ compiles it to the host
// executor.
//
// Plain CUDA C++ works unchanged on both sides, within this list:
// clang-format off
//   __global__ __device__ __host__ __forceinline__ __launch_bounds__(...) __restrict__
//   __grid_constant__ threadIdx blockIdx blockDim gridDim warpSize dim3 uint3
//   {int,uint,float}{2,4} double2 make_...
//   __syncthreads __syncthreads_count __syncthreads_and __syncthreads_or __syncwarp
//   __shfl_sync __shfl_up_sync __shfl_down_sync __shfl_xor_sync (4 and 8 bytes, 16 bits)
//   __ballot_sync __any_sync __all_sync    __threadfence __threadfence_block __nanosleep
//   atomicAdd (int, unsigned, unsigned long long, float, double, and the four 16-bit types below)
//   atomicExch (the first four)    atomicMax atomicMin atomicAnd atomicOr atomicCAS (integers)
//   __half __half2 __nv_bfloat16 __nv_bfloat162 as STORAGE, with the conversions of
//     host/numbers.hpp: there is no arithmetic on them; kernels compute in float
//   expf exp2f sqrtf rsqrtf fabsf fminf fmaxf fmaf __expf __fdividef __frcp_rn __fdiv_rn __fsqrt_rn
//   __fadd_rn __fmul_rn __fmaf_rn __ldg min max __popc __ffs __clz
//   __float_as_uint __uint_as_float __float_as_int __int_as_float
// and these names, which CUDA spells differently or lacks:
//   SIMT_SHARED(float, tile, [32][33]);
//       static shared memory, 16-byte aligned. A bare __shared__ does not compile on the host. A
//       type with a comma needs an alias.
//   SIMT_UNROLL
//       in place of #pragma unroll
//   simt::dynamic_shared<T>()
//       T*: the dynamic shared memory, 128-byte aligned
//   simt::load_vector<float4>(p), simt::store_vector(p, v)
//       one access of 8 or 16 bytes; p must be aligned to the vector's size. The host faults one
//       that is not, as a GPU does. Use these, not a cast: g++ may split a casted access, and
//       the fault is then missed.
//   simt::load_acquire(p), simt::store_release(p, v)
//       at GPU scope, int and unsigned. Spin only through these or atomics: a loop over a plain
//       load hangs the host executor.
//   simt::cp_async_16(shared, global, bytes = 16), cp_async_8, cp_async_4
//       bytes: how many are read, the rest of the 16 (8, 4) is zero-filled
//   simt::cp_async_commit(), simt::cp_async_wait<N>()
//   simt::ldmatrix_x1 _x2 _x4 and ldmatrix_x1_trans _x2_trans _x4_trans(unsigned (&r)[n], row)
//   simt::mma_m16n8k16_f16(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2])
//       d += a b; simt::mma_m16n8k16_bf16 and simt::mma_m16n8k8_tf32 take registers alike
//   simt::launch(kernel, grid, block, shared_bytes, stream, arguments...) -> simt::Status
//       stream: void*, a cudaStream_t under nvcc, a simt::Session* on the host
//   simt::exp2_approx(x)
//       ex2.approx.ftz.f32
//   simt::resident_blocks(kernel, block, shared_bytes, stream) -> int
//       how many blocks run at once
// clang-format on
// All of simt:: is namespace halfulp::gpu::simt.
//
// One source is compiled several times into one binary (plain, checked, mutants). HALFULP_BUILD
// names the copy; a kernel source puts its code in namespace halfulp::gpu::HALFULP_BUILD so that
// copies never merge. Everything with a body in the host headers sits in an inline namespace made
// from the same macro.
//
// A checked copy is compiled with the options of target halfulp_simt_checked_options and launched
// from a Session whose Config says checked. The checker does not see memcpy and memset inside a
// kernel, nor a struct that a call returns straight into memory: give it a variable of its own
// first (`const Segment own = f(); shared = own;`).
#pragma once

#ifndef HALFULP_BUILD
#define HALFULP_BUILD host
#endif

#if defined(__CUDACC__)
#include "gpu/simt/cuda.cuh"
#else
#include "gpu/simt/host.hpp"
#endif
