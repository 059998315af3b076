// The tensor-core body of a matmul tile: mma on fragments of 16-bit or tf32 elements, copies by
// cp.async several blocks of k ahead, fragments one step of k ahead. See matmul_body.hpp.
#pragma once
#include <cstdint>

#include "gpu/kernels/matmul_loads.hpp"
#include "gpu/kernels/tensor_core.hpp"

namespace halfulp::gpu::HALFULP_BUILD {

// How a block's warps share a tile.
struct MatmulWarps {
  int m = 1, n = 1;
};
constexpr MatmulWarps matmul_warps(int tile_m, int tile_n) {
  if (tile_m > 128) return {4, 2};
  if (tile_n > 128) return {2, 4};
  return tile_n <= 32 ? MatmulWarps{1, 2} : MatmulWarps{2, 2};
}

// As many stages of copies as help: of blocks of up to four warps two fit a multiprocessor; larger
// ones have it alone, less what the cache needs.
constexpr int matmul_stages(int threads, int stage_bytes) {
  const int fit = (threads <= 128 ? 105 : 195) * 1024 / stage_bytes;
  const int most = threads <= 128 ? 4 : 5;
  return fit < most ? fit : most;
}

template <class T, int kM, int kN, int kK>
struct MatmulBodyMma {
  static constexpr MatmulWarps kWarps = matmul_warps(kM, kN);
  static constexpr int kThreads = 32 * kWarps.m * kWarps.n;
  static constexpr int kWarpM = kM / kWarps.m;
  static constexpr int kWarpN = kN / kWarps.n;
  static constexpr int kChunk = 16 / static_cast<int>(sizeof(T));  // elements of one copy
  static constexpr int kStep = 32 / static_cast<int>(sizeof(T));   // k of one mma
  static constexpr int kSteps = kK / kStep;
  // In how many of a block's steps copies are issued: early enough that the barrier before the last
  // step does not wait for them, among as many mma as there are.
  static constexpr int kCopySteps = (kWarpM / 16) * (kWarpN / 8) < 32 ? kSteps / 2 : kSteps - 1;
  static constexpr int kFragmentsA = kWarpM / 16;
  static constexpr int kFragmentsB = kWarpN / 8;
  static constexpr int kStageB = kMatmulTileBytes<T, kM, kK>;  // where a stage's tile of B starts
  static constexpr int kStageBytes = kStageB + kMatmulTileBytes<T, kN, kK>;
  static constexpr int kStages = matmul_stages(kThreads, kStageBytes);
  static constexpr int kSharedBytes = kStages * kStageBytes;
  static_assert(kWarpM % 16 == 0 && kWarpN % 8 == 0 && kK % kStep == 0);
  static_assert(kSteps >= 2 && kSteps % 2 == 0 && kStages >= 2);

  static constexpr bool kPairs = true;  // has for_each_pair

  struct Accumulators {
    float value[kFragmentsA][kFragmentsB][4];
  };

  __device__ static void clear(Accumulators& sums) {
    SIMT_UNROLL
    for (auto& row : sums.value) {
      SIMT_UNROLL
      for (auto& cell : row) {
        SIMT_UNROLL
        for (float& x : cell) x = 0.0f;
      }
    }
  }

  // Adds A[row0 ..., k_begin ... k_end) B[., column0 ...), k ascending; k_begin is a multiple of
  // kK. What lies outside of the matrices counts as zero and is not read.
  __device__ static void accumulate(const Matmul& g, std::int64_t row0, std::int64_t column0,
                                    std::int64_t k_begin, std::int64_t k_end, Accumulators& sums) {
    Place place{row0, column0, static_cast<int>(k_begin), static_cast<int>(k_end)};
    const bool a_inner_k = g.a.inner == 1;
    const bool b_inner_k = g.b.inner == 0;
    const bool whole_rows = a_inner_k || row0 + kM <= g.m || g.m % kChunk == 0;
    const bool whole_columns = b_inner_k || column0 + kN <= g.n || g.n % kChunk == 0;
    if (g.a.aligned && g.b.aligned && whole_rows && whole_columns) {
      const bool whole_k = place.k_end % kChunk == 0 || (!a_inner_k && !b_inner_k);
      Place whole = place;
      if (!whole_k) whole.k_end = place.k_end / kK * kK;
      if (whole.k_begin < whole.k_end) multiply_chunks(g, whole, sums);
      place.k_begin = whole.k_end;
    }
    multiply_any(g, place, sums);
  }

