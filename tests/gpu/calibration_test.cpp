// The instructions of gpu/calibration.hpp on each backend against plain arithmetic: operands arrive
// where they should. Built once for each backend, HALFULP_TEST_BACKEND.
#include "gpu/calibration.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <span>

#include "gpu/backend.hpp"
#include "tests/device.hpp"

namespace halfulp::gpu {
namespace {

class Calibration : public testing::TestWithParam<Backend> {
 protected:
  void SetUp() override { HALFULP_NEED_DEVICE(unavailable_reason(GetParam())); }
  CalibrationTarget target() const { return {GetParam()}; }
};

std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }

// Integers of up to 15, whose bits in these formats are those of fp32 shifted and rebiased.
std::uint32_t small(Format format, int value) {
  if (format != Format::f16)
    return bits(static_cast<float>(value)) >> (format == Format::bf16 ? 16 : 0);
  if (value == 0) return 0;
  const std::uint32_t wide = bits(static_cast<float>(std::abs(value)));
  return (value < 0 ? 0x8000u : 0u) | ((wide - (112u << 23)) >> 13);
}

TEST_P(Calibration, ProductsAreRowMajor) {
  for (const Format format : {Format::f16, Format::bf16, Format::tf32}) {
    const auto depth = static_cast<int>(products_depth(format));
    constexpr int kCount = 3;
    Products products;
    products.format = format;
    const auto a = [](int i, int m, int k) { return (7 * m + 5 * k + 3 * i) % 13 - 6; };
    const auto b = [](int i, int k, int n) { return (3 * n + 11 * k + i) % 15 - 7; };
    const auto c = [](int i, int m, int n) { return 1000 * i + 10 * m + n; };
    for (int i = 0; i < kCount; ++i) {
      for (int e = 0; e < 16 * depth; ++e) {
        products.a.push_back(small(format, a(i, e / depth, e % depth)));
      }
      for (int e = 0; e < depth * 8; ++e) products.b.push_back(small(format, b(i, e / 8, e % 8)));
      for (int e = 0; e < 128; ++e) {
        products.c.push_back(bits(static_cast<float>(c(i, e / 8, e % 8))));
      }
    }
    const Words device = multiply_add(target(), products);
    std::array<std::uint32_t, 128 * kCount> model;
    for (std::size_t i = 0; i < kCount; ++i) {
      const auto out = std::span(model).subspan(128 * i).first<128>();
      multiply_add_modelled(kTensorCoreHopper, products, i, out);
    }
    ASSERT_EQ(device.error, "");
    ASSERT_EQ(device.values.size(), 128u * kCount);
    for (int e = 0; e < 128 * kCount; ++e) {
      const int i = e / 128, m = e % 128 / 8, n = e % 8;
      int sum = c(i, m, n);
      for (int k = 0; k < depth; ++k) sum += a(i, m, k) * b(i, k, n);
      const auto at = static_cast<std::size_t>(e);
      EXPECT_EQ(std::bit_cast<float>(device.values[at]), static_cast<float>(sum)) << e;
      EXPECT_EQ(std::bit_cast<float>(model[at]), static_cast<float>(sum)) << e;
    }
  }
}

TEST_P(Calibration, FunctionsAndAtomicsAreApplied) {
  const auto one = [&](Instruction instruction, float a, float b) {
    const std::vector<std::uint32_t> x(200, bits(a)), y(200, bits(b));
    const Words words = apply(target(), instruction, x, y);
    EXPECT_EQ(words.error, "") << name(instruction);
    for (const std::uint32_t word : words.values) EXPECT_EQ(word, words.values.front());
    return std::bit_cast<float>(words.values.front());
  };
  EXPECT_EQ(one(Instruction::atomic_add_f32_global, 3, 4), 7.0f);
  EXPECT_EQ(one(Instruction::atomic_add_f32_shared, -3, 4), 1.0f);
  EXPECT_EQ(one(Instruction::rcp_rn, 8, 0), 0.125f);
  // Which function is which, by values far from one another.
  const std::map<Instruction, float> at_4{
      {Instruction::expf, 54.598f},     {Instruction::expf_fast, 54.598f},
      {Instruction::exp2f, 16.0f},      {Instruction::ex2_approx, 16.0f},
      {Instruction::rcp_approx, 0.25f}, {Instruction::rsqrtf, 0.5f},
      {Instruction::fdividef, 6.0f / 4}};
  for (const auto& [instruction, value] : at_4) {
    EXPECT_LT(std::abs(one(instruction, 4, 6) / value - 1), 0x1p-13f) << name(instruction);
  }
}

// Without a limit on the error the worst is the one furthest off; every input is looked at once.
TEST_P(Calibration, SweepsCoverTheirDomain) {
  const std::uint32_t stride = GetParam() == Backend::cuda ? 1 : 65536;
  const Sweep all = sweep(target(), Instruction::rcp_rn, {1, 0}, stride);
  ASSERT_EQ(all.error, "");
  // 1 / x is normal for 2^-128 < |x| <= 2^126: 252 binades, the power of two above them, and
  // three quarters of the subnormal numbers, of either sign.
  const std::int64_t numbers =
      2 * (252 * (std::int64_t{1} << 23) + 1 + 3 * (std::int64_t{1} << 21) - 1);
  if (stride == 1) {
    EXPECT_EQ(all.inputs, numbers);
  } else {
    EXPECT_LT(std::abs(static_cast<double>(all.inputs) * stride / static_cast<double>(numbers) - 1),
              0.001);
  }
  double worst = 0;
  for (const SweepSample& sample : all.worst) {
    EXPECT_EQ(sample.result, 1 / sample.x);
    worst = std::max(worst, sample.ulps);
  }
  EXPECT_LE(worst, 0.5 + 0x1p-28);
  EXPECT_GT(worst, 0.49);
}

INSTANTIATE_TEST_SUITE_P(On, Calibration, testing::Values(Backend::HALFULP_TEST_BACKEND));

}  // namespace
}  // namespace halfulp::gpu
