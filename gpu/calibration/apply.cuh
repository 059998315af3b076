// One instruction on each element; see ApplyCall.
#pragma once
#include "gpu/calibration/entries.hpp"
#include "gpu/calibration/functions.cuh"

namespace halfulp::gpu::HALFULP_BUILD {
namespace calibration {

inline constexpr int kApplyThreads = 128;

__device__ __forceinline__ std::int64_t element() {
  return std::int64_t{blockIdx.x} * kApplyThreads + threadIdx.x;
}

template <Instruction kFunction>
__global__ void apply_function(ApplyCall call) {
  const std::int64_t i = element();
  if (i >= call.count) return;
  call.out[i] =
      __float_as_uint(computed<kFunction>(__uint_as_float(call.a[i]), __uint_as_float(call.b[i])));
}

__global__ void atomic_add_f32_global(ApplyCall call) {
  const std::int64_t i = element();
  if (i >= call.count) return;
  call.out[i] = call.a[i];
  atomicAdd(reinterpret_cast<float*>(call.out + i), __uint_as_float(call.b[i]));
}

__global__ void atomic_add_f32_shared(ApplyCall call) {
  SIMT_SHARED(float, cell, [kApplyThreads]);
  const std::int64_t i = element();
  if (i >= call.count) return;
  cell[threadIdx.x] = __uint_as_float(call.a[i]);
  atomicAdd(&cell[threadIdx.x], __uint_as_float(call.b[i]));
  call.out[i] = __float_as_uint(cell[threadIdx.x]);
}

__global__ void atomic_add_f16(ApplyCall call) {
  const std::int64_t i = element();
  if (i >= call.count) return;
  call.out[i] = call.a[i];
  atomicAdd(reinterpret_cast<__half*>(call.out + i),
            __ushort_as_half(static_cast<unsigned short>(call.b[i])));
}

__global__ void atomic_add_bf16(ApplyCall call) {
  const std::int64_t i = element();
  if (i >= call.count) return;
  call.out[i] = call.a[i];
  atomicAdd(reinterpret_cast<__nv_bfloat16*>(call.out + i),
            __ushort_as_bfloat16(static_cast<unsigned short>(call.b[i])));
}

#if defined(__CUDACC__)
__global__ void convert_tf32(ApplyCall call) {
  const std::int64_t i = element();
  if (i >= call.count) return;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(call.out[i]) : "f"(__uint_as_float(call.a[i])));
}
#endif

}  // namespace calibration

simt::Status calibration_apply(const ApplyCall& call, void* stream) {
  using namespace calibration;
  const auto blocks = static_cast<unsigned>((call.count + kApplyThreads - 1) / kApplyThreads);
  const auto launch = [&](void (*kernel)(ApplyCall)) {
    return simt::launch(kernel, dim3(blocks), dim3(kApplyThreads), 0, stream, call);
  };
  simt::Status status{"not an instruction of this backend"};
  if (call.instruction == Instruction::atomic_add_f32_global) return launch(atomic_add_f32_global);
  if (call.instruction == Instruction::atomic_add_f32_shared) return launch(atomic_add_f32_shared);
  if (call.instruction == Instruction::atomic_add_f16) return launch(atomic_add_f16);
  if (call.instruction == Instruction::atomic_add_bf16) return launch(atomic_add_bf16);
#if defined(__CUDACC__)
  if (call.instruction == Instruction::convert_tf32) return launch(convert_tf32);
#endif
  with_function(call.instruction,
                [&]<Instruction kFunction>() { status = launch(apply_function<kFunction>); });
  return status;
}

}  // namespace halfulp::gpu::HALFULP_BUILD
