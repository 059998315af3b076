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

// expf_fast is __expf. exp2f and exp2f_fast compute e^x as 2^(x log2 e); the latter is
// ex2.approx.ftz, whose results below the normal range are zero.
enum class Exponential : std::uint8_t { none, expf, expf_fast, exp2f, exp2f_fast };
enum class Division : std::uint8_t { none, ieee, reciprocal };  // reciprocal: a * fl(1 / b)
// How 1/sqrt(dim) is applied.
enum class Scale : std::uint8_t { none, reciprocal, division, rsqrt };
enum class ClampNan : std::uint8_t { propagate, to_low, to_high, any };
// What a query without an open key gets.
enum class MaskedRow : std::uint8_t { zero, nan, any };

// How tensor cores add: in each step a block of products and the accumulator are truncated to
// multiples of 2^(e - alignment_bits), e the largest exponent among them, added exactly, and
// truncated to fp32. All zero: no tensor cores.
struct TensorCore {
  int alignment_bits = 0;
  int products_16_bit = 0;  // products a step, f16 and bf16
  int products_tf32 = 0;
};
inline constexpr TensorCore kTensorCoreAmpere{24, 8, 4};  // and Ada
inline constexpr TensorCore kTensorCoreHopper{25, 16, 8};
// Bounds both: where the device's own model is not known.
inline constexpr TensorCore kTensorCoreAny{23, 4, 4};

// any: partial sums over any subset of k. contiguous: over contiguous ranges of k alone.
enum class SumOrder : std::uint8_t { any, contiguous };
// How many partial sums one output element may have: what the settings `splits` or `programs` make
// of it, or at most `partials_most`.
enum class Partials : std::uint8_t { one, splits, programs, fixed };
// f32 operands of tf32 products: taken as they are (and so already tf32), rounded to nearest, or
// truncated.
enum class OperandRounding : std::uint8_t { none, nearest, truncated };

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

  // Products of f16, bf16 and tf32 storage are added by tensor cores; of f32 storage by IEEE
  // operations. `numerics_on` fills in the device's model.
  bool tensor_cores = false;
  TensorCore tensor_core = {};
  OperandRounding operand_rounding = OperandRounding::none;
  SumOrder sum_order = SumOrder::any;
  Partials partials = Partials::one;
  int partials_most = 1;           // Partials::fixed
  bool partial_in_output = false;  // partial sums are rounded to the output's format; else to f32

  // Softmax of flash_attention. A weight is exp(score - maximum), before the division.
  // exp2f: 2^(s log2 e - m log2 e), no weight exactly 1, rather than 2^((s - m) log2 e).
  bool log2e_first = false;
  bool weight_in_input = false;     // weights are rounded to the input's format, then multiply v
  bool weight_sum_rounded = false;  // and the denominator adds the rounded ones
  bool rescaled = false;      // online: sums are rescaled at every tile of keys whose maximum grows
  int rescale_lazy_bits = 0;  // rescaling may wait until the maximum has grown by this, in log2
  bool product_apart = false;  // a tile's product with v is summed from zero, then added
  MaskedRow masked_row = MaskedRow::zero;
  bool masked_nan_ignored = false;  // NaN and Inf in k and v of closed keys never show
};
// One line: "acc=f32 exp=expf div=ieee ... repeatable".
std::string describe(const Numerics& numerics);

}  // namespace halfulp::gpu
