// What a bound must know about how a kernel computes. The kernel declares it (gpu/numerics.hpp);
// properties/ops translates; nothing else changes a bound.
#pragma once
#include "reference/format.hpp"

namespace halfulp::reference {

// exp as computed: relative error <= (ulps + floor(ulps_slope * |x|) + 0.5) * 2^-23 [B8].
struct ExponentialModel {
  double ulps = 2;
  double ulps_slope = 0;
  bool base_2 = false;       // computed as 2^(x log2 e), x log2 e rounded
  bool log2e_first = false;  // of a difference x = s - m: 2^(s log2 e - m log2 e) [B24]
  bool flushes = false;      // results below the smallest normal may become zero
};

enum class ClampNan : std::uint8_t { propagate, to_low, to_high, any };

// What a query without an open key gets.
enum class MaskedRow : std::uint8_t { zero, nan, any };

// Products added by tensor cores, `products` of them and the accumulator a step: all are truncated
// towards zero to multiples of 2^(e - alignment_bits), e the largest exponent among them, added
// exactly, and rounded to `compute`: towards zero to fp32, to nearest even to fp16 [B16].
struct TensorCore {
  int alignment_bits = 0;  // F; 0: no tensor cores, IEEE operations in `compute`
  int products = 0;        // L
};

// any: partial sums over any subset of k. contiguous: over contiguous ranges of k alone.
enum class SumOrder : std::uint8_t { any, contiguous };

struct Arithmetic {
  Format input = Format::fp32;        // stored inputs
  Format compute = Format::fp32;      // every operation rounds to nearest in this format
  Format output = Format::fp32;       // one last rounding, to nearest even
  bool product_rounded = true;        // a product may be rounded before it is added (no FMA)
  bool flush_to_zero = false;         // results below the smallest normal may become zero
  bool atomic_flush_to_zero = false;  // the same for atomic additions only
  double scale_roundings = 3.01;      // |fl(t) - t| <= this * u * |t| for a scaled product t
  // Where dim is a power of four, 1/sqrt(dim) is applied without rounding; false for an rsqrt that
  // is not known to be exact there [B9].
  bool scale_exact_at_powers_of_four = true;
  double division_roundings = 1;  // |fl(a/b) - a/b| <= this * u * |a/b|
  ExponentialModel exponential;
  ClampNan clamp_nan = ClampNan::propagate;

  // How long sums of products are split (matmul).
  TensorCore tensor_core;
  SumOrder sum_order = SumOrder::any;
  std::int64_t partials = 1;         // an element is the sum of at most so many partial sums
  std::int64_t partial_longest = 0;  // products in one of them at most; 0: all
  Format partial = Format::fp32;     // they are rounded to it and added in it, in any order [B17]
  // Each operand is first rounded to tf32 with this relative error: 2^-11 to nearest, 2^-10 towards
  // zero; 0: operands are taken as they are [B15].
  double operand_roundoff = 0;

  // Softmax (flash_attention). A weight is exp(score - maximum), before the division.
  Format weight = Format::fp32;     // weights are rounded to it before they multiply v
  bool weight_sum_rounded = false;  // and the denominator adds the rounded ones
  std::int64_t rescales = 0;        // times that a sum may be rescaled to another maximum
  double rescale_lazy = 0;          // a maximum in use may be this far below the true one so far
  bool product_apart = false;       // the product of some keys is summed from zero, then added
  MaskedRow masked_row = MaskedRow::zero;
  bool masked_nan_ignored = false;  // NaN and Inf in k and v of closed keys never show
};

}  // namespace halfulp::reference
