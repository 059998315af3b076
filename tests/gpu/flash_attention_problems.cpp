#include "tests/gpu/flash_attention_problems.hpp"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

namespace halfulp::gpu::test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<std::int64_t> strides(FlashLayout layout, std::int64_t heads, std::int64_t rows,
                                  std::int64_t dim) {
  switch (layout) {
    case FlashLayout::padded: {
      const std::int64_t pitch = (dim + 7) / 8 * 8 + 8;
      return {heads * rows * pitch + 16, rows * pitch + 8, pitch, 1};
    }
    case FlashLayout::odd: {
      const std::int64_t pitch = dim + 3 - dim % 2;
      return {heads * rows * pitch + 5, rows * pitch + 1, pitch, 1};
    }
    case FlashLayout::heads_inside:
      return {rows * heads * dim, dim, heads * dim, 1};
    case FlashLayout::repeated:
      return {rows * dim, 0, dim, 1};
    case FlashLayout::contiguous:
    case FlashLayout::offset:
    case FlashLayout::mixed:
      return {heads * rows * dim, rows * dim, dim, 1};
  }
  return {};
}

std::vector<std::int64_t> mask_strides(FlashMaskLayout layout, const FlashSize& size) {
  const std::int64_t pitch = layout == FlashMaskLayout::sliced ? size.keys + 8 : size.keys;
  const std::int64_t head = size.queries * pitch;
  std::vector<std::int64_t> stride{size.heads * head, head, pitch, 1};
  if (layout == FlashMaskLayout::transposed) stride = {size.heads * head, head, 1, size.queries};
  if (layout == FlashMaskLayout::batch_repeated) stride[0] = 0;
  if (layout == FlashMaskLayout::head_repeated) stride = {head, 0, pitch, 1};
  if (layout == FlashMaskLayout::row_repeated) stride = {size.heads * pitch, pitch, 0, 1};
  if (layout == FlashMaskLayout::all_repeated) stride = {0, 0, 0, 1};
  return stride;
}

// Of values that every format holds.
std::uint32_t encode(Format format, double value) {
  const auto single = static_cast<float>(value);
  std::uint32_t bits = 0;
  if (format == Format::f16) {
    const auto half = static_cast<_Float16>(single);
    std::memcpy(&bits, &half, sizeof half);
    return bits;
  }
  std::memcpy(&bits, &single, sizeof bits);
  return format == Format::bf16 ? bits >> 16 : bits;
}

double decode(Format format, std::uint32_t bits) {
  if (format == Format::f16) {
    _Float16 half = 0;
    std::memcpy(&half, &bits, sizeof half);
    return static_cast<double>(half);
  }
  if (format == Format::bf16) bits <<= 16;
  float single = 0;
  std::memcpy(&single, &bits, sizeof single);
  return static_cast<double>(single);
}

using Index = std::array<std::int64_t, 4>;

std::int64_t place(const Operand& operand, const Index& at) {
  std::int64_t offset = 0;
  for (std::size_t axis = 0; axis < 4; ++axis) offset += at[axis] * operand.stride[axis];
  return offset;
}

std::uint32_t bits_at(const Operand& operand, const std::vector<std::byte>& storage,
                      const Index& at) {
  const auto bytes = static_cast<std::size_t>(size_bytes(operand.format));
  std::uint32_t bits = 0;
  std::memcpy(&bits, storage.data() + static_cast<std::size_t>(place(operand, at)) * bytes, bytes);
  return bits;
}

double value_of(const Operand& operand, const Index& at) {
  return decode(operand.format, bits_at(operand, operand.storage, at));
}

void fill(Operand& operand, const std::function<double(const Index&)>& value) {
  const auto bytes = static_cast<std::size_t>(size_bytes(operand.format));
  operand.storage.assign(static_cast<std::size_t>(operand.span_elements()) * bytes,
                         std::byte{0xff});
  const std::vector<std::int64_t>& extent = operand.extent;
  Index at{};
  for (at[0] = 0; at[0] < extent[0]; ++at[0]) {
    for (at[1] = 0; at[1] < extent[1]; ++at[1]) {
      for (at[2] = 0; at[2] < extent[2]; ++at[2]) {
        for (at[3] = 0; at[3] < extent[3]; ++at[3]) {
          const std::uint32_t bits = encode(operand.format, value(at));
          std::memcpy(operand.storage.data() + static_cast<std::size_t>(place(operand, at)) * bytes,
                      &bits, bytes);
        }
      }
    }
  }
}

