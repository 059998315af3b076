// The arithmetic of one mma output element, without warps or fragments.
//
// The truncating model is that of MMA-Sim (arXiv 2511.10909) and Khattak and Mikaitis (arXiv
// 2512.07004): in each step `block` products and the accumulator are aligned to the largest
// exponent among them, cut to `fraction_bits` below it toward zero, added exactly, and the sum is
// cut to float. A product's exponent is the sum of its factors', not normalised; a subnormal factor
// has the smallest exponent of its format. On sm_90 it equals the device bit for bit
// (tests/gpu/wrappers_gpu_test.cpp).
#pragma once
#include <cstdint>
#include <span>

#include "gpu/simt/session.hpp"

namespace halfulp::gpu::simt {

// significand * 2^(exponent - fraction_bits of its format); special: NaN or infinity, value is in
// `value`.
struct Factor {
  std::int32_t significand = 0;
  int exponent = 0;
  bool special = false;
  double value = 0;
};

enum class FactorFormat : std::uint8_t { f16, bf16, tf32 };
constexpr int fraction_bits(FactorFormat format) { return format == FactorFormat::bf16 ? 7 : 10; }
// `bits`: 16 for f16 and bf16; all 32 of a float for tf32, whose lowest 13 are ignored, as hardware
// does.
Factor decode(FactorFormat format, std::uint32_t bits);

// c + sum of a[k] b[k], k ascending in blocks; a and b have the same length.
float multiply_add(const TensorCore& core, FactorFormat format, float c, std::span<const Factor> a,
                   std::span<const Factor> b);

}  // namespace halfulp::gpu::simt