  // Where in the tile this thread's warp has its kWarpM rows and kWarpN columns.
  __device__ static int warp_row() {
    return static_cast<int>(threadIdx.x) / 32 / kWarps.n * kWarpM;
  }
  __device__ static int warp_column() {
    return static_cast<int>(threadIdx.x) / 32 % kWarps.n * kWarpN;
  }

  // visit(row in the tile, column in the tile, float&) for this thread's elements.
  template <class Visit>
  __device__ static void for_each(Accumulators& sums, Visit visit) {
    for_each_pair(sums, [&visit](int row, int column, float& x, float& y) {
      visit(row, column, x);
      visit(row, column + 1, y);
    });
  }

  // visit(row, column, float&, float& of the next column), an even column.
  template <class Visit>
  __device__ static void for_each_pair(Accumulators& sums, Visit visit) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int row = warp_row() + lane / 4;
    const int column = warp_column() + lane % 4 * 2;
    SIMT_UNROLL
    for (int i = 0; i < kFragmentsA; ++i) {
      SIMT_UNROLL
      for (int half = 0; half < 2; ++half) {
        SIMT_UNROLL
        for (int j = 0; j < kFragmentsB; ++j) {
          float(&cell)[4] = sums.value[i][j];
          visit(row + 16 * i + 8 * half, column + 8 * j, cell[2 * half], cell[2 * half + 1]);
        }
      }
    }
  }

 private:
  struct Place {
    std::int64_t row0, column0;
    int k_begin, k_end;
  };
  struct Fragments {
    unsigned a[kFragmentsA][4];
    unsigned b[kFragmentsB][2];
  };

  // 16 rows (columns of B) by one step of k, at (mn, k) of the tile. As A's operand of an mma the
  // order of its 8x8 matrices (16-bit; 8x4 tf32) is mn first, as two operands of B it is k first.
  template <int kMn, bool kInnerK, bool kA>
  __device__ static void load(const unsigned char* tile, int mn, int k, unsigned (&r)[4]) {
    using Layout = MatmulLayout<T, kMn, kK, kInnerK>;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int first = lane / 8 % 2;
    const int second = lane / 16;
    const int mn8 = kA ? first : second;
    const int k8 = kA ? second : first;
    if constexpr (kInnerK) {
      const int row = mn + 8 * mn8 + lane % 8;
      simt::ldmatrix_x4(r, tile + Layout::offset(row, k + kStep / 2 * k8));
    } else if constexpr (!Layout::kSingly) {
      const int row = k + 8 * k8 + lane % 8;
      simt::ldmatrix_x4_trans(r, tile + Layout::offset(row, mn + 8 * mn8));
    } else {
      SIMT_UNROLL
      for (int i = 0; i < 4; ++i) {
        const int row = k + 4 * (kA ? i / 2 : i % 2) + lane % 4;
        const int inner = mn + 8 * (kA ? i % 2 : i / 2) + lane / 4;
        r[i] = *reinterpret_cast<const unsigned*>(tile + Layout::offset(row, inner));
      }
    }
  }
  // One operand of B: 8 columns.
  template <bool kInnerK>
  __device__ static void load_last(const unsigned char* tile, int n, int k, unsigned (&r)[2]) {
    using Layout = MatmulLayout<T, kN, kK, kInnerK>;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int k8 = lane / 8 % 2;
    if constexpr (kInnerK) {
      simt::ldmatrix_x2(r, tile + Layout::offset(n + lane % 8, k + kStep / 2 * k8));
    } else if constexpr (!Layout::kSingly) {
      simt::ldmatrix_x2_trans(r, tile + Layout::offset(k + 8 * k8 + lane % 8, n));
    } else {
      SIMT_UNROLL
      for (int i = 0; i < 2; ++i) {
        const int at = Layout::offset(k + 4 * i + lane % 4, n + lane / 4);
        r[i] = *reinterpret_cast<const unsigned*>(tile + at);
      }
    }
  }

  template <bool kAInnerK, bool kBInnerK>
  __device__ static void load(const unsigned char* stage, int step, Fragments& to) {
    const unsigned char* stage_b = stage + kStageB;
    SIMT_UNROLL
    for (int i = 0; i < kFragmentsA; ++i) {
      load<kM, kAInnerK, true>(stage, warp_row() + 16 * i, step * kStep, to.a[i]);
    }
    SIMT_UNROLL
    for (int j = 0; j + 1 < kFragmentsB; j += 2) {
      unsigned pair[4];
      load<kN, kBInnerK, false>(stage_b, warp_column() + 8 * j, step * kStep, pair);
      SIMT_UNROLL
      for (int i = 0; i < 4; ++i) to.b[j + i / 2][i % 2] = pair[i];
    }
    if constexpr (kFragmentsB % 2 == 1) {
      load_last<kBInnerK>(stage_b, warp_column() + kWarpN - 8, step * kStep, to.b[kFragmentsB - 1]);
    }
  }

