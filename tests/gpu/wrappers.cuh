// The kernels of wrappers.hpp. Compiled by g++ (plain and checked) and by nvcc; each copy has its
// own launch().
#pragma once
#include "gpu/simt/simt.cuh"
#include "tests/gpu/wrappers.hpp"

namespace halfulp::gpu::HALFULP_BUILD {

using wrappers::Wrapper;

// in: 32 rows of 8 halves (4 words each). out[4 lane + m]: register m of the lane, whose row is
// `lane`.
template <int kCount, bool kTransposed>
__global__ void ldmatrix(const unsigned* in, unsigned* out) {
  SIMT_SHARED(unsigned, rows, [32 * 4]);
  const int lane = static_cast<int>(threadIdx.x);
  for (int word = 0; word < 4; ++word) rows[4 * lane + word] = in[4 * lane + word];
  __syncwarp();
  unsigned r[kCount];
  const unsigned* row = rows + 4 * lane;
  if constexpr (kCount == 1) {
    kTransposed ? simt::ldmatrix_x1_trans(r, row) : simt::ldmatrix_x1(r, row);
  } else if constexpr (kCount == 2) {
    kTransposed ? simt::ldmatrix_x2_trans(r, row) : simt::ldmatrix_x2(r, row);
  } else {
    kTransposed ? simt::ldmatrix_x4_trans(r, row) : simt::ldmatrix_x4(r, row);
  }
  for (int m = 0; m < kCount; ++m) out[4 * lane + m] = r[m];
}

// in[10 lane ..]: a[4], b[2], c[4]. out[4 lane ..]: d[4].
template <Wrapper kWrapper>
__global__ void mma(const unsigned* in, unsigned* out) {
  const int lane = static_cast<int>(threadIdx.x);
  unsigned a[4], b[2];
  float d[4];
  for (int i = 0; i < 4; ++i) a[i] = in[10 * lane + i];
  for (int i = 0; i < 2; ++i) b[i] = in[10 * lane + 4 + i];
  for (int i = 0; i < 4; ++i) d[i] = __uint_as_float(in[10 * lane + 6 + i]);
  if constexpr (kWrapper == Wrapper::mma_m16n8k16_f16) simt::mma_m16n8k16_f16(d, a, b);
  if constexpr (kWrapper == Wrapper::mma_m16n8k16_bf16) simt::mma_m16n8k16_bf16(d, a, b);
  if constexpr (kWrapper == Wrapper::mma_m16n8k8_tf32) simt::mma_m16n8k8_tf32(d, a, b);
  for (int i = 0; i < 4; ++i) out[4 * lane + i] = __float_as_uint(d[i]);
}

// in: a byte count for each lane, then 4 words for each. Each lane copies that many of its 16 (8,
// 4) bytes over 0xcccccccc. out[4 lane ..]: the lane's 16 bytes of shared memory, read by another
// lane.
template <int kSize>
__global__ void cp_async(const unsigned* in, unsigned* out) {
  SIMT_SHARED(unsigned, stage, [32 * 4]);
  const int lane = static_cast<int>(threadIdx.x);
  const int other = 31 - lane;
  const int bytes = static_cast<int>(in[lane]);
  const unsigned* from = in + 32 + 4 * lane;
  unsigned* to = stage + 4 * lane;
  for (int word = 0; word < 4; ++word) to[word] = 0xccccccccu;
  if constexpr (kSize == 16) simt::cp_async_16(to, from, bytes);
  if constexpr (kSize == 8) simt::cp_async_8(to, from, bytes);
  if constexpr (kSize == 4) simt::cp_async_4(to, from, bytes);
  simt::cp_async_commit();
  simt::cp_async_wait<0>();
  __syncwarp();
  for (int word = 0; word < 4; ++word) out[4 * other + word] = stage[4 * other + word];
}

// in: a value for each lane. out[12 lane ..]: shuffles at several widths, by lane-dependent
// sources.
__global__ void shuffles(const unsigned* in, unsigned* out) {
  const int lane = static_cast<int>(threadIdx.x);
  const unsigned all = 0xffffffffu;
  const unsigned v = in[lane];
  unsigned* o = out + 12 * lane;
  o[0] = __shfl_sync(all, v, lane * 7);
  o[1] = __shfl_sync(all, v, lane + 3, 8);
  o[2] = __shfl_up_sync(all, v, 1);
  o[3] = __shfl_up_sync(all, v, 5, 16);
  o[4] = __shfl_down_sync(all, v, 1);
  o[5] = __shfl_down_sync(all, v, 3, 8);
  o[6] = __shfl_xor_sync(all, v, 16);
  o[7] = __shfl_xor_sync(all, v, 12, 8);
  o[8] = __shfl_xor_sync(all, v, 5, 4);
  const unsigned half_warp = lane < 16 ? 0x0000ffffu : 0xffff0000u;
  o[9] = __shfl_xor_sync(half_warp, v, 15);
  const double wide = __shfl_down_sync(all, static_cast<double>(v) * 3.0, 2);
  o[10] = static_cast<unsigned>(wide / 3.0);
  o[11] = static_cast<unsigned>(__shfl_sync(all, -static_cast<int>(v % 1000), 31 - lane) + 1000);
}

// in: a value for each lane. out[8 lane ..]: votes and block-wide counts on value % 3 == 0.
__global__ void votes(const unsigned* in, unsigned* out) {
  const int lane = static_cast<int>(threadIdx.x);
  const int held = in[lane] % 3 == 0;
  unsigned* o = out + 8 * lane;
  o[0] = __ballot_sync(0xffffffffu, held);
  const unsigned mask = lane % 2 == 0 ? 0x55555555u : 0xaaaaaaaau;
  if (lane % 2 == 0) {
    o[1] = __ballot_sync(mask, held);
    o[2] = static_cast<unsigned>(__any_sync(mask, held) != 0);
    o[3] = static_cast<unsigned>(__all_sync(mask, held) != 0);
  } else {
    o[1] = __ballot_sync(mask, 1);
    o[2] = static_cast<unsigned>(__any_sync(mask, 0) != 0);
    o[3] = static_cast<unsigned>(__all_sync(mask, 5) != 0);
  }
  o[4] = static_cast<unsigned>(__syncthreads_count(held));
  o[5] = static_cast<unsigned>(__syncthreads_or(held) != 0);
  o[6] = static_cast<unsigned>(__syncthreads_and(held) != 0);
  o[7] = static_cast<unsigned>(__popc(o[0]) + __ffs(static_cast<int>(o[0])) + __clz(lane));
}

// in: two operands for each lane. One lane after another applies each atomic to its own word of
// out. out[16 lane ..]: what each returned and left.
__global__ void atomics(const unsigned* in, unsigned* out) {
  const int lane = static_cast<int>(threadIdx.x);
  const unsigned a = in[2 * lane], b = in[2 * lane + 1];
  unsigned* o = out + 16 * lane;
  for (int i = 0; i < 16; ++i) o[i] = a;
  o[0] = atomicAdd(&o[1], b);
  o[2] = static_cast<unsigned>(atomicMax(reinterpret_cast<int*>(&o[3]), static_cast<int>(b)));
  o[4] = atomicMin(&o[5], b);
  o[6] = atomicExch(&o[7], b);
  o[8] = atomicCAS(&o[9], lane % 2 == 0 ? a : b, b);
  o[10] = atomicAnd(&o[11], b);
  o[12] = atomicOr(&o[13], b);
  o[15] = __float_as_uint(1.5f);
  o[14] = __float_as_uint(
      atomicAdd(reinterpret_cast<float*>(&o[15]), static_cast<float>(b % 1024) * 0.25f));
}

// in: two pairs of 16-bit numbers for each lane. out[8 lane ..]: what atomicAdd of the second pair
// to the first returned and left, as half2, as bfloat162, and as two halves and two bfloat16.
__global__ void atomics_16_bit(const unsigned* in, unsigned* out) {
  const int lane = static_cast<int>(threadIdx.x);
  const unsigned a = in[2 * lane], b = in[2 * lane + 1];
  unsigned* o = out + 8 * lane;
  for (int i = 0; i < 8; ++i) o[i] = a;
  const auto low = static_cast<unsigned short>(b);
  const auto high = static_cast<unsigned short>(b >> 16);
  const __half2 h = atomicAdd(reinterpret_cast<__half2*>(&o[1]),
                              __halves2half2(__ushort_as_half(low), __ushort_as_half(high)));
  o[0] = __half_as_ushort(__low2half(h)) | static_cast<unsigned>(__half_as_ushort(__high2half(h)))
                                               << 16;
  const __nv_bfloat162 w =
      atomicAdd(reinterpret_cast<__nv_bfloat162*>(&o[3]),
                __halves2bfloat162(__ushort_as_bfloat16(low), __ushort_as_bfloat16(high)));
  o[2] = __bfloat16_as_ushort(w.x) | static_cast<unsigned>(__bfloat16_as_ushort(w.y)) << 16;
  auto* halves = reinterpret_cast<__half*>(&o[5]);
  o[4] = __half_as_ushort(atomicAdd(halves, __ushort_as_half(low))) |
         static_cast<unsigned>(__half_as_ushort(atomicAdd(halves + 1, __ushort_as_half(high))))
             << 16;
  auto* wide = reinterpret_cast<__nv_bfloat16*>(&o[7]);
  o[6] =
      __bfloat16_as_ushort(atomicAdd(wide, __ushort_as_bfloat16(low))) |
      static_cast<unsigned>(__bfloat16_as_ushort(atomicAdd(wide + 1, __ushort_as_bfloat16(high))))
          << 16;
}

// in: 4 words for each lane. out: the lanes' quads reversed, then swapped in pairs.
__global__ void vectors(const unsigned* in, unsigned* out) {
  const int lane = static_cast<int>(threadIdx.x);
  const auto four = simt::load_vector<uint4>(in + 4 * lane);
  simt::store_vector(out + 4 * (31 - lane), make_uint4(four.x, four.y, four.z, four.w));
  const auto two = simt::load_vector<float2>(in + 4 * lane + 2);
  simt::store_vector(out + 128 + 2 * lane, make_float2(two.y, two.x));
}

// in[i]: 32 bits. out[4 i ..]: as a float to half and to bfloat16; its low 16 bits as a half and as
// a bfloat16 to float.
__global__ void conversions(const unsigned* in, unsigned* out, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count) return;
  const float value = __uint_as_float(in[i]);
  const auto low = static_cast<unsigned short>(in[i]);
  out[4 * i] = __half_as_ushort(__float2half_rn(value));
  out[4 * i + 1] = __bfloat16_as_ushort(__float2bfloat16_rn(value));
  out[4 * i + 2] = __float_as_uint(__half2float(__ushort_as_half(low)));
  out[4 * i + 3] = __float_as_uint(__bfloat162float(__ushort_as_bfloat16(low)));
}

