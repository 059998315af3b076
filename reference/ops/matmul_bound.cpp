// Bounds of matmul elements: [B14] to [B19] of docs/bounds.md.
#include "reference/ops/matmul_bound.hpp"

#include <algorithm>

#include "reference/require.hpp"

namespace halfulp::reference {
namespace {

// The exponent that tensor cores give a zero operand, at most.
constexpr double kZeroOperand = 0x1p-126;

int precision(Format format) { return traits(format).precision; }

// [B23] Standard deviations, by Azuma and Hoeffding: exceeded with a probability of 2 e^-32.
constexpr double kDeviations = 8;

void check(const Matmul& op) {
  const Arithmetic& arithmetic = op.arithmetic;
  const TensorCore& core = arithmetic.tensor_core;
  const bool wide = arithmetic.compute == Format::fp64;
  HALFULP_REQUIRE(wide || arithmetic.compute == Format::fp32 || arithmetic.compute == Format::fp16,
                  "accumulators are fp64, fp32 or fp16");
  HALFULP_REQUIRE(wide || (op.a.format != Format::fp64 && op.b.format != Format::fp64 &&
                           arithmetic.partial != Format::fp64),
                  "fp64 numbers are accumulated in fp64");
  HALFULP_REQUIRE(arithmetic.partials >= 1 && arithmetic.partial_longest >= 0,
                  "there is at least one partial sum");
  HALFULP_REQUIRE(core.alignment_bits == 0 || (core.alignment_bits > 0 && core.products > 0),
                  "a tensor core adds at least one product a step");
  HALFULP_REQUIRE(core.alignment_bits == 0 || !wide, "fp64 tensor cores are chains of IEEE FMA");
}

}  // namespace

MatmulModel::MatmulModel(const Matmul& op, bool advisory_bound) : advisory(advisory_bound) {
  const Arithmetic& arithmetic = op.arithmetic;
  check(op);
  exact_products = op.a.format != Format::fp64 && op.b.format != Format::fp64;
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
  // Half of the smallest double is none.
  if (arithmetic.compute == Format::fp64) sum.underflow = 2 * subnormal_spacing(Format::fp64);
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
  step_unit = (toward_zero ? 2 : 1) * sum.unit;
  step = cut + step_unit * (1 + cut);
  cut_root = std::sqrt(cut * std::ldexp(1.0, -core.alignment_bits));
  step_underflow = subnormal_spacing(arithmetic.compute) / (toward_zero ? 1 : 2);
  steps_longest = std::ceil(longest / products);
  steps = std::floor((terms + partials * (products - 1)) / products);
  exact_bits = std::min(exact_bits, core.alignment_bits + 1);
}

namespace {

// Whether multiples of the quantum are not lost below the smallest double.
bool keeps_products(const MatmulModel& model, double quantum) {
  return model.exact_products || quantum >= 0x1p-1000;
}

}  // namespace

SumSizes sum_sizes(const MatmulModel& model, const Line& row, const Line& column,
                   const ProductSums& sums, double quantum) {
  SumSizes sizes;
  const double size = std::abs(sums.sum);
  // [B14] The double sums are exact, or off by their own rounding.
  const bool exact = sums.magnitude < 0x1p53 * quantum && keeps_products(model, quantum);
  double slack = exact ? 0 : model.terms * 0x1p-52 * sums.magnitude;
  double products = 0;  // error of their own
  if (!exact && !model.exact_products) {
    slack += 0x1p-51 * sums.magnitude + model.terms * 0x1p-1073;
    products = 0x1.0001p-53 * sums.magnitude + model.terms * 0x1p-1073;
  }
  sizes.total = sums.magnitude + slack;
  sizes.any = std::min(sizes.total, (sums.magnitude + size) / 2 + slack);
  // Sub-sums of at most 2^53 q are doubles, the magnitudes' own sum or not.
  const bool exact_sum = sizes.any <= 0x1p53 * quantum && keeps_products(model, quantum);
  sizes.error = exact_sum ? 0 : model.terms * 0x1.0001p-53 * sizes.any + products;
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

namespace {

// Errors before they are divided by what they shrink by.
struct Terms {
  double products = 0;
  double accumulation = 0;
  double shrink = 1;
};

// What the sums of one element come to once operands are rounded.
struct Rounded {
  double operands = 0;
  double total = 0;    // sum of magnitudes
  double ordered = 0;  // a sub-sum of the declared order
  double parts = 0;    // of all partial sums, magnitudes added up
  double alignment = 0;
  double largest_product = 0;
};

// [B16]
Terms terms_of_cores(const MatmulModel& model, const Rounded& sizes) {
  const double aligned = model.partials > 1
                             ? model.steps_longest * sizes.parts + model.steps * sizes.alignment
                             : model.steps * std::max(sizes.ordered, sizes.alignment);
  Terms terms;
  terms.accumulation = model.step * aligned;
  if (model.advisory) {
    const double once =
        model.cut_root * std::max(sizes.ordered, sizes.alignment) + model.step_unit * sizes.ordered;
    const double spread = kDeviations * std::sqrt(model.steps) * once;
    terms.accumulation = std::min(terms.accumulation, (terms.accumulation + spread) / 2);
  }
  terms.accumulation += model.steps * model.step_underflow;
  terms.shrink = 1 - model.steps_longest * model.step;
  return terms;
}

// [B14], [B17]
Terms terms_of_ieee(const MatmulModel& model, const Rounded& sizes, double size, double quantum) {
  const double unit = model.sum.unit;
  const bool rounds = !model.products_fit || quantum < model.sum.quantum_least;
  const bool only = model.terms == 1 && model.partials == 1 && model.last_rounding;
  Terms terms;
  if (rounds && !only) {
    terms.products = unit * sizes.total;
    if (model.advisory) {
      const double spread = std::sqrt(sizes.total) * std::sqrt(sizes.largest_product);
      terms.products = std::min(terms.products, kDeviations * unit * spread);
    }
    terms.products += model.terms * model.sum.underflow;
  }
  double roundings = model.additions;
  if (model.partials > 1) {
    terms.accumulation = model.additions * unit * sizes.parts;
    roundings = model.terms;
  } else if (model.additions > 0) {
    const double root = model.last_rounding ? 0 : unit * (size + sizes.operands);
    terms.accumulation = root + (model.additions - 1) * unit * sizes.ordered;
  }
  if (model.advisory) {
    const double spread = kDeviations * unit * std::sqrt(roundings) * sizes.ordered;
    terms.accumulation = std::min(terms.accumulation, spread);
  }
  terms.accumulation += model.terms * model.sum.underflow_add;
  terms.shrink = 1 - model.additions * unit;
  return terms;
}

// [B17]
struct Combination {
  double rounding = 0;
  double additions = 0;
  double shrink = 1;
};
Combination combination_of(const MatmulModel& model, const Rounded& sizes, const Terms& terms,
                           double any) {
  Combination given;
  const double p = model.partials, unit = model.partial.unit;
  if (p == 1) return given;
  if (model.partial_rounded && terms.shrink > 0) {
    const double error = (sizes.operands + terms.products + terms.accumulation) / terms.shrink;
    given.rounding = unit * (sizes.parts + error);
    if (model.advisory) {
      const double spread = kDeviations * unit * std::sqrt(p) * (sizes.ordered + error);
      given.rounding = std::min(given.rounding, spread);
    }
    given.rounding += p * model.partial.underflow;
  }
  const double unions = std::min(any + sizes.operands, std::ceil(p / 2) * sizes.ordered);
  const double nodes = p - (model.last_rounding ? 2 : 1);
  given.additions = nodes * unit * unions;
  if (model.advisory) {
    given.additions = std::min(given.additions, kDeviations * unit * std::sqrt(nodes) * unions);
  }
  given.additions += 2 * p * model.partial.underflow_add;
  given.shrink = 1 - (p - 1) * unit;
  return given;
}

}  // namespace

MatmulAnswer answer_of(const MatmulModel& model, const Line& row, const Line& column,
                       const ProductSums& sums, double quantum) {
  MatmulAnswer given;
  given.value = sums.sum;
  // All products are zeros, if none has underflowed.
  if (sums.magnitude == 0 && keeps_products(model, quantum)) return given;
  const SumSizes sizes = sum_sizes(model, row, column, sums, quantum);
  given.error = sizes.error;
  if (quantum >= exact_quantum(model, row, column, sizes)) return given;

  const bool converted = model.operand_roundoff > 0 && (row.beyond_tf32 || column.beyond_tf32);
  const double roundoff = converted ? model.operand_roundoff : 0;
  Rounded rounded;
  rounded.operands = roundoff * (2 + roundoff) * sizes.total;
  if (converted && (row.subnormal || column.subnormal)) {
    const double tiny = roundoff * model.smallest_normal;
    rounded.operands +=
        model.terms * tiny * ((1 + roundoff) * (row.largest + column.largest) + tiny);
  }
  if (model.flush && (row.subnormal || column.subnormal)) {
    rounded.operands += model.terms * model.sum.smallest_normal * (row.largest + column.largest);
  }
  rounded.total = sizes.total + rounded.operands;
  rounded.ordered = sizes.ordered + rounded.operands;
  rounded.parts = model.partials > 1 ? std::min(rounded.total, model.partials * rounded.ordered)
                                     : rounded.ordered;
  rounded.alignment = sizes.alignment * (1 + roundoff) * (1 + roundoff);
  rounded.largest_product = row.largest * column.largest + rounded.operands;
  const Terms terms = model.tensor_core
                          ? terms_of_cores(model, rounded)
                          : terms_of_ieee(model, rounded, std::abs(sums.sum), quantum);
  const Combination combination = combination_of(model, rounded, terms, sizes.any);
  if (!(terms.shrink > 0 && combination.shrink > 0)) {
    given.bound = kUnbounded;
    return given;
  }
  const double inflation = kInflation + model.terms * 0x1p-50;
  const double late = inflation / combination.shrink, early = late / terms.shrink;
  given.operands = rounded.operands * early;
  given.products = terms.products * early;
  given.accumulation = terms.accumulation * early;
  given.partial_rounding = combination.rounding * late;
  given.combination = combination.additions * late;
  given.bound = given.operands + given.products + given.accumulation + given.partial_rounding +
                given.combination;
  const double reach = (model.partials > 1 ? sizes.any : sizes.ordered) + given.bound;
  if (!(reach < model.largest)) given.bound = kUnbounded;
  return given;
}

MatmulAnswer answer_of_class(const MatmulModel& model, double sum, double finite_magnitude) {
  MatmulAnswer given;
  given.value = sum;
  // Finite products that overflow to the other infinity would make it a NaN. Products of doubles
  // may overflow by themselves.
  if (!std::isnan(sum) && !(finite_magnitude < model.largest / 2)) given.bound = kUnbounded;
  return given;
}

}  // namespace halfulp::reference