Operand make(const char* operand_name, Format format, FlashLayout layout,
             std::vector<std::int64_t> extent) {
  Operand operand;
  operand.name = operand_name;
  operand.format = format;
  operand.extent = std::move(extent);
  operand.stride = strides(layout, operand.extent[1], operand.extent[2], operand.extent[3]);
  operand.base_offset = layout == FlashLayout::offset ? 1 : 0;
  return operand;
}

Operand input(const char* operand_name, Format format, FlashLayout layout,
              std::vector<std::int64_t> extent) {
  Operand operand = make(operand_name, format, layout, std::move(extent));
  std::uint32_t state = 12345u + static_cast<std::uint32_t>(operand_name[0]);
  fill(operand, [&state](const Index&) {
    state = state * 1664525u + 1013904223u;
    return (static_cast<double>(state >> 16 & 31) - 15) / 8;
  });
  return operand;
}

Operand mask_operand(const FlashSize& size, Format storage, const FlashMaskChoice& choice) {
  Operand mask;
  mask.name = "mask";
  mask.format = choice.in_storage_format ? storage : Format::f32;
  mask.extent = {size.batches, size.heads, size.queries, size.keys};
  mask.stride = mask_strides(choice.layout, size);
  mask.base_offset = choice.layout == FlashMaskLayout::sliced ? 1 : 0;
  const bool rows_differ = mask.stride[2] != 0;
  std::uint32_t state = 777;
  fill(mask, [&](const Index& at) {
    if (rows_differ && at[2] % 5 == 1) return -kInfinity;
    if (rows_differ && at[2] % 5 == 3 && at[3] < 70) return -kInfinity;
    state = state * 1664525u + 1013904223u;
    const int pick = static_cast<int>(state >> 16 & 63);
    if (pick < 16) return -kInfinity;
    return pick < 32 ? 0.0 : (pick - 48) / 4.0;
  });
  return mask;
}

// One row of the answer: softmax in double, and what rounding may do to it.
struct Row {
  std::vector<double> weight;
  double sum = 0;
  double error = 0;  // relative, of each weight
};

Row softmax_row(const Problem& problem, const Index& at,
                const std::function<bool(std::int64_t, std::int64_t)>& open) {
  const Operand& q = problem.operand("q");
  const Operand& k = problem.operand("k");
  const Operand* mask = nullptr;
  for (const Operand& operand : problem.operands) {
    if (operand.name == "mask") mask = &operand;
  }
  const std::int64_t dim = q.extent[3];
  double scale = static_cast<double>(problem.scale);
  if (problem.scale == 0.0f) scale = 1 / std::sqrt(static_cast<double>(dim));
  Row row;
  double most = -kInfinity;
  for (std::int64_t j = 0; j < k.extent[2]; ++j) {
    double score = 0;
    double size = 0;
    for (std::int64_t d = 0; d < dim; ++d) {
      const double product =
          value_of(q, {at[0], at[1], at[2], d}) * value_of(k, {at[0], at[1], j, d});
      score += scale * product;
      size += scale * std::fabs(product);
    }
    const double bias = mask != nullptr ? value_of(*mask, {at[0], at[1], at[2], j}) : 0.0;
    score = open && !open(at[2], j) ? -kInfinity : score + bias;
    if (std::isfinite(bias)) size += std::fabs(bias);
    row.weight.push_back(score);
    row.error = std::fmax(row.error, (static_cast<double>(dim) + 8) * 0x1p-24 * size);
    most = std::fmax(most, score);
  }
  if (most == -kInfinity) most = 0;
  for (double& weight : row.weight) {
    weight = std::exp(weight - most);
    row.sum += weight;
  }
  // Two scores, exp of a difference below 128 and its rounding.
  row.error = 2 * row.error + 128 * 0x1p-23;
  return row;
}

