// What flash attention's rows share: the model of an operation, and a head's keys and values.
#include <algorithm>
#include <cmath>

#include "reference/ops/flash_attention_parts.hpp"
#include "reference/require.hpp"

namespace halfulp::reference {
namespace {

std::size_t size(std::int64_t count) { return static_cast<std::size_t>(count); }

constexpr double kHalfUlpOfDouble = 0x1p-53;
// [B24] e^-104 is below half of the smallest subnormal number.
constexpr double kTinyArgument = 104;

bool is_power_of_two(double x) {
  int exponent = 0;
  return std::abs(std::frexp(x, &exponent)) == 0.5;
}

bool is_power_of_four(std::int64_t dim) {
  return (dim & (dim - 1)) == 0 && (dim & 0x5555555555555555) != 0;
}

// Each operand of one product of matrices in the format that it is stored in.
Matmul product_of(const FlashAttention& op, Format left, Format right, std::int64_t k) {
  Matmul product;
  product.m = op.queries;
  product.k = k;
  product.a.format = left;
  product.b.format = right;
  product.arithmetic = op.arithmetic;
  product.arithmetic.partials = 1;
  product.arithmetic.output = Format::fp64;  // no rounding of a product is an output's
  return product;
}

// Keys (keys, dim) as columns of a product, in panels [panel][channel][key].
void pack_turned(const double* keys, std::int64_t count, std::int64_t dim,
                 std::vector<double>& packed) {
  const std::int64_t panels = (count + kTileColumns - 1) / kTileColumns;
  packed.assign(size(panels * dim * kTileColumns), 0.0);
  for (std::int64_t j = 0; j < count; ++j) {
    double* const out = packed.data() + j / kTileColumns * dim * kTileColumns + j % kTileColumns;
    for (std::int64_t d = 0; d < dim; ++d) out[d * kTileColumns] = keys[j * dim + d];
  }
}

}  // namespace

void check(const FlashAttention& op) {
  HALFULP_REQUIRE(
      op.batches >= 0 && op.heads >= 0 && op.queries >= 0 && op.keys >= 0 && op.dim >= 0,
      "sizes are not negative");
  HALFULP_REQUIRE(std::isfinite(op.scale), "the scale is a number");
  HALFULP_REQUIRE(op.arithmetic.rescales >= 0 && op.arithmetic.rescale_lazy >= 0 &&
                      op.arithmetic.rescale_lazy < 60,
                  "rescales are not negative, and wait for less than e^60");
}

KeyRange open_keys(const FlashAttention& op, std::int64_t query) {
  const auto within = [&](std::int64_t first, std::int64_t last) {
    first = std::clamp<std::int64_t>(first, 0, op.keys);
    return KeyRange{first, std::max(first, std::min(last, op.keys))};
  };
  switch (op.open) {
    case OpenKeys::causal:
      return within(0, query + op.shift + 1);
    case OpenKeys::prefix: {
      const std::int64_t causal = query + op.shift + 1;
      return within(0, query < op.prefix ? std::max(causal, op.prefix) : causal);
    }
    case OpenKeys::window:
      return within(query + op.shift - op.left, query + op.shift + op.right + 1);
    case OpenKeys::all:
      break;
  }
  return within(0, op.keys);
}

View head_view(const View& view, std::int64_t batch, std::int64_t head, bool turned) {
  View result = view;
  result.data =
      static_cast<const char*>(view.data) +
      (batch * view.stride[0] + head * view.stride[1]) * (traits(view.format).storage_bits / 8);
  const int rows = turned ? 1 : 0;
  result.extent[rows] = view.extent[2];
  result.stride[rows] = view.stride[2];
  result.extent[1 - rows] = view.extent[3];
  result.stride[1 - rows] = view.stride[3];
  for (int axis = 2; axis < 4; ++axis) {
    result.extent[axis] = 1;
    result.stride[axis] = 0;
  }
  return result;
}

AttentionModel::AttentionModel(const FlashAttention& op)
    : dots(product_of(op, op.q.format, op.k.format, op.dim)),
      values(product_of(op, op.arithmetic.weight, op.v.format, op.keys)),
      rounding(rounding_model(op.arithmetic)),
      division(division_error(op.arithmetic)),
      unit(rounding.unit),
      tensor_core(values.tensor_core) {
  check(op);
  const Arithmetic& arithmetic = op.arithmetic;
  base_2 = arithmetic.exponential.base_2;
  log2e_first = base_2 && arithmetic.exponential.log2e_first;
  const double dim = std::max<double>(1, static_cast<double>(op.dim));
  if (op.scale != 0) {
    scale = op.scale;
    scale_exact = is_power_of_two(scale);
  } else {
    scale = 1 / std::sqrt(dim);
    scale_in_double = 4 * kHalfUlpOfDouble;
    scale_exact = is_power_of_four(op.dim) && arithmetic.scale_exact_at_powers_of_four;
    // 1.0f / sqrtf(dim), unless what is declared is worse.
    if (!scale_exact) scale_error = std::max(2.01, arithmetic.scale_roundings - 2) * unit;
  }
  const ExponentialModel& exponential = arithmetic.exponential;
  exp_ulps = (exponential.ulps + 0.5) * 0x1p-23;
  exp_slope = exponential.ulps_slope * 0x1p-23;
  const bool flushes = exponential.flushes || arithmetic.flush_to_zero;
  const double tiny_ulps = exponential.ulps + exponential.ulps_slope * kTinyArgument + 1;
  exp_tiny = flushes ? rounding.smallest_normal : tiny_ulps * 0x1p-149;
  rescales = static_cast<double>(arithmetic.rescales);
  lazy = arithmetic.rescale_lazy;
  lazy_most = std::exp(lazy) * (1 + 0x1p-40);

  const Format weight = arithmetic.weight;
  if (traits(weight).precision < traits(arithmetic.compute).precision) {
    weight_unit = unit_roundoff(weight);
  }
  if (tensor_core) weight_unit = std::max(weight_unit, arithmetic.operand_roundoff);
  weight_nearest = weight_unit == unit_roundoff(weight);
  weight_normal = std::ldexp(1.0, traits(weight).exponent_min);
  weight_tiny = weight_unit * weight_normal;
  if (arithmetic.flush_to_zero) weight_tiny = std::max(weight_tiny, rounding.smallest_normal);
  if (weight_unit == 0) weight_tiny = 0;
  weight_sum_rounded = arithmetic.weight_sum_rounded;
  product_apart = arithmetic.product_apart;
  closed_ignored = arithmetic.masked_nan_ignored;
}

HeadOperands::HeadOperands(const FlashAttention& op, const AttentionModel& model)
    : op_(op), model_(model) {}

void HeadOperands::load(std::int64_t of_batch, std::int64_t of_head) {
  batch = of_batch;
  head = of_head;
  const std::size_t keys = size(op_.keys), dim = size(op_.dim);
  key_lines.assign(keys, Line{});
  channel_lines.assign(dim, Line{});
  special_keys.clear();
  special_channels.clear();
  key_largest = 0;
  line_.resize(keys * dim);
  std::vector<unsigned char> special(dim);
  values.resize(keys * dim);
  const double k_normal = model_.dots.smallest_normal;
  const double v_normal = std::ldexp(1.0, traits(op_.v.format).exponent_min);
  for (std::size_t j = 0; j < keys; ++j) {
    const auto key = static_cast<std::int64_t>(j);
    double* const k = line_.data() + j * dim;
    double* const v = values.data() + j * dim;
    op_.k.row(batch, head, key, 3, op_.dim, k);
    op_.v.row(batch, head, key, 3, op_.dim, v);
    bool special_key = false;
    for (std::size_t d = 0; d < dim; ++d) {
      special_key |= !std::isfinite(k[d]);
      if (!std::isfinite(k[d])) k[d] = 0;
      special[d] |= !std::isfinite(v[d]);
      if (!std::isfinite(v[d])) v[d] = 0;
      key_lines[j].add(k[d], k_normal);
      channel_lines[d].add(v[d], v_normal);
    }
    key_largest = std::max(key_largest, key_lines[j].largest);
    if (special_key) special_keys.push_back(key);
  }
  for (std::size_t d = 0; d < dim; ++d) {
    if (special[d] != 0) special_channels.push_back(static_cast<std::int64_t>(d));
  }
  pack_columns(values.data(), op_.keys, op_.dim, packed_values);
  pack_turned(line_.data(), op_.keys, op_.dim, packed_keys);
}

}  // namespace halfulp::reference
