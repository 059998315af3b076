// Names and sizes of formats, and the one-line description of a kernel's arithmetic.
#include "gpu/numerics.hpp"

#include <array>

namespace halfulp::gpu {
namespace {

struct FormatRow {
  std::string_view name;
  std::int64_t size_bytes;
};
constexpr std::array<FormatRow, 6> kFormats{
    {{"f64", 8}, {"f32", 4}, {"tf32", 4}, {"f16", 2}, {"bf16", 2}, {"i32", 4}}};
constexpr std::array<std::string_view, 5> kExponentials{"none", "expf", "expf_fast", "exp2f",
                                                        "exp2f_fast"};
constexpr std::array<std::string_view, 3> kDivisions{"none", "ieee", "reciprocal"};
constexpr std::array<std::string_view, 4> kScales{"none", "reciprocal", "division", "rsqrt"};
constexpr std::array<std::string_view, 4> kPartials{"one", "splits", "programs", "fixed"};
constexpr std::array<std::string_view, 4> kClampNans{"propagate", "to_low", "to_high", "any"};
constexpr std::array<std::string_view, 3> kMaskedRows{"zero", "nan", "any"};

template <class Names, class Value>
std::string_view at(const Names& names, Value value) {
  return names.at(static_cast<std::size_t>(value));
}

}  // namespace

std::string_view name(Format format) { return kFormats.at(static_cast<std::size_t>(format)).name; }

std::int64_t size_bytes(Format format) {
  return kFormats.at(static_cast<std::size_t>(format)).size_bytes;
}

std::string describe(const Numerics& numerics) {
  std::string text = "acc=" + std::string(name(numerics.accumulator));
  const auto field = [&text](std::string_view key, std::string_view value) {
    text.append(" ").append(key).append("=").append(value);
  };
  field("product", numerics.product_rounded ? "rounded" : "fused");
  if (numerics.scale != Scale::none) field("scale", at(kScales, numerics.scale));
  if (numerics.exponential != Exponential::none) {
    field("exp", at(kExponentials, numerics.exponential));
    field("clamp_nan", at(kClampNans, numerics.clamp_nan));
  }
  if (numerics.division != Division::none) field("div", at(kDivisions, numerics.division));
  if (numerics.tensor_cores) {
    text += " tensor_cores";
    if (numerics.tensor_core.alignment_bits > 0) {
      text += " F=" + std::to_string(numerics.tensor_core.alignment_bits) +
              " L=" + std::to_string(numerics.tensor_core.products_16_bit) + "|" +
              std::to_string(numerics.tensor_core.products_tf32);
    }
    field("order", numerics.sum_order == SumOrder::any ? "any" : "contiguous");
  }
  if (numerics.partials != Partials::one) {
    std::string count(at(kPartials, numerics.partials));
    if (numerics.partials == Partials::fixed) count = std::to_string(numerics.partials_most);
    field("partials", count + (numerics.partial_in_output ? ",output" : ",f32"));
  }
  if (numerics.log2e_first) text += " log2e_first";
  if (numerics.weight_in_input) {
    field("weights", numerics.weight_sum_rounded ? "input,summed" : "input");
  }
  if (numerics.rescaled) {
    const int lazy = numerics.rescale_lazy_bits;
    field("softmax", lazy > 0 ? "online,lazy:" + std::to_string(lazy) : "online");
    field("product", numerics.product_apart ? "apart" : "chained");
  }
  if (numerics.masked_row != MaskedRow::zero) {
    field("masked_row", at(kMaskedRows, numerics.masked_row));
  }
  if (numerics.masked_nan_ignored) text += " masked_nan_ignored";
  if (numerics.atomics) text += " atomics";
  if (numerics.flush_to_zero) text += " flush_to_zero";
  if (numerics.repeatable) text += " repeatable";
  return text;
}

}  // namespace halfulp::gpu
