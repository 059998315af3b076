// The online softmax of one warp's rows: maxima and sums so far, and weights out of a tile's
// scores.
//
// Part of a kernel's translation unit, like access.hpp.
#pragma once
#include "gpu/kernels/flash_attention_body_products.hpp"

namespace halfulp::gpu::HALFULP_BUILD {

// Each thread sums its own columns; the four threads of a row have its maximum in common.
template <class Shape>
struct FlashSoftmax {
  float maximum[Shape::kRowTiles][2];
  float sum[Shape::kRowTiles][2];
  // What multiplies the sums of the tiles before the last one.
  float rescale[Shape::kRowTiles][2];

  __device__ void clear() {
    SIMT_UNROLL
    for (int i = 0; i < Shape::kRowTiles; ++i) {
      SIMT_UNROLL
      for (int lower = 0; lower < 2; ++lower) {
        maximum[i][lower] = -__int_as_float(0x7f800000);
        sum[i][lower] = 0.0f;
      }
    }
  }

  // Replaces scores by 2^(factor (score - maximum)), factor above 0. A closed key's score is -inf.
  // The difference comes first: it is exactly 0 at the maximum, and the lowest number times log2 e
  // would be -inf.
  // A NaN among the scores is not the maximum, but its weight is NaN.
  __device__ void weigh(float factor, FlashScores<Shape>& scores) {
    SIMT_UNROLL
    for (int i = 0; i < Shape::kRowTiles; ++i) {
      SIMT_UNROLL
      for (int lower = 0; lower < 2; ++lower) {
        float largest = maximum[i][lower];
        SIMT_UNROLL
        for (int j = 0; j < Shape::kKeys / 8; ++j) {
          const float(&score)[4] = scores.value[i][j];
          largest = fmaxf(largest, fmaxf(score[2 * lower], score[2 * lower + 1]));
        }
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 1));
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 2));
        const float subtracted = finite_maximum(largest);
        rescale[i][lower] = simt::exp2_approx((maximum[i][lower] - subtracted) * factor);
        maximum[i][lower] = largest;
        float total = 0.0f;
        SIMT_UNROLL
        for (int j = 0; j < Shape::kKeys / 8; ++j) {
          SIMT_UNROLL
          for (int e = 2 * lower; e < 2 * lower + 2; ++e) {
            float& score = scores.value[i][j][e];
            score = simt::exp2_approx((score - subtracted) * factor);
            total += score;
          }
        }
        sum[i][lower] = fmaf(sum[i][lower], rescale[i][lower], total);
      }
    }
  }

  __device__ void rescale_sums(FlashSums<Shape>& out) const {
    for_each_pair(out.value, [&](int i, int lower, int, float& x, float& y) {
      x *= rescale[i][lower];
      y *= rescale[i][lower];
    });
  }

  // The whole sum of the row, in all of its threads.
  __device__ float row_sum(int i, int lower) const {
    float total = sum[i][lower];
    total += __shfl_xor_sync(0xffffffffu, total, 1);
    total += __shfl_xor_sync(0xffffffffu, total, 2);
    return total;
  }
};

}  // namespace halfulp::gpu::HALFULP_BUILD
