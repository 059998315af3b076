// The two matrix products of a tile on tensor cores, by one warp: scores += q k^T and out += w v,
// on fragments of 16-bit or tf32 elements.
//
// A warp has kWarpRows rows of q, in kRowTiles tiles of 16. Of a row and eight columns of scores or
// out a thread holds what mma leaves it: columns 2 (lane % 4) and the next, of rows lane / 4 (first
// and second element) and 8 below it (third and fourth).
//
// Part of a kernel's translation unit, like access.hpp.
#pragma once
#include <cstdint>
#include <cstring>

#include "gpu/kernels/flash_attention_body_loads.hpp"
#include "gpu/kernels/flash_attention_mma.hpp"
#include "gpu/kernels/tensor_core.hpp"

namespace halfulp::gpu::HALFULP_BUILD {

// What is fixed for a storage type and up to kD channels.
template <class T, int kD>
struct FlashShape {
  using Element = T;
  static constexpr int kDim = kD;
  static constexpr int kKeys = kFlashKeysMma;
  static constexpr int kStep = 32 / static_cast<int>(sizeof(T));  // k of one mma
  static constexpr bool kHalves = sizeof(T) == 2;                 // elements of 16 bits
  static constexpr int kRowTiles = kD <= (kHalves ? 128 : 64) ? 2 : 1;
  static constexpr int kWarpRows = 16 * kRowTiles;
  static constexpr int kThreadsMost = 128 / kWarpRows * 32;
  // A stage holds some channels of a tile of k or v.
  static constexpr int kPartWidth = kHalves && kD > 64 ? 128 : 64;
  static constexpr int kParts = kD / kPartWidth;
  static constexpr int kStages = kD == (kHalves ? 128 : 64) ? 2 : 3;
  static constexpr int kStageBytes = kKeys * FlashRows<T, kPartWidth>::kPitch;
  // Whether fragments of q stay in registers.
  static constexpr bool kQueriesKept = kRowTiles * kD <= 128 && (kHalves || kD == 128);
  // 16-byte chunks of a stage for each thread, at least.
  static constexpr int kBatch = kKeys * FlashRows<T, kPartWidth>::kRowChunks / kThreadsMost;