inline simt::Status launch_wrapper(Wrapper wrapper, const unsigned* in, unsigned* out,
                                   std::size_t input_words, void* stream) {
  const auto one_warp = [&](void (*kernel)(const unsigned*, unsigned*)) {
    return simt::launch(kernel, dim3(1), dim3(32), 0, stream, in, out);
  };
  switch (wrapper) {
    case Wrapper::ldmatrix_x1:
      return one_warp(ldmatrix<1, false>);
    case Wrapper::ldmatrix_x2:
      return one_warp(ldmatrix<2, false>);
    case Wrapper::ldmatrix_x4:
      return one_warp(ldmatrix<4, false>);
    case Wrapper::ldmatrix_x1_trans:
      return one_warp(ldmatrix<1, true>);
    case Wrapper::ldmatrix_x2_trans:
      return one_warp(ldmatrix<2, true>);
    case Wrapper::ldmatrix_x4_trans:
      return one_warp(ldmatrix<4, true>);
    case Wrapper::mma_m16n8k16_f16:
      return one_warp(mma<Wrapper::mma_m16n8k16_f16>);
    case Wrapper::mma_m16n8k16_bf16:
      return one_warp(mma<Wrapper::mma_m16n8k16_bf16>);
    case Wrapper::mma_m16n8k8_tf32:
      return one_warp(mma<Wrapper::mma_m16n8k8_tf32>);
    case Wrapper::cp_async_16:
      return one_warp(cp_async<16>);
    case Wrapper::cp_async_8:
      return one_warp(cp_async<8>);
    case Wrapper::cp_async_4:
      return one_warp(cp_async<4>);
    case Wrapper::shuffles:
      return one_warp(shuffles);
    case Wrapper::votes:
      return one_warp(votes);
    case Wrapper::atomics:
      return one_warp(atomics);
    case Wrapper::atomics_16_bit:
      return one_warp(atomics_16_bit);
    case Wrapper::vectors:
      return one_warp(vectors);
    case Wrapper::conversions:
      break;
  }
  return simt::launch(conversions, dim3(static_cast<unsigned>((input_words + 255) / 256)),
                      dim3(256), 0, stream, in, out, static_cast<int>(input_words));
}

}  // namespace halfulp::gpu::HALFULP_BUILD
