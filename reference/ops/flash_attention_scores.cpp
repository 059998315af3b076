// Scores and weights of flash attention, with their bounds: [B24] to [B27] of docs/bounds.md.
#include <algorithm>
#include <cmath>

#include "reference/exponential.hpp"
#include "reference/ops/flash_attention_parts.hpp"

namespace halfulp::reference {
namespace {

std::size_t size(std::int64_t count) { return static_cast<std::size_t>(count); }

// Scores from here on round to infinity.
constexpr double kOverflow = 0x1.ffffffp127;
// Factors of an infinity below this may be lost before they meet it.
constexpr double kFactorSafe = 0x1p-100;
// [B26] exp of less is 0, or next to nothing, in every implementation.
constexpr double kNothing = -128;
constexpr double kNothingMost = 0x1p-184;  // e^-128
// Larger errors of a weight say nothing, and the values' range bounds the answer.
constexpr double kHopeless = 0x1p40;

// [B24] A maximum times log2 e may be off by so much and still be taken from its score.
constexpr double kMaximumLost = 0.25;

// scale * q . k + mask where that is not finite.
struct Special {
  double score = 0;  // NaN or an infinity
  bool unbounded = false;
};
Special special_score(const double* q, const double* k, std::size_t dim, double scale, double mask,
                      double largest) {
  double sum = 0, finite = 0;
  bool lost = false;
  for (std::size_t d = 0; d < dim; ++d) {
    const double product = q[d] * k[d];
    if (std::isfinite(product)) {
      finite += std::abs(product);
    } else {
      lost |= std::isinf(product) && std::min(std::abs(q[d]), std::abs(k[d])) < kFactorSafe;
      sum += product;
    }
  }
  Special special;
  special.score = sum * scale + mask;
  // Finite products that overflow to the other infinity would make it a NaN.
  special.unbounded = !std::isnan(sum) && (lost || !(finite < largest / 2));
  return special;
}

}  // namespace

RowScores::RowScores(const FlashAttention& op, const AttentionModel& model,
                     const HeadOperands& head)
    : op_(op), model_(model), head_(head), k_(size(op.dim)) {}

// [B27] Also counts the open keys, and finds what their masks decide.
void RowScores::open_and_mask(std::int64_t query, KeyRange range, RowWeights& row) {
  const std::size_t keys = size(range.last - range.first);
  row = RowWeights{.weight = std::move(row.weight),
                   .moved = std::move(row.moved),
                   .rounded = std::move(row.rounded),
                   .argument = std::move(row.argument),
                   .error = std::move(row.error),
                   .open = std::move(row.open)};
  row.first = range.first;
  row.last = range.last;
  row.kind = RowKind::ordinary;
  for (std::vector<double>* array : {&row.weight, &row.moved, &row.rounded, &row.error}) {
    array->assign(keys, 0);
  }
  row.argument.assign(keys, -kUnbounded);
  row.open.assign(keys, 1);
  row.closed_keys = std::ssize(row.open) < op_.keys;
  mask_.assign(keys, 0);
  mask_most_ = 0;
  if (op_.mask.data == nullptr || keys == 0) {
    row.count = static_cast<double>(keys);
    return;
  }
  View mask = op_.mask;
  mask.data = static_cast<const char*>(mask.data) +
              range.first * mask.stride[3] * (traits(mask.format).storage_bits / 8);
  mask.row(head_.batch, head_.head, query, 3, std::ssize(mask_), mask_.data());
  mask_most_ = -kUnbounded;
  for (std::size_t at = 0; at < keys; ++at) {
    if (mask_[at] == -kUnbounded) {
      row.open[at] = 0;
      row.closed_keys = true;
      continue;
    }
    ++row.count;
    if (!(mask_[at] < kUnbounded)) row.kind = RowKind::nan;
    if (mask_[at] > mask_most_) mask_most_ = mask_[at];
  }
}

// [B27] NaN and infinities in q and k, and what closed keys may do.
void RowScores::take_special(const double* q, const Line& q_line, RowWeights& row) {
  bool q_finite = true;
  for (std::int64_t d = 0; d < op_.dim; ++d) q_finite &= std::isfinite(q[d]);
  bool unbounded = false, closed_special = row.closed_keys && !q_finite, dead = false;
  const auto take = [&](std::int64_t key) {
    const std::int64_t at = key - row.first;
    if (at < 0 || key >= row.last || row.open[size(at)] == 0) {
      closed_special = true;
      return;
    }
    op_.k.row(head_.batch, head_.head, key, 3, op_.dim, k_.data());
    const Special special = special_score(q, k_.data(), k_.size(), model_.scale, mask_[size(at)],
                                          model_.rounding.largest);
    if (special.unbounded) {
      unbounded = true;
    } else if (special.score == -kUnbounded) {  // its weight is 0
      row.open[size(at)] = 0;
      row.closed_keys = dead = true;
      --row.count;
    } else {
      row.kind = RowKind::nan;
    }
  };
  if (q_finite) {
    for (const std::int64_t key : head_.special_keys) take(key);
  } else {
    for (std::int64_t key = row.first; key < row.last; ++key) take(key);
  }
  if (row.kind == RowKind::nan) return;
  const double dim = static_cast<double>(op_.dim);
  if (row.closed_keys && !model_.closed_ignored) {
    // A closed key's product may overflow to what -infinity does not close.
    const double scale = std::max(1.0, std::abs(model_.scale));
    const double reach = q_line.largest * head_.key_largest * dim * scale;
    unbounded |= closed_special || !(reach < model_.rounding.largest / 4);
  }
  if (unbounded || (dead && row.count == 0)) {
    row.kind = RowKind::unbounded;
  } else if (row.count == 0) {
    row.kind = RowKind::masked;
  }
}

// [B24] Scores less the largest mask, and the errors of each that do not depend on the others.
bool RowScores::score(const Line& q_line, std::span<const ProductSums> products, RowWeights& row) {
  const std::size_t keys = row.open.size();
  scaled_.assign(keys, 0);
  dot_.assign(keys, 0);
  score_error_.assign(keys, 0);
  double_error_.assign(keys, 0);
  dot_exact_.assign(keys, 0);
  score_most_ = -kUnbounded;
  const double unit = model_.unit, scale_size = std::abs(model_.scale);
  for (std::size_t at = 0; at < keys; ++at) {
    if (row.open[at] == 0) continue;
    const Line& key = head_.key_lines[size(row.first) + at];
    const ProductSums& sums = products[at];
    const MatmulAnswer dot =
        reference::answer_of(model_.dots, q_line, key, sums, q_line.quantum * key.quantum);
    const double scaled = model_.scale * sums.sum;
    const double before = scale_size * dot.bound * (1 + 0x1p-20);
    const double whole = std::abs(scaled + mask_[at]);
    const bool fits = whole + before < kOverflow && std::abs(scaled) + before < kOverflow;
    if (!fits) return false;
    // Scaled after the products are summed, or q before it where there are no tensor cores.
    const double size = model_.tensor_core ? std::abs(scaled) : scale_size * sums.magnitude;
    double error = before + 0x1p-120;
    if (!model_.scale_exact || model_.log2e_first) error += unit * size;
    if (mask_[at] != 0) error += unit * (whole + (model_.log2e_first ? std::abs(mask_[at]) : 0));
    dot_[at] = sums.sum;
    dot_exact_[at] = dot.bound == 0;
    scaled_[at] = scaled;
    score_error_[at] = error;
    const double masked = mask_[at] - mask_most_;
    row.argument[at] = scaled + masked;
    double_error_[at] = scale_size * dot.error +
                        (model_.scale_in_double + 0x1p-53) * std::abs(scaled) +
                        0x1p-53 * (std::abs(masked) + std::abs(row.argument[at]));
    if (row.argument[at] > score_most_) {
      score_most_ = row.argument[at];
      scaled_at_most_ = scaled;
    }
  }
  return true;
}

// [B24] Of the argument of the exponential, on the way through so many rescales.
double RowScores::argument_error(const RowWeights& row, std::size_t at, double rescales) const {
  const double unit = model_.unit;
  const double score_error = score_error_[at];
  const double from_most = std::abs(scaled_[at] - scaled_at_most_);
  double factor = model_.scale_error;
  if (model_.log2e_first && mask_[at] != 0) factor += 1.25 * unit;
  const double argument = std::abs(row.argument[at]) + 2 * model_.lazy + score_error + error_most_;
  // Scores that are scaled in the exponent alone: log2 e times the scale is rounded once more.
  const double roundings = !model_.base_2 ? 1 : model_.log2e_first ? 2.25 : 3.25;
  double error = score_error + factor * from_most + roundings * unit * argument;
  if (model_.log2e_first) {  // the maximum is multiplied by log2 e and rounded
    const double own = std::abs(scaled_[at] + mask_[at]);
    const double most = std::abs(score_most_ + mask_most_);
    error += unit * (own + (1 + rescales) * (std::max(own, most) + model_.lazy));
  }
  return error * (1 + 0x1p-16);
}

// [B24], [B25]
void RowScores::weigh_key(RowWeights& row, std::size_t at) const {
  const double argument = row.argument[at], weight = row.weight[at];
  if (argument > -800) {  // else the weight is below the smallest double
    const double in_double = double_error_[at] + 0x1p-53 * std::abs(argument);
    row.double_error = std::max(row.double_error, in_double);
  }
  row.error[at] = argument_error(row, at, model_.rescales);
  const double exponential = (1 + row.rescale_roundings) * model_.exp_ulps +
                             model_.exp_slope * (std::abs(argument) + 2 * model_.lazy);
  const double error = row.error[at] + exponential * (1 + 0x1p-10);
  double moved = kHopeless;
  if (error < 0.5) {
    moved = weight * error * (1 + error);
  } else if (argument + error < 20) {
    moved = std::exp(argument + error);
  }
  row.moved[at] = std::min(moved, kHopeless);
  if (model_.weight_unit == 0) return;
  const double most = weight + row.moved[at];
  row.rounded[at] = std::max(model_.weight_unit * most, std::min(model_.weight_tiny, most));
  const double half = model_.weight_unit / 2;
  if (!model_.weight_nearest || model_.lazy > 0 || !(std::abs(argument) < half)) return;
  const double near = from_one(row, at);
  if (near < half) row.rounded[at] = near * most;  // rounded to 1
}

// [B25] A weight near the maximum's, less 1, before any rescale.
double RowScores::from_one(const RowWeights& row, std::size_t at) const {
  const double argument = std::abs(row.argument[at]);
  const double far = argument + argument_error(row, at, 0) + error_most_ + model_.exp_ulps +
                     model_.exp_slope * argument;
  return far * (1 + 0x1p-8);
}

// [B26] Rows whose keys are all at the maximum, or too far from it to have any weight.
void RowScores::find_units(RowWeights& row) {
  double most = 0;
  for (std::size_t at = 0; at < row.open.size(); ++at) {
    if (row.open[at] != 0 && row.argument[at] > -1) most = std::max(most, row.error[at]);
  }
  std::size_t first = row.open.size();
  bool equal = true;
  double units = 0, others = 0, weight_error = 0;
  for (std::size_t at = 0; at < row.open.size(); ++at) {
    if (row.open[at] == 0) continue;
    if (row.argument[at] + 2 * (row.error[at] + most) < kNothing) {
      ++others;
      continue;
    }
    weight_error = std::max(weight_error, from_one(row, at));
    if (units++ == 0) first = at;
    equal &= dot_exact_[at] != 0 && dot_[at] == dot_[first] && mask_[at] == mask_[first];
  }
  const bool zero = equal && dot_[first] == 0 && mask_[first] == 0;
  const bool same = equal && (dot_[first] == 0 || model_.scale_exact || model_.tensor_core);
  row.exact = units <= 0x1p24 && (model_.log2e_first ? zero : units == 1 || same);
  const bool to_one = model_.weight_nearest && weight_error < model_.weight_unit / 2;
  if (!row.exact && !to_one) return;
  for (std::size_t at = 0; at < row.open.size(); ++at) {
    if (row.open[at] == 0) continue;
    const bool nothing = row.argument[at] + 2 * (row.error[at] + most) < kNothing;
    if (nothing) {
      row.moved[at] = row.weight[at] + kNothingMost;
      row.rounded[at] = model_.weight_unit > 0 ? kNothingMost : 0;
    } else if (row.exact) {
      row.moved[at] = row.rounded[at] = 0;
    } else {  // rounded to 1 exactly
      row.rounded[at] = weight_error;
    }
  }
  row.units = units;
  row.negligible = others * 2 * kNothingMost;
}

// [B25], and what the sums over the keys need.
void RowScores::finish(RowWeights& row) {
  if (model_.weight_sum_rounded) {
    for (std::size_t at = 0; at < row.open.size(); ++at) {
      row.moved[at] += row.rounded[at];
      row.rounded[at] = 0;
    }
  }
  std::int64_t first = -1, last = -1;
  for (std::size_t at = 0; at < row.open.size(); ++at) {
    if (row.open[at] == 0) continue;
    if (first < 0) first = std::int64_t(at);
    last = std::int64_t(at);
    row.sum += row.weight[at];
    row.moved_sum += row.moved[at];
    row.rounded_sum += row.rounded[at];
    row.smallest = std::min(row.smallest, row.weight[at]);
  }
  row.lost = row.exact ? 0 : model_.exp_tiny * (1 + model_.rescales) * model_.lazy_most;
  row.double_error = row.double_error * (1 + row.double_error) + exponential_error;
  if (row.exact) row.rescale_roundings = 0;
  if (model_.tensor_core) {
    const double products = op_.arithmetic.tensor_core.products;
    const double range = static_cast<double>(last - first + 1);
    row.steps = std::min({row.count, std::ceil(static_cast<double>(op_.keys) / products),
                          std::ceil(range / products) + 1});
  }
}

void RowScores::weigh(std::int64_t query, const double* q, const Line& q_line, KeyRange range,
                      std::span<const ProductSums> products, RowWeights& row) {
  open_and_mask(query, range, row);
  const bool nan = row.kind == RowKind::nan;
  take_special(q, q_line, row);
  if (nan) row.kind = RowKind::nan;
  if (row.kind != RowKind::ordinary) return;
  if (!score(q_line, products, row)) {
    row.kind = RowKind::unbounded;
    return;
  }
  error_most_ = 0;
  double size_most = std::abs(score_most_ + mask_most_);
  for (std::size_t at = 0; at < row.open.size(); ++at) {
    if (row.open[at] == 0) continue;
    row.argument[at] -= score_most_;
    if (model_.rescales > 0) size_most = std::max(size_most, std::abs(scaled_[at] + mask_[at]));
    const double beyond = row.argument[at] > -1 ? 0 : row.argument[at];
    error_most_ = std::max(error_most_, score_error_[at] + beyond);
  }
  if (model_.log2e_first && !(model_.unit * (1 + model_.rescales) * size_most < kMaximumLost)) {
    row.kind = RowKind::unbounded;
    return;
  }
  row.rescale_roundings =
      model_.log2e_first ? model_.rescales : std::min(model_.rescales, row.count - 1);
  exponential_row(row.argument.data(), std::ssize(row.argument), row.weight.data());
  for (std::size_t at = 0; at < row.open.size(); ++at) {
    if (row.open[at] != 0) weigh_key(row, at);
  }
  find_units(row);
  finish(row);
}

}  // namespace halfulp::reference
