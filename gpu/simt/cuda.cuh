// The nvcc side of simt.cuh: PTX wrappers and the launcher. Include simt.cuh, not this.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <string>

#include "gpu/simt/status.hpp"

#define SIMT_SHARED(Type, name, ...) __shared__ __align__(16) Type name __VA_ARGS__
#define SIMT_UNROLL _Pragma("unroll")

namespace halfulp::gpu::simt {

template <class T>
__device__ __forceinline__ T* dynamic_shared() {
  extern __shared__ __align__(128) unsigned char simt_dynamic_shared[];
  return reinterpret_cast<T*>(simt_dynamic_shared);
}

template <class Vector>
__device__ __forceinline__ Vector load_vector(const void* address) {
  static_assert(sizeof(Vector) == 8 || sizeof(Vector) == 16);
  return *static_cast<const Vector*>(address);
}
template <class Vector>
__device__ __forceinline__ void store_vector(void* address, const Vector& value) {
  static_assert(sizeof(Vector) == 8 || sizeof(Vector) == 16);
  *static_cast<Vector*>(address) = value;
}

__device__ __forceinline__ unsigned load_acquire(const unsigned* address) {
  unsigned value;
  asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
  return value;
}
__device__ __forceinline__ int load_acquire(const int* address) {
  return static_cast<int>(load_acquire(reinterpret_cast<const unsigned*>(address)));
}
__device__ __forceinline__ void store_release(unsigned* address, unsigned value) {
  asm volatile("st.release.gpu.u32 [%0], %1;" ::"l"(address), "r"(value) : "memory");
}
__device__ __forceinline__ void store_release(int* address, int value) {
  store_release(reinterpret_cast<unsigned*>(address), static_cast<unsigned>(value));
}

__device__ __forceinline__ unsigned shared_address(const void* address) {
  return static_cast<unsigned>(__cvta_generic_to_shared(address));
}

__device__ __forceinline__ void cp_async_16(void* shared, const void* global, int bytes = 16) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(shared)),
               "l"(global), "r"(bytes)
               : "memory");
}
__device__ __forceinline__ void cp_async_8(void* shared, const void* global, int bytes = 8) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(shared_address(shared)),
               "l"(global), "r"(bytes)
               : "memory");
}
__device__ __forceinline__ void cp_async_4(void* shared, const void* global, int bytes = 4) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared_address(shared)),
               "l"(global), "r"(bytes)
               : "memory");
}
__device__ __forceinline__ void cp_async_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int N>
__device__ __forceinline__ void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

__device__ __forceinline__ float exp2_approx(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

#define HALFULP_LDMATRIX(suffix, qualifier)                                                      \
  __device__ __forceinline__ void ldmatrix_x1##suffix(unsigned(&r)[1], const void* row) {        \
    asm volatile("ldmatrix.sync.aligned.m8n8.x1" qualifier ".shared.b16 {%0}, [%1];"             \
                 : "=r"(r[0])                                                                    \
                 : "r"(shared_address(row))                                                      \
                 : "memory");                                                                    \
  }                                                                                              \
  __device__ __forceinline__ void ldmatrix_x2##suffix(unsigned(&r)[2], const void* row) {        \
    asm volatile("ldmatrix.sync.aligned.m8n8.x2" qualifier ".shared.b16 {%0, %1}, [%2];"         \
                 : "=r"(r[0]), "=r"(r[1])                                                        \
                 : "r"(shared_address(row))                                                      \
                 : "memory");                                                                    \
  }                                                                                              \
  __device__ __forceinline__ void ldmatrix_x4##suffix(unsigned(&r)[4], const void* row) {        \
    asm volatile("ldmatrix.sync.aligned.m8n8.x4" qualifier ".shared.b16 {%0, %1, %2, %3}, [%4];" \
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])                                \
                 : "r"(shared_address(row))                                                      \
                 : "memory");                                                                    \
  }
HALFULP_LDMATRIX(, "")
HALFULP_LDMATRIX(_trans, ".trans")
#undef HALFULP_LDMATRIX

#define HALFULP_MMA(name, instruction)                                                \
  __device__ __forceinline__ void name(float(&d)[4], const unsigned(&a)[4],           \
                                       const unsigned(&b)[2]) {                       \
    asm volatile("mma.sync.aligned." instruction                                      \
                 " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"   \
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                     \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1])); \
  }
HALFULP_MMA(mma_m16n8k16_f16, "m16n8k16.row.col.f32.f16.f16.f32")
HALFULP_MMA(mma_m16n8k16_bf16, "m16n8k16.row.col.f32.bf16.bf16.f32")
HALFULP_MMA(mma_m16n8k8_tf32, "m16n8k8.row.col.f32.tf32.tf32.f32")
#undef HALFULP_MMA

// Lets a kernel have more dynamic shared memory than the 48 KiB that need no permission.
inline cudaError_t allow_shared_bytes(const void* kernel, std::size_t bytes) {
  if (bytes <= 48 * 1024) return cudaSuccess;
  const cudaError_t error = cudaFuncSetAttribute(
      kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
  if (error != cudaSuccess) cudaGetLastError();  // reported here, and nowhere else
  return error;
}

// Launches on `stream` (a cudaStream_t). The text is the launch's own error; faults of the kernel
// show later.
template <class... Parameters, class... Arguments>
Status launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, std::size_t shared_bytes,
              void* stream, Arguments&&... arguments) {
  const cudaError_t refused =
      allow_shared_bytes(reinterpret_cast<const void*>(kernel), shared_bytes);
  if (refused != cudaSuccess) {
    return {std::to_string(shared_bytes) +
            " bytes of dynamic shared memory: " + cudaGetErrorString(refused)};
  }
  kernel<<<grid, block, shared_bytes, static_cast<cudaStream_t>(stream)>>>(
      static_cast<Parameters>(arguments)...);
  const cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess) return {cudaGetErrorString(error)};
  return {};
}

// How many blocks of this kernel the device runs at once, as long as nothing else is on it; 0 where
// not even one can.
template <class... Parameters>
int resident_blocks(void (*kernel)(Parameters...), dim3 block, std::size_t shared_bytes, void*) {
  const auto* function = reinterpret_cast<const void*>(kernel);
  if (allow_shared_bytes(function, shared_bytes) != cudaSuccess) return 0;
  int device = 0;
  int multiprocessors = 0;
  int blocks = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
  const cudaError_t error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      &blocks, function, static_cast<int>(block.x * block.y * block.z), shared_bytes);
  if (error != cudaSuccess) {
    cudaGetLastError();
    return 0;
  }
  return blocks * multiprocessors;
}

}  // namespace halfulp::gpu::simt
