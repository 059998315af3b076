// What a kernel declares about its arithmetic. Printed by `halfulp list` and in reports, and the
// only thing that changes a kernel's bound.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace halfulp::gpu {

enum class Format : std::uint8_t { f64, f32, tf32, f16, bf16, i32 };
std::string_view name(Format format);
std::int64_t size_bytes(Format format);

enum class Exponential : std::uint8_t { none, expf, expf_fast };  // expf_fast is __expf
enum class Division : std::uint8_t { none, ieee, reciprocal };    // reciprocal: a * fl(1 / b)
// How 1/sqrt(dim) is applied.
enum class Scale : std::uint8_t { none, reciprocal, division, rsqrt };
enum class ClampNan : std::uint8_t { propagate, to_low, to_high, any };

struct Numerics {
  // Storage formats are the case's; arithmetic is done in this one.
  Format accumulator = Format::f32;
  bool product_rounded = true;  // a product may be rounded before it is added (no FMA)
  bool atomics = false;         // sums use global fp32 atomicAdd, which flushes subnormals on a GPU
  bool flush_to_zero = false;
  bool repeatable = true;  // same input, same bits, whatever the schedule
  Scale scale = Scale::none;
  Exponential exponential = Exponential::none;
  Division division = Division::none;
  ClampNan clamp_nan = ClampNan::propagate;
};
// One line: "acc=f32 exp=expf div=ieee ... repeatable".
std::string describe(const Numerics& numerics);

}  // namespace halfulp::gpu
