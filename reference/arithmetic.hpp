// What a bound must know about how a kernel computes. The kernel declares it (gpu/numerics.hpp);
// properties/ops translates; nothing else changes a bound.
#pragma once
#include "reference/format.hpp"

namespace halfulp::reference {

// exp as computed: relative error <= (ulps + floor(ulps_slope * |x|) + 0.5) * 2^-23 [B8].
struct ExponentialModel {
  double ulps = 2;
  double ulps_slope = 0;
};

enum class ClampNan : std::uint8_t { propagate, to_low, to_high, any };

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
  double division_roundings = 1;      // |fl(a/b) - a/b| <= this * u * |a/b|
  ExponentialModel exponential;
  ClampNan clamp_nan = ClampNan::propagate;
};

}  // namespace halfulp::reference