double unit_roundoff(Format format) {
  return format == Format::f16 ? 0x1p-11 : format == Format::bf16 ? 0x1p-8 : 0x1p-24;
}

std::string print(const Index& at) {
  std::string text = "out[";
  for (const std::int64_t i : at) text += std::to_string(i) + ",";
  text.back() = ']';
  return text;
}

}  // namespace

const char* name(FlashLayout layout) {
  constexpr const char* kNames[kFlashLayouts] = {"contiguous", "padded", "odd",     "heads_inside",
                                                 "offset",     "mixed",  "repeated"};
  return kNames[static_cast<int>(layout)];
}

const char* name(FlashMaskLayout layout) {
  constexpr const char* kNames[kFlashMaskLayouts] = {
      "absent",         "dense",         "transposed",   "sliced",
      "batch_repeated", "head_repeated", "row_repeated", "all_repeated"};
  return kNames[static_cast<int>(layout)];
}

Problem flash_attention(const FlashSize& size, Format storage, FlashLayout layout,
                        FlashMaskChoice mask, std::vector<Setting> settings) {
  const auto layout_of = [layout](FlashLayout mixed) {
    return layout == FlashLayout::mixed ? mixed : layout;
  };
  const std::vector<std::int64_t> rows{size.batches, size.heads, size.queries, size.dim};
  const std::vector<std::int64_t> key_rows{size.batches, size.heads, size.keys, size.dim};
  Problem problem;
  problem.operation = "flash_attention";
  problem.operands = {input("q", storage, layout_of(FlashLayout::heads_inside), rows),
                      input("k", storage, layout_of(FlashLayout::odd), key_rows),
                      input("v", storage, layout_of(FlashLayout::offset), key_rows)};
  if (mask.layout != FlashMaskLayout::absent) {
    problem.operands.push_back(mask_operand(size, storage, mask));
  }
  FlashLayout out_layout = layout_of(FlashLayout::padded);
  if (out_layout == FlashLayout::repeated) out_layout = FlashLayout::contiguous;
  Operand out = make("out", storage == Format::tf32 ? Format::f32 : storage, out_layout, rows);
  out.role = Role::output;
  problem.operands.push_back(out);
  problem.settings = std::move(settings);
  return problem;
}

std::string first_wrong_attention(const Problem& problem, const Outputs& outputs,
                                  const std::function<bool(std::int64_t, std::int64_t)>& open,
                                  double weight_roundoff) {
  const Operand& v = problem.operand("v");
  const Operand& out = problem.operand("out");
  Index at{};
  for (at[0] = 0; at[0] < out.extent[0]; ++at[0]) {
    for (at[1] = 0; at[1] < out.extent[1]; ++at[1]) {
      for (at[2] = 0; at[2] < out.extent[2]; ++at[2]) {
        const Row row = softmax_row(problem, at, open);
        for (at[3] = 0; at[3] < out.extent[3]; ++at[3]) {
          double value = 0;
          double size = 0;
          for (std::size_t j = 0; j < row.weight.size() && row.sum > 0; ++j) {
            const double part = row.weight[j] / row.sum *
                                value_of(v, {at[0], at[1], static_cast<std::int64_t>(j), at[3]});
            value += part;
            size += std::fabs(part);
          }
          // Weights above and below the line, the sums of both, a division, the output's rounding.
          const double relative = 2 * row.error + weight_roundoff +
                                  (3 * static_cast<double>(row.weight.size()) + 8) * 0x1p-24;
          const double bound = relative * size + unit_roundoff(out.format) * std::fabs(value) +
                               (out.format == Format::f16 ? 0x1p-25 : 0x1p-126);
          const std::uint32_t bits = bits_at(out, outputs.at(0), at);
          const bool empty_is_zero = row.sum > 0 || bits == 0;
          const double got = decode(out.format, bits);
          if (empty_is_zero && std::fabs(got - value) <= (row.sum > 0 ? bound : 0)) continue;
          return print(at) + " is " + std::to_string(got) + ", needs " + std::to_string(value) +
                 " within " + std::to_string(bound);
        }
      }
    }
  }
  return {};
}

}  // namespace halfulp::gpu::test
