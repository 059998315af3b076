#include "properties/translate.hpp"

#include <cmath>

#include "properties/assert.hpp"

namespace halfulp::properties {
namespace {

// Roundings of t = k q / sqrt(dim), in units of the compute format's unit roundoff: product, scale
// factor and the last operation [B9].
double scale_roundings(gpu::Scale scale) {
  switch (scale) {
    case gpu::Scale::none:
      return 0;
    case gpu::Scale::reciprocal:
      return 3.01;  // product, fl(1 / fl(sqrt)), multiplication
    case gpu::Scale::division:
      return 3.01;  // product, fl(sqrt), division
    case gpu::Scale::rsqrt:
      return 7.02;  // product, rsqrtf within 2 ulp, multiplication
  }
  return 0;
}

reference::ExponentialModel exponential(gpu::Exponential model) {
  switch (model) {
    case gpu::Exponential::none:
      return {0, 0};
    case gpu::Exponential::expf:
      return {2, 0};
    case gpu::Exponential::expf_fast:
      return {2, 1.173};  // CUDA C++ Programming Guide
    case gpu::Exponential::exp2f:
      return {.ulps = 2, .base_2 = true};
    case gpu::Exponential::exp2f_fast:
      return {.ulps = 2, .base_2 = true, .flushes = true};  // PTX ISA, ex2.approx.ftz.f32
  }
  return {};
}

reference::MaskedRow masked_row(gpu::MaskedRow policy) {
  switch (policy) {
    case gpu::MaskedRow::zero:
      return reference::MaskedRow::zero;
    case gpu::MaskedRow::nan:
      return reference::MaskedRow::nan;
    case gpu::MaskedRow::any:
      break;
  }
  return reference::MaskedRow::any;
}

// Products of f32 storage are added by IEEE operations [B16].
reference::TensorCore tensor_core(const gpu::Numerics& numerics, gpu::Format input) {
  if (!numerics.tensor_cores || input == gpu::Format::f32 || input == gpu::Format::f64) return {};
  const gpu::TensorCore& core = numerics.tensor_core;
  return {core.alignment_bits,
          input == gpu::Format::tf32 ? core.products_tf32 : core.products_16_bit};
}

// f32 numbers become tf32 operands [B15].
double operand_roundoff(const gpu::Numerics& numerics, gpu::Format input) {
  if (input != gpu::Format::tf32) return 0;
  switch (numerics.operand_rounding) {
    case gpu::OperandRounding::none:
      return 0;
    case gpu::OperandRounding::nearest:
      return 0x1p-11;
    case gpu::OperandRounding::truncated:
      return 0x1p-10;
  }
  return 0;
}

}  // namespace

reference::Format reference_format(gpu::Format format) {
  switch (format) {
    case gpu::Format::f64:
      return reference::Format::fp64;
    case gpu::Format::f32:
      return reference::Format::fp32;
    case gpu::Format::tf32:
      return reference::Format::tf32;
    case gpu::Format::f16:
      return reference::Format::fp16;
    case gpu::Format::bf16:
      return reference::Format::bf16;
    case gpu::Format::i32:
      break;
  }
  HALFULP_ASSERT(false, "i32 is not a floating-point format");
  return reference::Format::fp32;
}

reference::Arithmetic arithmetic(const gpu::Numerics& numerics, gpu::Format input,
                                 gpu::Format output) {
  reference::Arithmetic result;
  result.input = reference_format(input);
  result.compute = reference_format(numerics.accumulator);
  result.output = reference_format(output);
  result.product_rounded = numerics.product_rounded;
  result.flush_to_zero = numerics.flush_to_zero;
  result.atomic_flush_to_zero = numerics.atomics;
  result.scale_roundings = scale_roundings(numerics.scale);
  result.scale_exact_at_powers_of_four = numerics.scale != gpu::Scale::rsqrt;
  result.tensor_core = tensor_core(numerics, input);
  if (numerics.sum_order == gpu::SumOrder::contiguous) {
    result.sum_order = reference::SumOrder::contiguous;
  }
  result.partial = numerics.partial_in_output ? result.output : reference::Format::fp32;
  result.operand_roundoff = operand_roundoff(numerics, input);
  result.division_roundings = numerics.division == gpu::Division::reciprocal ? 2.01 : 1;
  result.exponential = exponential(numerics.exponential);
  result.exponential.log2e_first = numerics.log2e_first;
  result.weight = numerics.weight_in_input ? result.input : result.compute;
  result.weight_sum_rounded = numerics.weight_sum_rounded;
  result.rescale_lazy = numerics.rescale_lazy_bits * std::log(2.0);
  result.product_apart = numerics.product_apart;
  result.masked_nan_ignored = numerics.masked_nan_ignored;
  result.masked_row = masked_row(numerics.masked_row);
  switch (numerics.clamp_nan) {
    case gpu::ClampNan::propagate:
      result.clamp_nan = reference::ClampNan::propagate;
      break;
    case gpu::ClampNan::to_low:
      result.clamp_nan = reference::ClampNan::to_low;
      break;
    case gpu::ClampNan::to_high:
      result.clamp_nan = reference::ClampNan::to_high;
      break;
    case gpu::ClampNan::any:
      result.clamp_nan = reference::ClampNan::any;
      break;
  }
  return result;
}

reference::View view(const gpu::Operand& operand) {
  HALFULP_ASSERT(operand.extent.size() <= 4 && operand.extent.size() == operand.stride.size(),
                 "operand " + operand.name + " has no layout");
  reference::View result;
  result.data = operand.storage.data();
  result.format = reference_format(operand.format);
  for (std::size_t axis = 0; axis < operand.extent.size(); ++axis) {
    result.extent[axis] = operand.extent[axis];
    result.stride[axis] = operand.stride[axis];
  }
  return result;
}

const std::int32_t* indices(const gpu::Operand& operand) {
  HALFULP_ASSERT(operand.format == gpu::Format::i32, operand.name + " holds no indices");
  return reinterpret_cast<const std::int32_t*>(operand.storage.data());
}

}  // namespace halfulp::properties
