// Bounds of matmul elements: [B14] to [B19] of docs/bounds.md.
#include "reference/ops/matmul_bound.hpp"

#include <algorithm>

#include "reference/require.hpp"

namespace halfulp::reference {
namespace {

// The exponent that tensor cores give a zero operand, at most.
constexpr double kZeroOperand = 0x1p-126;

int precision(Format format) { return traits(format).precision; }

void check(const Arithmetic& arithmetic) {
  HALFULP_REQUIRE(arithmetic.compute == Format::fp32 || arithmetic.compute == Format::fp16,
                  "accumulators are fp32 or fp16");
  HALFULP_REQUIRE(arithmetic.input != Format::fp64 && arithmetic.partial != Format::fp64,
                  "products must be exact in double");
  HALFULP_REQUIRE(arithmetic.partials >= 1 && arithmetic.partial_longest >= 0,
                  "there is at least one partial sum");
  const TensorCore& core = arithmetic.tensor_core;
  HALFULP_REQUIRE(core.alignment_bits == 0 || (core.alignment_bits > 0 && core.products > 0),
                  "a tensor core adds at least one product a step");
}

}  // namespace

MatmulModel::MatmulModel(const Matmul& op) {
  const Arithmetic& arithmetic = op.arithmetic;
  check(arithmetic);
  const TensorCore& core = arithmetic.tensor_core;
  tensor_core = core.alignment_bits != 0;
  contiguous = arithmetic.sum_order == SumOrder::contiguous;
  terms = static_cast<double>(op.k);
  const auto normal = [](const View& view) {
    return std::ldexp(1.0, traits(view.format).exponent_min);
  };
  smallest_normal = std::max(normal(op.a), normal(op.b));
  operand_roundoff = arithmetic.operand_roundoff;
  const int operand_precision = operand_roundoff > 0
                                    ? precision(Format::tf32)
                                    : std::max(precision(op.a.format), precision(op.b.format));
  products_fit = 2 * operand_precision <= precision(arithmetic.compute);

  flush = arithmetic.flush_to_zero && !tensor_core && arithmetic.compute == Format::fp32;
  sum = rounding_model(arithmetic.compute, flush, false);
  partials = static_cast<double>(
      std::clamp<std::int64_t>(arithmetic.partials, 1, std::max<std::int64_t>(op.k, 1)));
  const double longest = arithmetic.partial_longest > 0 && partials > 1
                             ? std::min(terms, static_cast<double>(arithmetic.partial_longest))
                             : terms;
  additions = std::max(0.0, longest - 1);
  exact_bits = precision(arithmetic.compute);
  quantum_least = sum.quantum_least;
  largest = sum.largest;
  Format last = arithmetic.compute;
  if (partials > 1) {
    const bool flushed = arithmetic.partial == Format::fp32 &&
                         (arithmetic.flush_to_zero || arithmetic.atomic_flush_to_zero);
    partial = rounding_model(arithmetic.partial, false, flushed);
    partial_rounded = precision(arithmetic.partial) < precision(arithmetic.compute);
    exact_bits = std::min(exact_bits, precision(arithmetic.partial));
    quantum_least = std::max(quantum_least, partial.quantum_least);
    largest = std::min(largest, partial.largest);
    last = arithmetic.partial;
  }
  const bool truncated = tensor_core && arithmetic.compute == Format::fp32 && partials == 1;
  last_rounding = last == arithmetic.output && !truncated;
  if (!tensor_core) return;

  const double products = core.products;
  // The addend with the largest exponent loses nothing if its significand fits [B16].
  const double cut =
      (core.alignment_bits >= 23 ? products : products + 1) * std::ldexp(1.0, -core.alignment_bits);
  const bool toward_zero = arithmetic.compute == Format::fp32;
  step = cut + (toward_zero ? 2 : 1) * sum.unit * (1 + cut);
  step_underflow = subnormal_spacing(arithmetic.compute) / (toward_zero ? 1 : 2);
  steps_longest = std::ceil(longest / products);
  steps = std::floor((terms + partials * (products - 1)) / products);
  exact_bits = std::min(exact_bits, core.alignment_bits + 1);
}

SumSizes sum_sizes(const MatmulModel& model, const Line& row, const Line& column,
                   const ProductSums& sums, double quantum) {
  SumSizes sizes;
  const double size = std::abs(sums.sum);
  // [B14] The double sums are exact, or off by their own rounding.
  const double slack =
      sums.magnitude <= 0x1p53 * quantum ? 0 : model.terms * 0x1p-52 * sums.magnitude;
  sizes.total = sums.magnitude + slack;
  sizes.any = std::min(sizes.total, (sums.magnitude + size) / 2 + slack);
  sizes.error = slack > 0 ? model.terms * 0x1.0001p-53 * sizes.any : 0;
  sizes.ordered = model.contiguous ? std::min(sizes.any, sums.range + 2 * slack) : sizes.any;
  if (!model.tensor_core) return sizes;
  double beyond = model.sum.smallest_normal;
  if (row.zero) beyond = std::max(beyond, kZeroOperand * column.largest);
  if (column.zero) beyond = std::max(beyond, kZeroOperand * row.largest);
  if (row.subnormal) {
    beyond =
        std::max(beyond, model.smallest_normal * std::max(column.largest, model.smallest_normal));
  }
  if (column.subnormal) {
    beyond = std::max(beyond, model.smallest_normal * std::max(row.largest, model.smallest_normal));
  }
  sizes.alignment = beyond;
  return sizes;
}

double exact_quantum(const MatmulModel& model, const Line& row, const Line& column,
                     const SumSizes& sizes) {
  if (sizes.any > model.largest) return kUnbounded;
  if (model.operand_roundoff > 0 && (row.beyond_tf32 || column.beyond_tf32)) return kUnbounded;
  if (model.flush && (row.subnormal || column.subnormal)) return kUnbounded;
  double size = sizes.any;
  if (model.tensor_core) {  // strictly below 2^t q
    size = std::nextafter(std::max(size, sizes.alignment), kUnbounded);
  }
  return quantum(size, model.exact_bits, model.quantum_least);
}

MatmulAnswer answer_of(const MatmulModel& model, const Line& row, const Line& column,
                       const ProductSums& sums, double quantum) {
  MatmulAnswer given;
  given.value = sums.sum;
  if (sums.magnitude == 0) return given;  // all products are zeros
  const SumSizes sizes = sum_sizes(model, row, column, sums, quantum);
  given.error = sizes.error;
  if (quantum >= exact_quantum(model, row, column, sizes)) return given;

  const bool converted = model.operand_roundoff > 0 && (row.beyond_tf32 || column.beyond_tf32);
  const double roundoff = converted ? model.operand_roundoff : 0;
  double operands = roundoff * (2 + roundoff) * sizes.total;
  if (model.flush && (row.subnormal || column.subnormal)) {
    operands += model.terms * model.sum.smallest_normal * (row.largest + column.largest);
  }
  const double total = sizes.total + operands;
  const double ordered = sizes.ordered + operands;
  const double p = model.partials;
  const double parts = p > 1 ? std::min(total, p * ordered) : ordered;

  double products = 0, accumulation = 0, shrink = 1;
  if (model.tensor_core) {
    const double aligned = p > 1 ? model.steps_longest * parts + model.steps * sizes.alignment
                                 : model.steps * std::max(ordered, sizes.alignment);
    accumulation = model.step * aligned + model.steps * model.step_underflow;
    shrink = 1 - model.steps_longest * model.step;
  } else {
    const double unit = model.sum.unit;
    const bool rounds = !model.products_fit || quantum < model.sum.quantum_least;
    const bool only = model.terms == 1 && p == 1 && model.last_rounding;
    if (rounds && !only) products = unit * total + model.terms * model.sum.underflow;
    if (p > 1) {
      accumulation = model.additions * unit * parts;
    } else if (model.additions > 0) {
      const double root = model.last_rounding ? 0 : unit * (std::abs(sums.sum) + operands);
      accumulation = root + (model.additions - 1) * unit * ordered;
    }
    accumulation += model.terms * model.sum.underflow_add;
    shrink = 1 - model.additions * unit;
  }
  double partial_rounding = 0, combination = 0, shrink_combination = 1;
  if (p > 1) {
    const double unit = model.partial.unit;
    if (model.partial_rounded && shrink > 0) {
      partial_rounding = unit * (parts + (operands + products + accumulation) / shrink) +
                         p * model.partial.underflow;
    }
    const double unions = std::min(sizes.any + operands, std::ceil(p / 2) * ordered);
    const double nodes = p - (model.last_rounding ? 2 : 1);
    combination = nodes * unit * unions + 2 * p * model.partial.underflow_add;
    shrink_combination = 1 - (p - 1) * unit;
  }
  if (!(shrink > 0 && shrink_combination > 0)) {
    given.bound = kUnbounded;
    return given;
  }
  const double inflation = kInflation + model.terms * 0x1p-50;
  const double late = inflation / shrink_combination, early = late / shrink;
  given.operands = operands * early;
  given.products = products * early;
  given.accumulation = accumulation * early;
  given.partial_rounding = partial_rounding * late;
  given.combination = combination * late;
  given.bound = given.operands + given.products + given.accumulation + given.partial_rounding +
                given.combination;
  const double reach = (p > 1 ? sizes.any : sizes.ordered) + given.bound;
  if (!(reach < model.largest)) given.bound = kUnbounded;
  return given;
}

MatmulAnswer answer_of_class(const MatmulModel& model, double sum, double finite_magnitude) {
  MatmulAnswer given;
  given.value = sum;
  // Finite products that overflow to the other infinity would make it a NaN.
  if (std::isinf(sum) && finite_magnitude >= model.largest / 2) given.bound = kUnbounded;
  return given;
}

}  // namespace halfulp::reference
