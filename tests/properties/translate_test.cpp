// What a kernel declares, in the terms of the bounds: the roundings of docs/bounds.md [B9].
#include "properties/translate.hpp"

#include <gtest/gtest.h>

namespace halfulp::properties {
namespace {

reference::Arithmetic scaled(gpu::Scale scale) {
  gpu::Numerics numerics;
  numerics.scale = scale;
  return arithmetic(numerics, gpu::Format::f32, gpu::Format::f32);
}

// Dividing by sqrtf(dim) rounds three times: the product, the root and the quotient.
TEST(Translate, ScaleCountsEveryRounding) {
  EXPECT_GE(scaled(gpu::Scale::reciprocal).scale_roundings, 3.0);
  EXPECT_GE(scaled(gpu::Scale::division).scale_roundings, 3.0);
  EXPECT_GE(scaled(gpu::Scale::rsqrt).scale_roundings, 7.0);
  EXPECT_LT(scaled(gpu::Scale::rsqrt).scale_roundings, 7.1);
}

// sqrt and the reciprocal of a power of two are exact; an rsqrt within 2 ulp need not be.
TEST(Translate, OnlyRsqrtRoundsAtPowersOfFour) {
  EXPECT_TRUE(scaled(gpu::Scale::reciprocal).scale_exact_at_powers_of_four);
  EXPECT_TRUE(scaled(gpu::Scale::division).scale_exact_at_powers_of_four);
  EXPECT_FALSE(scaled(gpu::Scale::rsqrt).scale_exact_at_powers_of_four);
}

TEST(Translate, AtomicsFlushSubnormals) {
  gpu::Numerics numerics;
  EXPECT_FALSE(arithmetic(numerics, gpu::Format::f16, gpu::Format::f16).atomic_flush_to_zero);
  numerics.atomics = true;
  EXPECT_TRUE(arithmetic(numerics, gpu::Format::f16, gpu::Format::f16).atomic_flush_to_zero);
}

}  // namespace
}  // namespace halfulp::properties