  using Queries = FlashRows<T, kD>;
  using Part = FlashRows<T, kPartWidth>;
  using MaskTile = FlashMaskTile<T, kWarpRows, kKeys>;
};

template <class Shape>
struct FlashScores {
  float value[Shape::kRowTiles][Shape::kKeys / 8][4];
};
template <class Shape>
struct FlashSums {
  float value[Shape::kRowTiles][Shape::kDim / 8][4];
};
// Weights as operands of the second product: rounded to 16 bits, or left to the tensor core, which
// truncates them to tf32.
template <class Shape>
struct FlashWeights {
  unsigned value[Shape::kRowTiles][Shape::kKeys / Shape::kStep][4];
};
// The warp's fragments of q.
template <class Shape>
struct FlashQueries {
  static constexpr int kSteps = Shape::kQueriesKept ? Shape::kDim / Shape::kStep : 1;
  unsigned value[Shape::kRowTiles][kSteps][4];
};

// visit(tile of rows, 1 for the rows 8 lower, group of 8 columns, columns 0 and 1 of the thread's).
template <int kRowTiles, int kColumns, class Visit>
__device__ inline void for_each_pair(float (&values)[kRowTiles][kColumns][4], const Visit& visit) {
  SIMT_UNROLL
  for (int i = 0; i < kRowTiles; ++i) {
    SIMT_UNROLL
    for (int lower = 0; lower < 2; ++lower) {
      SIMT_UNROLL
      for (int j = 0; j < kColumns; ++j) {
        visit(i, lower, j, values[i][j][2 * lower], values[i][j][2 * lower + 1]);
      }
    }
  }
}

template <class Values>
__device__ inline void clear(Values& values) {
  for_each_pair(values.value, [](int, int, int, float& x, float& y) { x = y = 0.0f; });
}

// Rows row ... row + 15 of q, channels of the mma of number `step`.
template <class Shape>
__device__ inline void load_queries(const unsigned char* tile, int row, int step,
                                    unsigned (&a)[4]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  simt::ldmatrix_x4(a, tile + Shape::Queries::offset(row + lane % 16, 2 * step + lane / 16));
}

// All that stay in registers; `row`: the warp's first.
template <class Shape>
__device__ inline void keep_queries(const unsigned char* tile, int row,
                                    FlashQueries<Shape>& queries) {
  if constexpr (Shape::kQueriesKept) {
    SIMT_UNROLL
    for (int i = 0; i < Shape::kRowTiles; ++i) {
      SIMT_UNROLL
      for (int step = 0; step < FlashQueries<Shape>::kSteps; ++step) {
        load_queries<Shape>(tile, row + 16 * i, step, queries.value[i][step]);
      }
    }
  }
}

// Adds the products over the channels of the part of k of number `number`: a constant, after
// inlining, where fragments of q stay in registers.
template <class Shape>
__device__ __forceinline__ void add_scores(int number, const unsigned char* part,
                                           const unsigned char* query_tile, int row,
                                           const FlashQueries<Shape>& queries,
                                           FlashScores<Shape>& scores) {
  constexpr int kSteps = Shape::kPartWidth / Shape::kStep;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  SIMT_UNROLL
  for (int step = 0; step < kSteps; ++step) {
    unsigned a[Shape::kRowTiles][4];
    SIMT_UNROLL
    for (int i = 0; i < Shape::kRowTiles; ++i) {
      if constexpr (Shape::kQueriesKept) {
        memcpy(a[i], queries.value[i][number * kSteps + step], sizeof a[i]);
      } else {
        load_queries<Shape>(query_tile, row + 16 * i, number * kSteps + step, a[i]);
      }
    }
    SIMT_UNROLL
    for (int pair = 0; pair < Shape::kKeys / 16; ++pair) {
      unsigned b[4];
      const int key = 16 * pair + lane / 16 * 8 + lane % 8;
      simt::ldmatrix_x4(b, part + Shape::Part::offset(key, 2 * step + lane / 8 % 2));
      SIMT_UNROLL
      for (int i = 0; i < Shape::kRowTiles; ++i) {
        mma(typename Shape::Element{}, scores.value[i][2 * pair], a[i], {b[0], b[1]});
        mma(typename Shape::Element{}, scores.value[i][2 * pair + 1], a[i], {b[2], b[3]});
      }
    }
  }
}

// Two neighbours as one register of an operand.
template <class T>
__device__ inline unsigned flash_packed(float x, float y) {
  const T pair[2] = {from_float<T>(x), from_float<T>(y)};
  unsigned bits;
  memcpy(&bits, pair, sizeof bits);
  return bits;
}

// A thread's weights are, as they lie, what mma takes from it, if the keys of a tf32 product are
// taken in the order 0 2 4 6 1 3 5 7.
template <class Shape>
__device__ inline void make_operands(const FlashScores<Shape>& weights,
                                     FlashWeights<Shape>& operands) {
  using T = typename Shape::Element;
  SIMT_UNROLL
  for (int i = 0; i < Shape::kRowTiles; ++i) {
    SIMT_UNROLL
    for (int step = 0; step < Shape::kKeys / Shape::kStep; ++step) {
      unsigned(&a)[4] = operands.value[i][step];
      SIMT_UNROLL
      for (int r = 0; r < 4; ++r) {
        if constexpr (sizeof(T) == 2) {
          const float(&w)[4] = weights.value[i][2 * step + r / 2];
          a[r] = flash_packed<T>(w[r % 2 * 2], w[r % 2 * 2 + 1]);
        } else {
          a[r] = __float_as_uint(weights.value[i][step][r % 2 * 2 + r / 2]);
        }
      }
    }
  }
}

// Keys of the mma of number `step` by 16 channels of a part of v, as two operands.
template <class Shape>
__device__ inline void load_values(const unsigned char* part, int step, int channel,
                                   unsigned (&b)[4]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int chunk = channel / Shape::Part::kChunk;
  if constexpr (sizeof(typename Shape::Element) == 2) {
    const int key = Shape::kStep * step + lane % 16;
    simt::ldmatrix_x4_trans(b, part + Shape::Part::offset(key, chunk + lane / 16));
  } else {
    const unsigned char* first = part + Shape::Part::offset(lane % 4 * 2, 0) + lane / 4 * 4;
    SIMT_UNROLL
    for (int r = 0; r < 4; ++r) {
      const int at = Shape::Part::offset(Shape::kStep * step + r % 2, chunk + r / 2 * 2);
      b[r] = *reinterpret_cast<const unsigned*>(first + at);
    }
  }
}

// Adds the products of the tile's weights with one part of v. kApart: sums over the tile's keys
// start from zero and are added to out times `rescale` by an FMA; else out has been rescaled and
// goes through the tensor core.
template <class Shape, int kPart, bool kApart>
__device__ inline void add_values(const unsigned char* part, const FlashWeights<Shape>& weights,
                                  const float (&rescale)[Shape::kRowTiles][2],
                                  FlashSums<Shape>& out) {
  SIMT_UNROLL
  for (int pair = 0; pair < Shape::kPartWidth / 16; ++pair) {
    constexpr int kFirst = kPart * (Shape::kPartWidth / 8);
    float product[Shape::kRowTiles][2][4];
    for_each_pair(product, [&](int i, int lower, int j, float& x, float& y) {
      const float(&from)[4] = out.value[i][kFirst + 2 * pair + j];
      x = kApart ? 0.0f : from[2 * lower];
      y = kApart ? 0.0f : from[2 * lower + 1];
    });
    SIMT_UNROLL
    for (int step = 0; step < Shape::kKeys / Shape::kStep; ++step) {
      unsigned b[4];
      load_values<Shape>(part, step, 16 * pair, b);
      SIMT_UNROLL
      for (int i = 0; i < Shape::kRowTiles; ++i) {
        mma(typename Shape::Element{}, product[i][0], weights.value[i][step], {b[0], b[1]});
        mma(typename Shape::Element{}, product[i][1], weights.value[i][step], {b[2], b[3]});
      }
    }
    for_each_pair(product, [&](int i, int lower, int j, float& x, float& y) {
      float(&to)[4] = out.value[i][kFirst + 2 * pair + j];
      to[2 * lower] = kApart ? fmaf(to[2 * lower], rescale[i][lower], x) : x;
      to[2 * lower + 1] = kApart ? fmaf(to[2 * lower + 1], rescale[i][lower], y) : y;
    });
  }
}

}  // namespace halfulp::gpu::HALFULP_BUILD
