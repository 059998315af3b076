// Scores, logits and weights of graph attention, with their bounds: [B8]-[B11] of docs/bounds.md.
#include <algorithm>
#include <cmath>

#include "reference/exponential.hpp"
#include "reference/ops/clones.hpp"
#include "reference/ops/graph_attention_parts.hpp"
#include "reference/require.hpp"

namespace halfulp::reference {
namespace {

// Products of numbers above these are far from the underflow of fp32 in every order of the factors.
constexpr double kFactorSafe = 0x1p-100;
constexpr double kProductSafe = 0x1p-60;

bool is_power_of_four(std::int64_t dim) {
  return (dim & (dim - 1)) == 0 && (dim & 0x5555555555555555) != 0;
}

double clamped(double x) {
  const double low = x < -kClip ? -kClip : x;
  return low > kClip ? kClip : low;
}

// Where clamp puts a NaN; NaN itself for `propagate`.
double clamped_nan(ClampNan policy) {
  if (policy == ClampNan::to_low) return -kClip;
  if (policy == ClampNan::to_high) return kClip;
  return std::nan("");
}

struct Totals {
  double sum = 0;
  double magnitude = 0;
  double error = 0;
};

// Four chains each, so that the additions overlap.
HALFULP_CLONES
Totals totals(const ScoreRow& row, std::int64_t dim) {
  double sum[4] = {}, magnitude[4] = {}, error[4] = {};
  std::int64_t d = 0;
  for (; d + 4 <= dim; d += 4) {
    for (int lane = 0; lane < 4; ++lane) {
      sum[lane] += row.value[d + lane];
      magnitude[lane] += std::abs(row.value[d + lane]);
      error[lane] += row.sum_error[d + lane];
    }
  }
  for (; d < dim; ++d) {
    sum[0] += row.value[d];
    magnitude[0] += std::abs(row.value[d]);
    error[0] += row.sum_error[d];
  }
  return {(sum[0] + sum[1]) + (sum[2] + sum[3]),
          (magnitude[0] + magnitude[1]) + (magnitude[2] + magnitude[3]),
          (error[0] + error[1]) + (error[2] + error[3])};
}

// [B4] No order of summing the row rounds.
bool sums_exactly(const RoundingModel& rounding, const ScoreRow& row, std::int64_t dim,
                  const Totals& total) {
  const double largest = (total.magnitude + std::abs(total.sum)) / 2;
  const double q = quantum(largest, 24, rounding.quantum_least);
  for (std::int64_t d = 0; d < dim; ++d) {
    if (!is_multiple(row.value[d], q)) return false;
  }
  return largest <= rounding.largest;
}

// [B10] From sums over the finite scores.
Logit logit_from(const ScoreModel& model, const ScoreRow& row, std::int64_t dim,
                 const Totals& total) {
  const RoundingModel& rounding = model.rounding;
  const double size = std::abs(total.sum);
  Logit logit;
  logit.value = clamped(total.sum);
  double error = 0;
  if (total.error != 0 || !sums_exactly(rounding, row, dim, total)) {
    const SumError tree = sum_error(rounding, static_cast<double>(dim - 1));
    error = total.error + tree.of_magnitude * (total.magnitude + 2 * total.error) +
            tree.of_result * (size + total.error) + tree.constant;
    error *= 1 + 0x1p-20;  // so that what is clamped for `size` is clamped for the true sum too
  }
  const double beyond = std::max(0.0, size - kClip);
  logit.error = error > beyond ? error - beyond : 0;
  logit.imprecise = logit.error > 1;
  // Sub-sums beyond the largest number become infinite, and clamp to the clip of their sign, unless
  // infinities of both signs meet.
  const double slack = error + total.error;
  const bool high = (total.magnitude + total.sum) / 2 + slack >= rounding.largest;
  const bool low = (total.magnitude - total.sum) / 2 + slack >= rounding.largest;
  if (high && low) logit.certainty = Certainty::unbounded;
  if (high) logit.error = std::max(logit.error, kClip - logit.value);
  if (low) logit.error = std::max(logit.error, kClip + logit.value);
  return logit;
}

}  // namespace

ScoreModel score_model(const GraphAttention& op) {
  ScoreModel model;
  const Arithmetic& arithmetic = op.arithmetic;
  model.rounding = rounding_model(arithmetic);
  model.scale = 1 / std::sqrt(static_cast<double>(op.dim));
  model.exact_scale = is_power_of_four(op.dim) && arithmetic.scale_exact_at_powers_of_four;
  model.scale_error = model.rounding.unit * (model.exact_scale ? 1 : arithmetic.scale_roundings);
  model.last_rounding = arithmetic.output == arithmetic.compute;
  model.flush_last =
      model.last_rounding && arithmetic.flush_to_zero ? 6 * model.rounding.underflow : 0;
  model.clamp_nan = arithmetic.clamp_nan;
  return model;
}

HALFULP_CLONES
void score_row(const ScoreModel& model, const float* k, const float* q, const float* e,
               std::int64_t dim, const ScoreRow& row) {
  const double unit = model.rounding.unit;
  const double underflow = model.rounding.underflow;
  const double scale = model.scale;
  const double scale_error = model.scale_error;
  const double scale_inexact = model.exact_scale ? 0 : 1;
  const double keep = model.last_rounding ? 0 : 1;
  const double flush_last = model.flush_last;
  double* const __restrict value = row.value;
  double* const __restrict error = row.error;
  double* const __restrict bound = row.bound;
  double* const __restrict sum_error = row.sum_error;
  // Selections between doubles only, each false for a NaN: the compiler turns them into masks.
  for (std::int64_t d = 0; d < dim; ++d) {
    const double kd = k[d], qd = q[d], ed = e[d];
    const double product = kd * qd;  // exact: 48 bits
    const double t = product * scale;
    const double t_size = std::abs(t), product_size = std::abs(product);
    const double k_size = std::abs(kd), q_size = std::abs(qd), e_size = std::abs(ed);
    // [B9] The error of t, less what the clamp cuts off; NaN where t is not finite.
    const double factor_least = k_size < q_size ? k_size : q_size;
    const double gap = std::abs(static_cast<double>(static_cast<float>(product)) - product);
    const double gap_safe = product_size < kProductSafe ? 1 : gap;
    const double t_inexact = (factor_least < kFactorSafe ? 1 : gap_safe) + scale_inexact;
    const double general = scale_error * t_size + underflow * (2 + k_size + q_size);
    const double t_known = t_inexact <= 0 ? 0 : general;
    const double t_raw = product_size <= 0 ? 0 : t_known;
    const double t_over = t_size - kClip;
    const double t_cut = t_raw - (t_over < 0 ? 0 : t_over);
    const double t_error = t_cut < 0 ? 0 : t_cut;
    const double t_low = t < -kClip ? -kClip : t;
    const double s = (t_low > kClip ? kClip : t_low) * ed;
    const double s_size = std::abs(s);
    const double carried = e_size * t_error;
    // The rounding of s itself, known where t is.
    const double half_ulp = unit * s_size;
    const double deviation = std::abs(static_cast<double>(static_cast<float>(s)) - s);
    const double known = deviation < half_ulp ? deviation : half_ulp;
    const double tiny_product = s_size < kProductSafe ? 1 : 0;
    const double tiny = e_size < kFactorSafe ? 1 : tiny_product;
    const double unknown = half_ulp + unit * carried + tiny * (6 * underflow);
    const double rounded = t_error + tiny <= 0 ? known : unknown;
    const double rounding = s_size <= 0 ? 0 : rounded;
    const double flushed = s_size <= 0 ? 0 : tiny * flush_last;
    const double double_error = 5 * 0x1p-53 * s_size;
    value[d] = s;
    error[d] = t_error <= 0 ? 0 : double_error;
    bound[d] = (carried + keep * rounding + flushed) * kInflation;
    sum_error[d] = carried + rounding;
  }
}

Logit logit_of(const ScoreModel& model, const ScoreRow& row, std::int64_t dim) {
  return logit_from(model, row, dim, totals(row, dim));
}

Logit classify_row(const ScoreModel& model, const float* k, const float* q, const float* e,
                   std::int64_t dim, const ScoreRow& row) {
  bool open = false, nan = false, positive = false, negative = false;
  Totals total;
  for (std::int64_t d = 0; d < dim; ++d) {
    const ScoreRow one{row.value + d, row.error + d, row.bound + d, row.sum_error + d};
    // The score as it is for finite factors; what is said below replaces it.
    float k_used = k[d], q_used = q[d];
    const float e_used = e[d];
    double t = static_cast<double>(k_used) * q_used * model.scale;
    bool uncertain = false;
    if (!std::isfinite(t)) {
      // infinity * a factor that may be flushed or rounded to zero is an infinity or a NaN
      const double smaller = std::min(std::abs(k_used), std::abs(q_used));
      uncertain = std::isinf(t) && smaller < kFactorSafe;
      if (std::isnan(t)) uncertain = model.clamp_nan == ClampNan::any;
      t = std::isnan(t) ? clamped_nan(model.clamp_nan) : clamped(t);
      // A stand-in that is clamped to the same t without error.
      k_used = static_cast<float>(t < 0 ? -0x1p40 : 0x1p40);
      q_used = 0x1p40f;
    }
    if (std::isinf(e_used) && t != 0 && std::abs(t) < kProductSafe) uncertain = true;
    const double s = clamped(t) * e_used;
    score_row(model, &k_used, &q_used, &e_used, 1, one);
    if (!std::isfinite(s)) {
      *one.value = s;
      *one.error = *one.bound = *one.sum_error = 0;
      uncertain = uncertain && !std::isnan(e_used);
      nan |= std::isnan(s);
      positive |= s > 0;
      negative |= s < 0;
    } else {
      total.sum += s;
      total.magnitude += std::abs(s);
      total.error += *one.sum_error;
    }
    if (uncertain) {
      *one.value = 0;
      *one.error = 0;
      *one.bound = kUnbounded;
      open = true;
    }
  }
  Logit logit;
  nan |= positive && negative;
  if (!nan && !positive && !negative) {
    logit = logit_from(model, row, dim, total);
  } else if (nan) {
    logit.value = clamped_nan(model.clamp_nan);
    if (model.clamp_nan == ClampNan::any) open = true;
  } else {
    logit.value = positive ? kClip : -kClip;
    if (total.magnitude + total.error >= model.rounding.largest / 2) open = true;
  }
  if (open) logit.certainty = Certainty::unbounded;
  return logit;
}

Weight weight_of(const Arithmetic& arithmetic, const Logit& logit) {
  Weight weight;
  weight.certainty = logit.certainty;
  if (logit.certainty == Certainty::unbounded) return weight;
  weight.value = exponential(logit.value);
  // [B8] exp(0) is 1 in every implementation.
  if (logit.error == 0 && logit.value == 0) return weight;
  const ExponentialModel& model = arithmetic.exponential;
  const double furthest = std::min(kClip, std::abs(logit.value) + logit.error);
  const double ulps = model.ulps + std::floor(model.ulps_slope * furthest) + 0.5;
  weight.error_of_exp = ulps * 0x1p-23 * (1 + 0x1p-20);
  // [B11]
  const double argument = logit.error < 0.5 ? logit.error * (1 + logit.error)
                                            : std::expm1(std::min(logit.error, 2 * kClip));
  weight.error = argument * (1 + weight.error_of_exp) + weight.error_of_exp;
  return weight;
}

EdgeScores::EdgeScores(const GraphAttention& op)
    : op_(op), model_(score_model(op)), k_(op.k, op.dim), e_(op.e, op.dim) {}

Weight EdgeScores::weigh(std::int64_t edge, std::int64_t head, const float* q,
                         const ScoreRow& row) {
  const std::int32_t source = op_.source[edge];
  HALFULP_REQUIRE(source >= 0 && source < op_.nodes, "an edge starts at a node");
  const float* k = k_.row(source, head);
  const float* e = e_.row(edge, head);
  score_row(model_, k, q, e, op_.dim, row);
  const Totals total = totals(row, op_.dim);
  const bool ordinary = std::isfinite(total.magnitude) && std::isfinite(total.error);
  Logit logit = ordinary ? logit_from(model_, row, op_.dim, total)
                         : classify_row(model_, k, q, e, op_.dim, row);
  if (logit.imprecise && logit.certainty == Certainty::certain) {
    const Enclosure exact = logit_exact(op_, edge, head);
    logit.value = (exact.lo + exact.hi) / 2;
    logit.error = kClip + std::abs(logit.value);  // the clamp keeps every kernel within the clip
  }
  return weight_of(op_.arithmetic, logit);
}

}  // namespace halfulp::reference
