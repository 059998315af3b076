// Arguments of flash_attention.
#include "gpu/kernels/flash_attention.hpp"

#include <cmath>

namespace halfulp::gpu {
namespace {

constexpr std::array<std::string_view, 7> kMaskNames{
    "none",      "additive", "causal_top_left", "causal_bottom_right",
    "prefix_lm", "window",   "documents"};

// Most rows of q and of k: what no memory holds, so that products of sizes stay in 64 bits.
constexpr std::int64_t kRowsMost = std::int64_t{1} << 46;

std::string number(std::int64_t value) { return std::to_string(value); }

void bind_sizes(Binding& binding, FlashAttention& g) {
  g.batches = binding.extent("q", 0, kFlashSizeMost);
  g.heads = binding.extent("q", 1, kFlashSizeMost);
  g.queries = binding.extent("q", 2, kFlashSizeMost);
  g.dim = binding.extent("q", 3, kFlashDimMost);
  g.keys = binding.extent("k", 2, kFlashSizeMost);
  if (g.dim < kFlashDimLeast) {
    binding.refuse("q", "extent 3 is " + number(g.dim) + ", needs " + number(kFlashDimLeast) +
                            " to " + number(kFlashDimMost));
  }
  const auto check = [&](std::string_view operand, std::int64_t rows_of_head) {
    const std::int64_t most = rows_of_head > 0 ? kRowsMost / rows_of_head : kRowsMost;
    if (g.batches > 0 && g.heads > most / g.batches) {
      binding.refuse(operand, number(g.batches) + " times " + number(g.heads) + " times " +
                                  number(rows_of_head) + " rows are more than 2^46");
    }
  };
  check("q", g.queries);
  check("k", g.keys);
}

// Strides of axes with one element are 0, whatever the caller says.
HeadRows rows_of(Binding& binding, std::string_view operand_name,
                 std::initializer_list<std::int64_t> extent, Format format) {
  HeadRows rows;
  const Argument* argument = binding.operand(operand_name, extent, format);
  if (argument == nullptr) return rows;
  const Operand& operand = *argument->operand;
  rows.data = argument->data;
  if (operand.count() == 0) return rows;
  rows.aligned = reinterpret_cast<std::uintptr_t>(rows.data) % 16 == 0;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    rows.stride[axis] = operand.extent[axis] > 1 ? operand.stride[axis] : 0;
    rows.aligned = rows.aligned && rows.stride[axis] * size_bytes(format) % 16 == 0;
  }
  return rows;
}

AdditiveMask additive_of(Binding& binding, const Arguments& arguments, const FlashAttention& g) {
  AdditiveMask mask;
  mask.format = arguments["mask"].operand->format;
  const bool stored = mask.format == g.storage && g.storage != Format::tf32;
  if (mask.format != Format::f32 && !stored) {
    const bool has_other = g.storage == Format::f16 || g.storage == Format::bf16;
    binding.refuse("mask", "format " + std::string(name(mask.format)) + ", needs f32" +
                               (has_other ? " or q's " + std::string(name(g.storage)) : ""));
  }
  const Argument* argument =
      binding.operand("mask", {g.batches, g.heads, g.queries, g.keys}, mask.format, true);
  if (argument == nullptr) return mask;
  const Operand& operand = *argument->operand;
  mask.data = argument->data;
  if (operand.count() == 0) return mask;
  for (std::size_t axis = 0; axis < 4; ++axis) {
    mask.stride[axis] = operand.extent[axis] > 1 ? operand.stride[axis] : 0;
  }
  return mask;
}

std::int64_t setting(Binding& binding, const Arguments& arguments, std::string_view setting_name,
                     std::int64_t low) {
  const std::int64_t value = arguments.setting(setting_name, 0);
  if (value < low || value > INT32_MAX) {
    binding.refuse(setting_name,
                   "is " + number(value) + ", needs " + number(low) + " to " + number(INT32_MAX));
  }
  return value;
}

void bind_mask(Binding& binding, const Arguments& arguments, FlashAttention& g,
               std::span<const KeyMask> masks) {
  const bool has_operand = binding.has("mask");
  std::int64_t fallback = 0;
  for (std::size_t i = 0; i < masks.size(); ++i) {
    if (has_operand && masks[i] == KeyMask::additive) fallback = static_cast<std::int64_t>(i);
  }
  const std::int64_t index = arguments.setting("mask", fallback);
  const auto count = static_cast<std::int64_t>(masks.size());
  if (index < 0 || index >= count) {
    return binding.refuse("mask", "is " + number(index) + ", needs 0 to " + number(count - 1));
  }
  g.mask = masks[static_cast<std::size_t>(index)];
  if (g.mask == KeyMask::additive) {
    if (!has_operand) return binding.refuse("mask", "the argument is missing");
    g.additive = additive_of(binding, arguments, g);
  } else if (has_operand) {
    binding.refuse("mask", "an operand, but the setting says " + std::string(name(g.mask)));
  }
  if (g.mask == KeyMask::prefix_lm || g.mask == KeyMask::documents) {
    g.prefix = setting(binding, arguments, "prefix", g.mask == KeyMask::documents ? 1 : 0);
  }
  if (g.mask == KeyMask::window) {
    g.window_left = setting(binding, arguments, "window_left", 0);
    g.window_right = setting(binding, arguments, "window_right", 0);
  }
}

}  // namespace

std::string_view name(KeyMask mask) { return kMaskNames.at(static_cast<std::size_t>(mask)); }

std::string bind(const Arguments& arguments, FlashAttention& g, std::span<const KeyMask> masks) {
  Binding binding(arguments);
  g = FlashAttention();
  g.storage = binding.storage("q", true);
  bind_sizes(binding, g);
  g.q = rows_of(binding, "q", {g.batches, g.heads, g.queries, g.dim}, g.storage);
  g.k = rows_of(binding, "k", {g.batches, g.heads, g.keys, g.dim}, g.storage);
  g.v = rows_of(binding, "v", {g.batches, g.heads, g.keys, g.dim}, g.storage);
  bind_mask(binding, arguments, g, masks);
  const Format output = g.storage == Format::tf32 ? Format::f32 : g.storage;
  g.out = rows_of(binding, "out", {g.batches, g.heads, g.queries, g.dim}, output);
  g.scale = arguments.scale;
  if (!std::isfinite(g.scale)) {
    binding.refuse("scale", "is " + std::to_string(g.scale) + ", needs a finite value, or 0");
  }
  if (g.scale == 0.0f) g.scale = 1.0f / std::sqrt(static_cast<float>(g.dim));
  return binding.finish();
}

}  // namespace halfulp::gpu
