// The IEEE body of a matmul tile, f32 storage: one thread sums an element with one fmaf a product,
// k ascending. See matmul_body.hpp.
#pragma once
#include <cstdint>

#include "gpu/kernels/matmul_loads.hpp"

namespace halfulp::gpu::HALFULP_BUILD {

template <int kM, int kN, int kK>
struct MatmulBodyFma {
  static constexpr int kThreadsN = kN <= 32 ? 8 : 16;
  static constexpr int kThreads = kM * kN <= 32 * 32 ? 64 : kM * kN <= 64 * 64 ? 128 : 256;
  static constexpr int kThreadsM = kThreads / kThreadsN;
  static constexpr int kRows = kM / kThreadsM;  // a thread's elements
  static constexpr int kColumns = kN / kThreadsN;
  // Elements of A and B are kept along k, their rows padded so that neighbours lie in different
  // banks.
  static constexpr int kPitch = kK + 1;
  static constexpr int kSharedBytes = (kM + kN) * kPitch * 4;

  static constexpr bool kPairs = false;

  struct Accumulators {
    float value[kRows][kColumns];
  };

  __device__ static void clear(Accumulators& sums) {
    SIMT_UNROLL
    for (auto& row : sums.value) {
      SIMT_UNROLL
      for (float& x : row) x = 0.0f;
    }
  }

  // Adds A[row0 ..., k_begin ... k_end) B[., column0 ...). What lies outside of the matrices counts
  // as zero and is not read; nothing is added past k_end.
  __device__ static void accumulate(const Matmul& g, std::int64_t row0, std::int64_t column0,
                                    std::int64_t k_begin, std::int64_t k_end, Accumulators& sums) {
    auto* a = simt::dynamic_shared<float>();
    float* b = a + kM * kPitch;
    for (std::int64_t k0 = k_begin; k0 < k_end; k0 += kK) {
      const int depth = static_cast<int>(min(k_end - k0, std::int64_t{kK}));
      copy<kM>(side_a(g, row0), g.a.inner == 1, row0, k0, depth, a);
      copy<kN>(side_b(g, column0), g.b.inner == 0, column0, k0, depth, b);
      __syncthreads();
      for (int k = 0; k < depth; ++k) multiply(a + k, b + k, sums);
      __syncthreads();
    }
  }

  // visit(row in the tile, column in the tile, float&) for this thread's elements.
  template <class Visit>
  __device__ static void for_each(Accumulators& sums, Visit visit) {
    SIMT_UNROLL
    for (int i = 0; i < kRows; ++i) {
      SIMT_UNROLL
      for (int j = 0; j < kColumns; ++j) {
        visit(first_row() + i * kThreadsM, first_column() + j * kThreadsN, sums.value[i][j]);
      }
    }
  }

 private:
  __device__ static int first_row() { return static_cast<int>(threadIdx.x) / kThreadsN; }
  __device__ static int first_column() { return static_cast<int>(threadIdx.x) % kThreadsN; }

  // Neighbouring threads take neighbours along k (along_k), else along m or n.
  template <int kMn>
  __device__ static void copy(const MatmulSide& side, bool along_k, std::int64_t mn0,
                              std::int64_t k0, int depth, float* to) {
    const float* from =
        static_cast<const float*>(side.data) + mn0 * side.stride_mn + k0 * side.stride_k;
    for (int i = static_cast<int>(threadIdx.x); i < kMn * kK; i += kThreads) {
      const int mn = along_k ? i / kK : i % kMn;
      const int k = along_k ? i % kK : i / kMn;
      const bool inside = mn < side.left_mn && k < depth;
      to[mn * kPitch + k] = inside ? from[mn * side.stride_mn + k * side.stride_k] : 0.0f;
    }
  }

  __device__ static void multiply(const float* a, const float* b, Accumulators& sums) {
    float x[kRows];
    float y[kColumns];
    SIMT_UNROLL
    for (int i = 0; i < kRows; ++i) x[i] = a[(first_row() + i * kThreadsM) * kPitch];
    SIMT_UNROLL
    for (int j = 0; j < kColumns; ++j) y[j] = b[(first_column() + j * kThreadsN) * kPitch];
    SIMT_UNROLL
    for (int i = 0; i < kRows; ++i) {
      SIMT_UNROLL
      for (int j = 0; j < kColumns; ++j) sums.value[i][j] = fmaf(x[i], y[j], sums.value[i][j]);
    }
  }
};

}  // namespace halfulp::gpu::HALFULP_BUILD
