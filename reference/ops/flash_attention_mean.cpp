// Weighted means of flash attention: [B25] to [B27] of docs/bounds.md.
#include <algorithm>
#include <cmath>

#include "reference/ops/flash_attention_parts.hpp"

namespace halfulp::reference {
namespace {

std::size_t size(std::int64_t count) { return static_cast<std::size_t>(count); }

// What the weights are as operands of the product with v.
Line line_of_weights(const AttentionModel& model, const RowWeights& row) {
  Line line;
  line.quantum = 1;
  line.largest = model.lazy_most;
  line.zero = row.closed_keys || row.smallest < 0x1p-90 || row.negligible > 0;
  line.subnormal = !row.exact && row.smallest < 2 * model.weight_normal;
  return line;
}

// Over the open keys of a row, values of one channel that are finite.
template <typename Visit>
void for_each_open(const HeadOperands& head, const RowWeights& row, std::int64_t channel,
                   Visit visit) {
  const std::size_t dim = head.channel_lines.size();
  for (std::size_t at = 0; at < row.open.size(); ++at) {
    if (row.open[at] != 0) visit(at, head.values[(size(row.first) + at) * dim + size(channel)]);
  }
}

// [B26] The sum over the keys of weight 1, where no order of summing rounds it.
struct UnitSum {
  double sum = 0;
  bool exact = false;
};
UnitSum unit_sum(const AttentionModel& model, const HeadOperands& head, const RowWeights& row,
                 std::int64_t channel) {
  ProductSums sums;
  UnitSum result;
  if (!row.exact) return result;
  for_each_open(head, row, channel, [&](std::size_t at, double v) {
    if (row.moved[at] != 0) return;
    sums.sum += v;
    sums.magnitude += std::abs(v);
  });
  const Line& line = head.channel_lines[size(channel)];
  const Line weights = line_of_weights(model, row);
  const SumSizes sizes = sum_sizes(model.values, weights, line, sums, line.quantum);
  const double q = exact_quantum(model.values, weights, line, sizes);
  result.sum = sums.sum;
  result.exact = q < kUnbounded && row.negligible * line.largest <= 0x1p-30 * q;
  if (!result.exact || line.quantum >= q) return result;
  for_each_open(head, row, channel, [&](std::size_t at, double v) {
    if (row.moved[at] == 0) result.exact = result.exact && is_multiple(v, q);
  });
  return result;
}

// How the sums of a row's product with v, and of its weights, are rounded: errors of terms of these
// sizes, not yet divided by `shrink`.
struct Accumulation {
  double error = 0;
  double shrink = 1;
};
struct TermSizes {
  double total = 0;   // sum of magnitudes
  double any = 0;     // a sub-sum
  double result = 0;  // the whole sum
  double alignment = 0;
};
Accumulation sum_of_products(const AttentionModel& model, const RowWeights& row,
                             const TermSizes& sizes) {
  const double unit = model.unit, rescales = row.rescale_roundings;
  const MatmulModel& values = model.values;
  Accumulation sum;
  if (model.tensor_core) {
    const double tiles = model.rescales > 0 ? std::min(row.steps, model.rescales + 1) : row.steps;
    const double added = rescales + (model.product_apart ? tiles : 0);
    sum.error =
        row.steps * (values.step * std::max(sizes.any, sizes.alignment) + values.step_underflow) +
        added * unit * sizes.any + rescales * model.rounding.underflow +
        values.steps * values.step * sizes.alignment;
    sum.shrink = 1 - row.steps * values.step - added * unit;
    return sum;
  }
  const double additions = row.count - 1 + rescales;
  const double products =
      values.products_fit ? 0 : unit * sizes.total + row.count * model.rounding.underflow;
  sum.error = products + (additions + 1) * model.rounding.underflow_add +
              rescales * model.rounding.underflow;
  if (additions > 0) {
    sum.error += unit * (sizes.result + products) + (additions - 1) * unit * (sizes.any + products);
  }
  sum.shrink = 1 - additions * unit;
  return sum;
}

// The denominator's, by IEEE additions of positive terms.
double sum_of_weights(const AttentionModel& model, const RowWeights& row) {
  if (row.exact) return 0;
  const double additions = row.count - 1 + row.rescale_roundings;
  const double shrink = 1 - additions * model.unit;
  if (!(shrink > 0)) return kUnbounded;
  return (additions * model.unit * (row.sum + row.moved_sum) +
          (additions + 1) * model.rounding.underflow_add) /
         shrink;
}

// [B25] Sums on the way that overflow though the answer may not.
bool overflows(const AttentionModel& model, const HeadOperands& head, const RowWeights& row,
               std::int64_t channel, double numerator) {
  const double roundoff = model.values.operand_roundoff;
  const double slack = row.exact && roundoff == 0 ? 1 : model.log2e_first ? 1.4 : 1.01;
  const double reach = slack * model.lazy_most;
  const double largest = head.channel_lines[size(channel)].largest;
  if (row.count * largest * reach < model.rounding.largest) return false;
  if (model.rescales == 0 && !row.exact) return !(numerator * reach < model.rounding.largest);
  double whole = 0;
  for_each_open(head, row, channel, [&](std::size_t, double v) { whole += std::abs(v); });
  return !(whole * reach <= model.rounding.largest);
}

// [B25] Whatever the weights are, their mean lies within the values' range.
double range_bound(const AttentionModel& model, const HeadOperands& head, const RowWeights& row,
                   std::int64_t channel, double value, double alignment) {
  double range = 0, largest = 0;
  for_each_open(head, row, channel, [&](std::size_t, double v) {
    range = std::max(range, std::abs(v - value));
    largest = std::max(largest, std::abs(v));
  });
  const Accumulation sum = sum_of_products(model, row, {1, 1, 1, 0});
  const double additions = row.count - 1 + row.rescale_roundings;
  const double relative = sum.error / sum.shrink + model.weight_unit +
                          additions * model.unit * 1.01 + model.values.operand_roundoff +
                          row.count * (model.weight_tiny + row.lost);
  if (!(sum.shrink > 0.5 && relative < 0.25)) return kUnbounded;
  return range + 2 * relative * largest + 2 * row.steps * model.values.step * alignment +
         4 * row.count * model.rounding.underflow;
}

// Of the double value, in general.
double error_in_double(const RowWeights& row, const ChannelSums& sums, double largest) {
  const double relative = row.double_error + (row.count + 4) * 0x1p-53;
  if (!(relative < 0x1p-10)) return 2 * largest;
  const double tiny = row.smallest < 0x1p-1000 ? row.count * 0x1p-1000 * largest : 0;
  return (relative * 2.01 * sums.magnitude + tiny) / row.sum;
}

}  // namespace

AttentionAnswer answer_of(const AttentionModel& model, const HeadOperands& head,
                          const RowWeights& row, std::int64_t channel, const ChannelSums& sums) {
  AttentionAnswer given;
  const Line& line = head.channel_lines[size(channel)];
  if (line.largest == 0) return given;  // zeros in every order
  given.value = sums.sum / row.sum;
  given.error = error_in_double(row, sums, line.largest);
  const UnitSum units = unit_sum(model, head, row, channel);
  const double value = units.exact ? units.sum / row.units : given.value;
  const double size = std::abs(value);
  if (units.exact) {
    const bool quotient_exact = std::fma(value, row.units, -units.sum) == 0;
    given.value = value;
    given.error = (quotient_exact ? 0 : 0x1p-52 * size) +
                  2 * row.negligible * (line.largest + size) / row.units;
  }
  // [B15] v as the product takes it; flushed or converted.
  double operands = 0;
  const double roundoff = line.beyond_tf32 ? model.values.operand_roundoff : 0;
  const double moved = sums.spread + size * row.moved_sum;  // >= sum of what |w v| gains
  const double lost = row.lost * row.count * (line.largest + size);
  if (roundoff > 0) {
    operands += roundoff * (sums.magnitude + moved + sums.rounded + lost);
    if (line.subnormal) operands += roundoff * 0x1p-126 * (row.sum + row.moved_sum);
  }
  if (model.values.flush && line.subnormal) operands += 0x1.1p-126 * (row.sum + row.moved_sum);
  const double grown = moved + sums.rounded + lost + operands;
  const SumSizes shape =
      sum_sizes(model.values, line_of_weights(model, row), line, {sums.sum, sums.magnitude, 0}, 0);
  const TermSizes sizes{sums.magnitude + grown, (sums.magnitude + std::abs(sums.sum)) / 2 + grown,
                        std::abs(sums.sum) + grown, shape.alignment * (1 + roundoff)};
  Accumulation products = sum_of_products(model, row, sizes);
  if (units.exact) products = {};
  const double denominator = sum_of_weights(model, row);
  const double least = row.sum - row.moved_sum - row.lost * row.count - denominator;
  if (overflows(model, head, row, channel, sizes.any + products.error)) {
    given.bound = kUnbounded;
    return given;
  }
  if (products.shrink > 0.5 && least > 0.25 * row.sum) {
    given.scores = sums.spread / least * kInflation;
    given.weights = (sums.rounded + lost + operands) / least * kInflation;
    given.accumulation = products.error / products.shrink / least * kInflation;
    given.denominator = size * denominator / least * kInflation;
  } else {
    given.scores = kUnbounded;
  }
  double before = given.scores + given.weights + given.accumulation + given.denominator;
  if (row.moved_sum > 0.2 * row.sum) {
    const double range = range_bound(model, head, row, channel, value, sizes.alignment);
    if (range * kInflation < before) {
      given.scores = before = range * kInflation;
      given.weights = given.accumulation = given.denominator = 0;
    }
  }
  if (!(before < kUnbounded)) {
    given.bound = kUnbounded;
    return given;
  }
  // A quotient by 1 may be flushed all the same.
  const bool kept = model.rounding.underflow_add == 0 || size >= model.rounding.smallest_normal;
  const bool by_one = row.units == 1 && kept;
  const bool divides =
      units.exact && (by_one || divides_exactly(model.division, units.sum, row.units, value));
  if (!divides) given.division = division_amount(model.division, size + before) * kInflation;
  given.bound = before + given.division;
  return given;
}

AttentionAnswer answer_of_class(const FlashAttention& op, const AttentionModel& model,
                                const HeadOperands& head, const RowWeights& row,
                                std::int64_t channel, const ChannelSums& sums) {
  // Weights above this are above 0 in every kernel.
  const double seen = op.arithmetic.weight == Format::fp16 ? 0x1p-23 : 0x1p-110;
  bool nan = false, positive = false, negative = false, unknown = false;
  double finite = 0;
  for (std::int64_t key = 0; key < op.keys; ++key) {
    const double v = op.v.at(head.batch, head.head, key, channel);
    const std::int64_t at = key - row.first;
    const bool open = at >= 0 && key < row.last && row.open[size(at)] != 0;
    if (std::isfinite(v)) {
      if (open) finite += std::abs(v);
    } else if (!open) {
      unknown |= !model.closed_ignored;
    } else if (std::isnan(v)) {
      nan = true;
    } else if (!(row.weight[size(at)] - row.moved[size(at)] > seen)) {
      unknown = true;
    } else {
      positive |= v > 0;
      negative |= v < 0;
    }
  }
  AttentionAnswer given;
  if (nan || (positive && negative)) {
    given.value = std::nan("");
  } else if (unknown || ((positive || negative) &&
                         !(finite * model.lazy_most * 1.01 < model.rounding.largest / 2))) {
    given.bound = kUnbounded;
  } else if (positive || negative) {
    given.value = positive ? kUnbounded : -kUnbounded;
  } else {
    given = answer_of(model, head, row, channel, sums);
  }
  return given;
}

}  // namespace halfulp::reference