  __device__ static void multiply(const Fragments& x, Accumulators& sums) {
    SIMT_UNROLL
    for (int j = 0; j < kFragmentsB; ++j) {
      SIMT_UNROLL
      for (int i = 0; i < kFragmentsA; ++i) {
        mma(T{}, sums.value[i][j], x.a[i], x.b[j]);
      }
    }
  }

  // Aligned matrices, without chunks that are partly outside.
  __device__ static void multiply_chunks(const Matmul& g, const Place& place, Accumulators& sums) {
    const bool a_inner_k = g.a.inner == 1;
    const bool b_inner_k = g.b.inner == 0;
    if (a_inner_k && b_inner_k) {
      multiply<true, true>(g, place, sums);
    } else if (a_inner_k) {
      multiply<true, false>(g, place, sums);
    } else if (b_inner_k) {
      multiply<false, true>(g, place, sums);
    } else {
      multiply<false, false>(g, place, sums);
    }
  }

  // Block `i` of k is in stage i % kStages. While it is multiplied, the copies of the kStages - 1
  // blocks after it are under way; past the last one they are zeros and read nothing.
  template <bool kAInnerK, bool kBInnerK>
  __device__ static void multiply(const Matmul& g, const Place& place, Accumulators& sums) {
    auto* shared = simt::dynamic_shared<unsigned char>();
    const int thread = static_cast<int>(threadIdx.x);
    MatmulCopier<T, kM, kK, kAInnerK, kThreads> copy_a(side_a(g, place.row0), place.row0,
                                                       place.k_begin, place.k_end, thread);
    MatmulCopier<T, kN, kK, kBInnerK, kThreads> copy_b(side_b(g, place.column0), place.column0,
                                                       place.k_begin, place.k_end, thread);
    const auto next = [&] {
      copy_a.next();
      copy_b.next();
      simt::cp_async_commit();
    };
    SIMT_UNROLL
    for (int i = 0; i + 1 < kStages; ++i) {
      copy_a.template copy<1>(shared + i * kStageBytes, 0);
      copy_b.template copy<1>(shared + i * kStageBytes + kStageB, 0);
      next();
    }
    simt::cp_async_wait<kStages - 2>();
    __syncthreads();

    Fragments fragments[2];
    load<kAInnerK, kBInnerK>(shared, 0, fragments[0]);
    int read = 0;  // bytes
    int write = (kStages - 1) * kStageBytes;
#pragma unroll 1
    for (int k = place.k_begin; k < place.k_end; k += kK) {
      SIMT_UNROLL
      for (int step = 0; step < kSteps; ++step) {
        if (step + 1 == kSteps) {  // the last fragments of this block are in registers
          simt::cp_async_wait<kStages - 2>();
          __syncthreads();
          read = read + kStageBytes == kSharedBytes ? 0 : read + kStageBytes;
        }
        load<kAInnerK, kBInnerK>(shared + read, (step + 1) % kSteps, fragments[(step + 1) % 2]);
        if (step < kCopySteps) {  // into the stage that all threads left before the last barrier
          copy_a.template copy<kCopySteps>(shared + write, step);
          copy_b.template copy<kCopySteps>(shared + write + kStageB, step);
        }
        if (step + 1 == kCopySteps) {
          next();
          write = write + kStageBytes == kSharedBytes ? 0 : write + kStageBytes;
        }
        multiply(fragments[step % 2], sums);
      }
    }
    simt::cp_async_wait<0>();
    __syncthreads();
  }

  // Any strides, alignments and sizes, one block of k at a time.
  __device__ static void multiply_any(const Matmul& g, const Place& place, Accumulators& sums) {
    auto* a = simt::dynamic_shared<unsigned char>();
    unsigned char* b = a + kStageB;
#pragma unroll 1
    for (int k = place.k_begin; k < place.k_end; k += kK) {
      matmul_copy_elements<T, kM, kK, kThreads>(side_a(g, place.row0), g.a.inner == 1, place.row0,
                                                k, place.k_end - k, a);
      matmul_copy_elements<T, kN, kK, kThreads>(side_b(g, place.column0), g.b.inner == 0,
                                                place.column0, k, place.k_end - k, b);
      __syncthreads();
#pragma unroll 1
      for (int step = 0; step < kSteps; ++step) {
        Fragments fragments;
        load<true, true>(a, step, fragments);
        multiply(fragments, sums);
      }
      __syncthreads();
    }
  }
};

}  // namespace halfulp::gpu::HALFULP_BUILD
