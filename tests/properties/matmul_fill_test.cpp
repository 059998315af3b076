// Probes of matmul are exact whatever the order of summation: the reference demands their answer to
// the bit of every kernel with fp32 sums. And each shows the fault that it is for.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "properties/check.hpp"
#include "properties/fill.hpp"
#include "properties/matmul_probe.hpp"
#include "properties/spec.hpp"
#include "tests/properties/materialised.hpp"

namespace halfulp::properties {
namespace {

Case case_of(const std::string& kernel_and_fields) {
  const Parsed parsed = parse("matmul " + kernel_and_fields);
  EXPECT_EQ(parsed.error.what, "") << kernel_and_fields;
  return parsed.value;
}

gpu::Numerics fp32_sums(bool contiguous) {
  gpu::Numerics numerics;
  numerics.product_rounded = false;
  numerics.repeatable = false;
  numerics.tensor_cores = true;
  numerics.tensor_core = contiguous ? gpu::kTensorCoreHopper : gpu::kTensorCoreAny;
  numerics.sum_order = contiguous ? gpu::SumOrder::contiguous : gpu::SumOrder::any;
  numerics.operand_rounding = gpu::OperandRounding::truncated;
  numerics.partials = gpu::Partials::programs;
  return numerics;
}

// Largest bound of an element, and how many have one.
struct Bounds {
  double largest = 0;
  std::int64_t inexact = 0;
  std::int64_t elements = 0;
};
Bounds bounds_of(const Case& c, const gpu::Numerics& numerics) {
  Bounds bounds;
  const Operation& operation = *find_operation("matmul");
  operation.evaluate(operation.materialise(c), numerics, [&](const reference::Rows& rows) {
    for (const double bound : rows.bound) {
      bounds.largest = std::max(bounds.largest, bound);
      bounds.inexact += bound > 0 ? 1 : 0;
      ++bounds.elements;
    }
  });
  return bounds;
}

TEST(MatmulFill, ProbesHaveNoBound) {
  for (const Fill& fill : fills()) {
    if (!fill.probe || fill.operations != "matmul") continue;
    for (const char* in : {"f32", "f16", "bf16", "tf32"}) {
      if (fill.name == "M4-low" && in == std::string("tf32")) continue;  // these are rounded
      for (const char* sizes :
           {"m=9 n=7 k=70", "m=40 n=33 k=1", "m=3 n=5 k=3000", "m=17 n=16 k=2"}) {
        for (const bool contiguous : {true, false}) {
          const Case c = case_of("fake_right programs=5 seed=0x77 " + std::string(sizes) +
                                 " in=" + in + " fill=" + std::string(fill.name));
          const Bounds bounds = bounds_of(c, fp32_sums(contiguous));
          EXPECT_EQ(bounds.inexact, 0)
              << print(c) << " of " << bounds.elements << ", " << bounds.largest;
        }
      }
    }
  }
}

TEST(MatmulFill, M3IsExactInHalvesToo) {
  for (const char* in : {"f16", "bf16"}) {
    const Case c = case_of("fake_right m=5 n=6 k=5000 programs=7 fill=M3 in=" + std::string(in));
    gpu::Numerics numerics = fp32_sums(true);
    numerics.partial_in_output = true;
    EXPECT_EQ(bounds_of(c, numerics).inexact, 0);
  }
}

// What the generator of cases relies on: the test of exactness refuses what is not.
TEST(MatmulFill, InexactDataAreRefused) {
  const Operation& operation = *find_operation("matmul");
  EXPECT_EQ(inexact_row(operation.materialise(case_of("fake_right m=3 n=3 k=40 fill=M2")), 24), "");
  EXPECT_NE(inexact_row(operation.materialise(case_of("fake_right m=3 n=3 k=400 fill=M2")), 8), "");
  EXPECT_NE(inexact_row(operation.materialise(case_of("fake_right m=3 n=3 k=40 fill=normal")), 24),
            "");
}

TEST(MatmulFill, SubnormalAndLargestNumbersAreCopied) {
  for (const char* in : {"f16", "bf16", "tf32", "f32"}) {
    const gpu::Problem problem = find_operation("matmul")->materialise(
        case_of("fake_right m=4 n=64 k=64 fill=M4 seed=0x4 in=" + std::string(in)));
    const reference::Format format = reference_format(problem.operand("b").format);
    const double normal = std::ldexp(1.0, reference::traits(format).exponent_min);
    bool subnormal = false, largest = false;
    for (const double x : numbers(problem, "b")) {
      subnormal |= x != 0 && std::fabs(x) < normal;
      const double most = reference::largest_finite(format);
      largest |= std::fabs(x) == (format == reference::Format::fp32 ? most / 2 : most);
      EXPECT_TRUE(x != 0 && std::isfinite(x));
    }
    EXPECT_TRUE(subnormal && largest) << in;
  }
}

// Sums halfway between two outputs, by value.
TEST(MatmulFill, TiesAreTies) {
  const gpu::Problem problem = find_operation("matmul")->materialise(
      case_of("fake_right in=f16 m=8 n=16 k=5 fill=M7 seed=0x8"));
  std::set<double> sums;
  const auto a = numbers(problem, "a"), b = numbers(problem, "b");
  for (std::size_t i = 0; i < 8; ++i) {
    for (std::size_t j = 0; j < 16; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < 5; ++k) sum += a[i * 5 + k] * b[k * 16 + j];
      sums.insert(std::fabs(sum));
    }
  }
  for (const double sum :
       {2049.0, 2051.0, 2049.0 + 0x1p-10, 65519.0, 65520.0, 65536.0, 7 * 0x1p-25}) {
    EXPECT_TRUE(sums.contains(sum)) << sum;
  }
}

// One number that is not finite; infinities meet zeros, which some kernels take for nothing to add.
TEST(MatmulFill, SpecialNumbersMeetZeros) {
  int infinities = 0, invalid = 0;
  for (int seed = 1; seed <= 60; ++seed) {
    const gpu::Problem p = find_operation("matmul")->materialise(
        case_of("fake_right in=f16 m=5 n=6 k=4 fill=special seed=" + std::to_string(seed)));
    const auto a = numbers(p, "a"), b = numbers(p, "b");
    const auto finite = [](double x) { return std::isfinite(x); };
    EXPECT_EQ(std::ranges::count_if(a, finite) + std::ranges::count_if(b, finite),
              5 * 4 + 4 * 6 - 1);
    bool any_infinity = false, any_invalid = false;
    for (std::size_t i = 0; i < 5; ++i) {
      for (std::size_t j = 0; j < 6; ++j) {
        for (std::size_t k = 0; k < 4; ++k) {
          const double x = a[i * 4 + k], y = b[k * 6 + j];
          any_infinity |= std::isinf(x * y);
          any_invalid |= std::isnan(x * y) && !std::isnan(x) && !std::isnan(y);
        }
      }
    }
    infinities += any_infinity;
    invalid += any_invalid;
  }
  EXPECT_GE(infinities, 30);
  EXPECT_GE(invalid, 20);
}

std::string verdict(const std::string& kernel_and_fields) {
  return std::string(name(judge(case_of(kernel_and_fields)).verdict));
}

TEST(MatmulFill, ProbesShowTheirFaults) {
  for (const char* in : {"f16", "bf16"}) {
    const std::string rest = " m=6 n=5 k=300 seed=0x5 in=" + std::string(in) + " fill=";
    for (const char* fill : {"M1", "M5", "M8", "M6"}) {
      EXPECT_EQ(verdict("fake_dropped" + rest + fill), "fail") << fill;
    }
    for (const char* fill : {"M2", "M4", "normal"}) {
      EXPECT_EQ(
          verdict("fake_swapped m=600 n=5 k=300 seed=0x5 in=" + std::string(in) + " fill=" + fill),
          "fail")
          << fill;
    }
    for (const char* fill : {"M5", "chunks"}) {
      EXPECT_EQ(verdict("fake_rounded" + rest + fill), "fail") << fill;
    }
    EXPECT_EQ(verdict("fake_rounded" + rest + "M3"), "pass");
  }
  EXPECT_EQ(verdict("fake_rounded m=6 n=5 k=300 in=f16 fill=M6"), "fail");
  EXPECT_EQ(verdict("fake_converted m=6 n=5 k=300 in=f32 fill=low_bit"), "fail");
  EXPECT_EQ(verdict("fake_converted m=6 n=5 k=300 in=f32 fill=M4-low"), "fail");
  EXPECT_EQ(verdict("fake_converted m=6 n=5 k=300 in=tf32 fill=low_bit"), "pass");
  EXPECT_EQ(verdict("fake_truncated m=60 n=50 k=30 in=f16 fill=M7"), "fail");
  EXPECT_EQ(verdict("fake_truncated m=60 n=50 k=30 in=bf16 fill=M7"), "fail");
}

}  // namespace
}  // namespace halfulp::properties
