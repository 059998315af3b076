// Operands of simulated attention: what fills and masks mean.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/reference/ops/flash_attention_simulated.hpp"

namespace halfulp::reference::simulated {
namespace {

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

constexpr float kInfinity = std::numeric_limits<float>::infinity();

}  // namespace

FlashData::FlashData(const FlashSizes& sizes, Format input) {
  const std::int64_t bytes = traits(input).storage_bits / 8;
  const std::int64_t row = sizes.dim + 3;
  const auto rows = sizes.batches * sizes.heads * (sizes.queries + 2 * sizes.keys);
  storage.resize(index(rows * row * bytes));
  std::int64_t first = 0;
  const auto view = [&](std::int64_t count) {
    View made;
    made.data = storage.data() + first * bytes;
    made.format = input;
    const std::int64_t extent[4] = {sizes.batches, sizes.heads, count, sizes.dim};
    std::copy_n(extent, 4, made.extent);
    const std::int64_t stride[4] = {sizes.heads * count * row, count * row, row, 1};
    std::copy_n(stride, 4, made.stride);
    first += sizes.batches * stride[0];
    return made;
  };
  op.batches = sizes.batches;
  op.heads = sizes.heads;
  op.queries = sizes.queries;
  op.keys = sizes.keys;
  op.dim = sizes.dim;
  op.q = view(sizes.queries);
  op.k = view(sizes.keys);
  op.v = view(sizes.keys);
  op.arithmetic.input = input;
}

void FlashData::set(const View& view, std::int64_t head, std::int64_t row, std::int64_t d,
                    double value) {
  const std::int64_t at = head / op.heads * view.stride[0] + head % op.heads * view.stride[1] +
                          row * view.stride[2] + d * view.stride[3];
  const std::uint64_t bits = encode(view.format, value);
  const std::int64_t bytes = traits(view.format).storage_bits / 8;
  const std::int64_t first = static_cast<const unsigned char*>(view.data) - storage.data();
  std::memcpy(storage.data() + first + at * bytes, &bits, index(bytes));  // the low bytes
}

float& FlashData::mask_at(std::int64_t head, std::int64_t query, std::int64_t key) {
  return mask[index((head * op.queries + query) * op.keys + key)];
}

void FlashData::fill(FlashFill fill, Generator& generator) {
  std::normal_distribution<double> normal;
  const FormatTraits& format = traits(op.q.format);
  const double root = std::sqrt(static_cast<double>(op.dim));
  const auto any_bits = [&] {
    const double x = decode(op.q.format, generator() >> (64 - format.storage_bits) &
                                             ~(op.q.format == Format::tf32 ? 0x1fffULL : 0));
    return std::isfinite(x) && std::abs(x) < 0x1p60 ? x : 0;
  };
  const auto draw = [&](bool value) -> double {
    switch (fill) {
      case FlashFill::peaky:
        return (value ? 1 : 2) * normal(generator);
      case FlashFill::integers:
        return static_cast<double>(below(generator, 7) - 3);
      case FlashFill::biased:
        return (value ? 3 : 0) + normal(generator);
      case FlashFill::wide:
        return normal(generator) * std::ldexp(1.0, static_cast<int>(below(generator, 16)) - 10);
      case FlashFill::subnormal:
        if (value || below(generator, 4) == 0) {
          return std::ldexp(normal(generator), format.exponent_min - (value ? 1 : 2));
        }
        return std::ldexp(normal(generator), static_cast<int>(below(generator, 5)) - 1);
      case FlashFill::any_bits:
        return any_bits();
      case FlashFill::huge:
        return normal(generator) *
               (value ? std::ldexp(1.0, std::min(format.exponent_max, 127) - 3) : 1);
      default:
        return normal(generator);
    }
  };
  const double gap = uniform(generator) * 8;
  for (std::int64_t head = 0; head < op.batches * op.heads; ++head) {
    for (std::int64_t d = 0; d < op.dim; ++d) {
      for (std::int64_t i = 0; i < op.queries; ++i) {
        double q = fill == FlashFill::equal ? 0 : draw(false);
        if (fill == FlashFill::ladder || fill == FlashFill::two_keys) q = d == 0 ? 1 : 0;
        if (fill == FlashFill::lowest && d == 0) q = 200 * root;
        set(op.q, head, i, d, q);
      }
      for (std::int64_t j = 0; j < op.keys; ++j) {
        double k = draw(false), v = draw(true);
        if (fill == FlashFill::ladder) k = 300 * root * static_cast<double>(j % 5);
        if (fill == FlashFill::two_keys) {
          k = j < 2 ? root * gap * static_cast<double>(j) : -300 * root;
          v = j == 0 ? 4096 : 0;
        }
        if (fill == FlashFill::lowest && d == 0) k = -200;
        if (fill == FlashFill::identity) v = j % op.dim == d && j < 64 ? 1 : 0;
        set(op.k, head, j, d, k);
        set(op.v, head, j, d, v);
      }
    }
  }
}

void FlashData::set_mask(FlashMask kind, Generator& generator) {
  const std::int64_t heads = op.batches * op.heads;
  op.open = OpenKeys::all;
  op.mask = {};
  mask.clear();
  if (kind == FlashMask::causal || kind == FlashMask::window) {
    op.open = kind == FlashMask::causal ? OpenKeys::causal : OpenKeys::window;
    op.shift = op.keys - op.queries;
    op.left = below(generator, op.keys + 1);
    op.right = below(generator, 4);
    // Simulated kernels take masks as numbers; the reference gets one or the other.
  }
  if (kind == FlashMask::none || op.keys == 0) return;
  mask.assign(index(heads * op.queries * op.keys), 0);
  const std::int64_t open = below(generator, op.keys);
  for (std::int64_t head = 0; head < heads; ++head) {
    for (std::int64_t i = 0; i < op.queries; ++i) {
      for (std::int64_t j = 0; j < op.keys; ++j) {
        float& x = mask_at(head, i, j);
        const auto random = static_cast<float>(uniform(generator));
        if (kind == FlashMask::causal && j > i + op.shift) x = -kInfinity;
        if (kind == FlashMask::window &&
            (j < i + op.shift - op.left || j > i + op.shift + op.right)) {
          x = -kInfinity;
        }
        if (kind == FlashMask::random && random < 0.5f) x = -kInfinity;
        if (kind == FlashMask::finite) x = random < 0.2f ? -kInfinity : 4 * random;
        if (kind == FlashMask::large) x = random < 0.5f ? -1e4f : -1e4f - random;
        if (kind == FlashMask::one_open && j != open) x = -kInfinity;
        if (kind == FlashMask::closed) x = -kInfinity;
      }
    }
  }
  op.mask.data = mask.data();
  op.mask.format = Format::fp32;
  const std::int64_t extent[4] = {op.batches, op.heads, op.queries, op.keys};
  const std::int64_t stride[4] = {op.heads * op.queries * op.keys, op.queries * op.keys, op.keys,
                                  1};
  std::copy_n(extent, 4, op.mask.extent);
  std::copy_n(stride, 4, op.mask.stride);
}

}  // namespace halfulp::reference::simulated
