// Single instructions of a backend's device, for `halfulp calibrate`: what they give, no judgement.
//
//   const Words d = multiply_add({Backend::cuda}, products);
//   if (!d.error.empty()) ...
//
// Backends host and cuda. Not for use beside run(): after an error the device may be lost.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/kernel.hpp"

namespace halfulp::gpu {

// Where instructions run, and which tensor cores the host executor is to have there.
struct CalibrationTarget {
  Backend backend = Backend::host;
  TensorCore host_tensor_core = kTensorCoreHopper;
};

struct Words {
  std::vector<std::uint32_t> values;
  std::string error;  // what the device reported; empty: nothing
};

// Any number of mma instructions d = a b + c: m16n8k16 for f16 and bf16, m16n8k8 for tf32. An
// element is the low bits of a word; row-major, one instruction after the other: a (16, depth), b
// (depth, 8), c and d (16, 8) in fp32.
struct Products {
  Format format = Format::f16;
  std::vector<std::uint32_t> a, b, c;
};
std::int64_t products_depth(Format format);
Words multiply_add(const CalibrationTarget& target, const Products& products);
// The 16 x 8 results of instruction i by the model of the arithmetic: no device, no fragments.
void multiply_add_modelled(const TensorCore& model, const Products& products, std::size_t i,
                           std::span<std::uint32_t, 128> out);

enum class Instruction : std::uint8_t {
  // Functions of one fp32 argument; fdividef divides a numerator by it.
  expf,
  expf_fast,  // __expf
  exp2f,
  ex2_approx,  // .ftz
  rcp_rn,      // __frcp_rn
  rcp_approx,  // .ftz
  rsqrtf,
  fdividef,
  // Two arguments.
  atomic_add_f32_global,
  atomic_add_f32_shared,
  atomic_add_f16,
  atomic_add_bf16,
  // One argument.
  convert_tf32,  // cvt.rna
};
std::string_view name(Instruction instruction);
// Has the backend this instruction?
bool offers(Backend backend, Instruction instruction);

// out[i] = instruction(a[i], b[i]); a function takes its argument from `a`, and fdividef its
// numerator from `b`. Both have the same length; 16-bit numbers are the low bits of a word.
Words apply(const CalibrationTarget& target, Instruction instruction,
            std::span<const std::uint32_t> a, std::span<const std::uint32_t> b);

// |computed - f(x)| <= ulps + floor(ulps_slope |x|), in ulp: the spacing of fp32 numbers at the
// larger of the two.
struct UlpLimit {
  double ulps = 0.5;
  double ulps_slope = 0;
  double at(double x) const;
};

struct SweepSample {
  float x = 0;
  float numerator = 0;  // of fdividef: in [1, 2), made from the bits of x
  float result = 0;
  double ulps = 0;  // off, by the device's own fp64
};
// A function over every `stride`-th fp32 number, in equal ranges of their patterns: the worst of
// each range against the limit. Only where the true value is a normal number, and the argument one
// that the instruction takes (a normal one where it flushes).
struct Sweep {
  std::vector<SweepSample> worst;
  std::int64_t inputs = 0;  // how many were in the domain
  std::string error;
};
Sweep sweep(const CalibrationTarget& target, Instruction function, UlpLimit limit,
            std::uint32_t stride);

}  // namespace halfulp::gpu
