// Laws of flash_attention; see flash_laws.hpp. Operands are always q, k, v, an optional mask, out.
#include "properties/flash_laws.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "properties/assert.hpp"
#include "properties/fill.hpp"
#include "properties/flash_mask.hpp"
#include "properties/flash_problem.hpp"
#include "properties/layout.hpp"
#include "properties/number.hpp"
#include "properties/philox.hpp"
#include "properties/translate.hpp"

namespace halfulp::properties {
namespace {

using Indices = std::vector<std::int64_t>;

constexpr std::uint32_t kStream = 0x464c4157;  // of law draws, far from those of operands
constexpr std::size_t kBatch = 0, kHead = 1, kRow = 2, kKey = 3;  // axes

Relation relation_to(const gpu::Problem& problem) {
  Relation relation;
  relation.problem = problem;
  relation.outputs.resize(1);
  return relation;
}

gpu::Operand* find_operand(gpu::Problem& problem, std::string_view name) {
  const auto found = std::ranges::find(problem.operands, name, &gpu::Operand::name);
  return found == problem.operands.end() ? nullptr : &*found;
}
const gpu::Operand& out_of(const gpu::Problem& problem) { return problem.operand("out"); }

// Are the keys of a query given by an operand, or all open?
bool told_by_settings(const gpu::Problem& problem) {
  return std::ranges::any_of(problem.settings, [](const gpu::Setting& setting) {
    return setting.name == "mask" && setting.word != "none" && setting.word != "additive";
  });
}

// The operand with index `from[i]` of the old one at index i of `axis`. Strides stay what they
// were; an axis of stride 0 holds one copy and stays so.
void take(gpu::Operand& operand, std::size_t axis, const Indices& from) {
  const gpu::Operand old = operand;
  operand.extent[axis] = static_cast<std::int64_t>(from.size());
  fill_gaps(operand);
  if (operand.role == gpu::Role::output) return;
  std::int64_t count[4], step[4];
  for (std::size_t a = 0; a < 4; ++a) {
    count[a] = operand.count() == 0 ? 0 : (operand.stride[a] == 0 ? 1 : operand.extent[a]);
    step[a] = operand.stride[a];
  }
  for (std::int64_t b = 0; b < count[0]; ++b) {
    for (std::int64_t h = 0; h < count[1]; ++h) {
      for (std::int64_t i = 0; i < count[2]; ++i) {
        for (std::int64_t d = 0; d < count[3]; ++d) {
          std::int64_t place[4] = {b, h, i, d};
          const std::int64_t to = b * step[0] + h * step[1] + i * step[2] + d * step[3];
          place[axis] = from[static_cast<std::size_t>(place[axis])];
          put(operand, to,
              get(old, old.storage.data(),
                  place[0] * step[0] + place[1] * step[1] + place[2] * step[2] +
                      place[3] * step[3]));
        }
      }
    }
  }
}

bool repeats_rows(const gpu::Operand& operand) { return operand.stride[kRow] == 0; }

Indices identity(std::int64_t count) {
  Indices indices(static_cast<std::size_t>(count));
  std::iota(indices.begin(), indices.end(), 0);
  return indices;
}

Relation key_permutation(const Case& c, const gpu::Problem& problem) {
  const gpu::Operand &k = problem.operand("k"), &v = problem.operand("v");
  if (told_by_settings(problem) || repeats_rows(k) || repeats_rows(v)) return {};
  Indices from = identity(k.extent[kRow]);
  for (std::size_t i = from.size(); i > 1; --i) {
    std::swap(from[i - 1], from[Draw(c.seed(), kStream, i).below(i)]);
  }
  Relation relation = relation_to(problem);
  take(*find_operand(relation.problem, "k"), kRow, from);
  take(*find_operand(relation.problem, "v"), kRow, from);
  gpu::Operand* mask = find_operand(relation.problem, "mask");
  if (mask != nullptr && mask->stride[kKey] != 0) take(*mask, kKey, from);
  return relation;
}

// The operand's elements, packed, with index `from[i]` of the old one at index i of `axis`; an axis
// that was repeated is written out.
gpu::Operand grown(const gpu::Operand& old, std::size_t axis, const Indices& from) {
  gpu::Operand operand = old;
  operand.extent[axis] = static_cast<std::int64_t>(from.size());
  for (std::int64_t last = 3, stride = 1; last >= 0; --last) {
    operand.stride[static_cast<std::size_t>(last)] = stride;
    stride *= operand.extent[static_cast<std::size_t>(last)];
  }
  fill_gaps(operand);
  for (std::int64_t i = 0; i < operand.count(); ++i) {
    std::int64_t at = 0, rest = i;
    for (std::size_t other = 4; other-- > 0;) {
      const std::int64_t index = rest % operand.extent[other];
      rest /= operand.extent[other];
      at += (other == axis ? from[static_cast<std::size_t>(index)] : index) * old.stride[other];
    }
    put(operand, i, get(old, old.storage.data(), at));
  }
  return operand;
}

// Every key twice: each weight is halved, and counted twice.
Relation key_repetition(const Case&, const gpu::Problem& problem) {
  const std::int64_t keys = problem.operand("k").extent[kRow];
  constexpr std::int64_t kElementsMost = 1 << 22;
  if (told_by_settings(problem) || keys == 0) return {};
  Indices from = identity(2 * keys);
  for (std::int64_t& key : from) key %= keys;
  Relation relation = relation_to(problem);
  for (gpu::Operand& operand : relation.problem.operands) {
    const bool of_keys = operand.name == "k" || operand.name == "v";
    if (!of_keys && operand.name != "mask") continue;
    if (operand.count() > kElementsMost) return {};
    operand = grown(operand, of_keys ? kRow : kKey, from);
  }
  return relation;
}

// One head of one batch alone, or some queries alone: everywhere else the law says nothing.
struct Part {
  std::size_t axis;
  Indices kept;
};
Relation alone(const gpu::Problem& problem, const std::vector<Part>& parts) {
  Relation relation = relation_to(problem);
  const gpu::Operand& out = out_of(problem);
  for (gpu::Operand& operand : relation.problem.operands) {
    for (const Part& part : parts) {
      const bool rows_of_keys = operand.name == "k" || operand.name == "v";
      if (part.axis == kRow && rows_of_keys) continue;
      take(operand, part.axis, part.kept);
    }
  }
  const gpu::Operand& kept = out_of(relation.problem);
  Indices& place = relation.outputs[0].place;
  place.reserve(static_cast<std::size_t>(out.count()));
  for (std::int64_t i = 0; i < out.count(); ++i) {
    std::int64_t index[4], rest = i;
    for (std::size_t axis = 4; axis-- > 0;) {
      index[axis] = rest % out.extent[axis];
      rest /= out.extent[axis];
    }
    for (const Part& part : parts) {
      const auto found = std::ranges::find(part.kept, index[part.axis]);
      index[part.axis] = found == part.kept.end() ? -1 : found - part.kept.begin();
    }
    std::int64_t to = 0;
    for (std::size_t axis = 0; axis < 4 && to >= 0; ++axis) {
      to = index[axis] < 0 ? -1 : to * kept.extent[axis] + index[axis];
    }
    place.push_back(to);
  }
  return relation;
}

// Whether sums of a row may depend on what else its tile holds: a lazy rescale is decided by all.
bool rows_apart(const Case& c) {
  return gpu::find_kernel(c.operation, c.kernel)->numerics.rescale_lazy_bits == 0;
}

Relation head_alone(const Case& c, const gpu::Problem& problem) {
  const gpu::Operand& out = out_of(problem);
  if (out.extent[kBatch] * out.extent[kHead] < 2) return {};
  const Draw draw(c.seed(), kStream, 0, 1);
  const auto one = [&](std::size_t axis, int which) {
    const auto extent = static_cast<std::uint64_t>(out.extent[axis]);
    return Part{axis, {static_cast<std::int64_t>(draw.below(extent, which))}};
  };
  Relation relation = alone(problem, {one(kBatch, 0), one(kHead, 2)});
  relation.bit_for_bit = true;
  return relation;
}

Relation query_alone(const Case& c, const gpu::Problem& problem) {
  const gpu::Operand& out = out_of(problem);
  if (told_by_settings(problem) || out.extent[kRow] < 2) return {};
  const auto rows = static_cast<std::uint64_t>(out.extent[kRow]);
  const auto row = static_cast<std::int64_t>(Draw(c.seed(), kStream, 0, 2).below(rows));
  Relation relation = alone(problem, {{kRow, {row}}});
  relation.bit_for_bit = rows_apart(c);
  return relation;
}

// Keys after the first rows' last open one are negated, k and v: nothing may change in these rows.
Relation causal_prefix(const Case& c, const gpu::Problem& problem) {
  const MaskFamily family = parse_mask(c.text("mask")).family;
  const gpu::Operand& out = out_of(problem);
  const std::int64_t keys = problem.operand("k").extent[kRow];
  const std::int64_t shift =
      family == MaskFamily::causal_bottom_right ? keys - out.extent[kRow] : 0;
  const bool causal =
      family == MaskFamily::causal_top_left || family == MaskFamily::causal_bottom_right;
  if (!causal || out.count() == 0 || repeats_rows(problem.operand("k")) ||
      repeats_rows(problem.operand("v"))) {
    return {};
  }
  const auto rows = static_cast<std::uint64_t>(out.extent[kRow]);
  const auto last = static_cast<std::int64_t>(Draw(c.seed(), kStream, 0, 3).below(rows));
  Relation relation = relation_to(problem);
  for (const char* name : {"k", "v"}) {
    gpu::Operand& operand = *find_operand(relation.problem, name);
    const std::int64_t row_begin = std::max<std::int64_t>(0, last + shift + 1);
    const std::uint64_t sign = std::uint64_t{1} << (8 * gpu::size_bytes(operand.format) - 1);
    for (std::int64_t i = 0; i < operand.count(); ++i) {
      if (i / operand.extent[3] % keys < row_begin) continue;
      const std::int64_t at = gpu::storage_index(operand, i);
      const gpu::Operand& old = problem.operand(name);
      put(operand, at, get(old, old.storage.data(), at) ^ sign);
    }
  }
  Indices& place = relation.outputs[0].place;
  for (std::int64_t i = 0; i < out.count(); ++i) {
    place.push_back(i / out.extent[3] % out.extent[kRow] <= last ? i : -1);
  }
  relation.bit_for_bit = rows_apart(c);
  return relation;
}

// A number added to every cell of the mask, where that is exact.
Relation row_shift(const Case& c, const gpu::Problem& problem) {
  Relation relation = relation_to(problem);
  gpu::Operand* mask = find_operand(relation.problem, "mask");
  if (mask == nullptr || mask->count() == 0) return {};
  const reference::Format format = reference_format(mask->format);
  const auto draws = Draw(c.seed(), kStream, 0, 4);
  const double shift = (draws.below(2) == 0 ? 1 : -1) * static_cast<double>(1 + draws.below(4, 2));
  const gpu::Operand& old = problem.operand("mask");
  for (std::int64_t i = 0; i < mask->count(); ++i) {
    const std::int64_t at = gpu::storage_index(*mask, i);
    const double value = reference::decode(format, get(old, old.storage.data(), at));
    const double sum = value + shift;
    if (reference::round_to(format, sum) != sum) return {};
    put(*mask, at, reference::encode(format, sum));
  }
  return relation;
}

Relation tiling(const Case& c, const gpu::Problem& problem) {
  const gpu::Kernel& kernel = *gpu::find_kernel(c.operation, c.kernel);
  const gpu::Parameter* parameter = find_parameter(kernel, "tile");
  if (parameter == nullptr || parameter->words.size() < 2) return {};
  Relation relation = relation_to(problem);
  for (gpu::Setting& setting : relation.problem.settings) {
    if (setting.name != "tile") continue;
    const auto others = static_cast<std::uint64_t>(parameter->words.size()) - 1;
    const auto step = static_cast<std::int64_t>(1 + Draw(c.seed(), kStream, 0, 5).below(others));
    setting.value = (setting.value + step) % std::ssize(parameter->words);
    setting.word = parameter->words[static_cast<std::size_t>(setting.value)];
  }
  return relation;
}

bool all_finite(const gpu::Operand& operand) {
  const reference::Format format = reference_format(operand.format);
  for (std::int64_t i = 0; i < operand.count(); ++i) {
    const std::int64_t at = gpu::storage_index(operand, i);
    if (!std::isfinite(reference::decode(format, get(operand, operand.storage.data(), at)))) {
      return false;
    }
  }
  return true;
}

// Whether each row of `out` (batch, head, query) sees a key.
std::vector<bool> seeing_rows(const Case& c, const gpu::Problem& problem) {
  const auto& extent = out_of(problem).extent;
  const std::int64_t keys = problem.operand("k").extent[kRow];
  const auto found = std::ranges::find(problem.operands, "mask", &gpu::Operand::name);
  const Mask rule = parse_mask(c.text("mask"));
  std::vector<double> row(static_cast<std::size_t>(keys));
  std::vector<bool> seeing;
  for (std::int64_t i = 0; i < extent[kBatch] * extent[kHead] * extent[kRow]; ++i) {
    if (found == problem.operands.end()) {
      mask_row(rule, {extent[kBatch], extent[kHead], extent[kRow], keys},
               {.seed = c.seed(), .query = i % extent[kRow]}, row);
    } else {
      for (std::int64_t j = 0; j < keys; ++j) {
        const std::int64_t at = gpu::storage_index(*found, i * keys + j);
        row[static_cast<std::size_t>(j)] = reference::decode(
            reference_format(found->format), get(*found, found->storage.data(), at));
      }
    }
    const auto closed = [](double cell) { return std::isinf(cell) && cell < 0; };
    seeing.push_back(!std::ranges::all_of(row, closed));
  }
  return seeing;
}

// All rows of v of a head are one: so is every row of out that sees a key. The others are +0.
Relation values_constant(const Case& c, const gpu::Problem& problem) {
  const gpu::Operand& out = out_of(problem);
  const gpu::Numerics& declared = gpu::find_kernel(c.operation, c.kernel)->numerics;
  if (out.count() == 0 || declared.masked_row != gpu::MaskedRow::zero ||
      !all_finite(problem.operand("q")) || !all_finite(problem.operand("k"))) {
    return {};
  }
  Relation relation = relation_to(problem);
  gpu::Operand& v = *find_operand(relation.problem, "v");
  const reference::Format format = reference_format(v.format);
  const int bits = reference::traits(format).precision - 1;
  // Of every bit of the significand, from 1 to 4 in size, either sign.
  const auto number = [&](std::int64_t head, std::int64_t channel) {
    const std::int64_t batch = v.stride[kBatch] == 0 ? 0 : head / v.extent[kHead];
    const std::int64_t of = v.stride[kHead] == 0 ? 0 : head % v.extent[kHead];
    const Draw draw(c.seed(), kStream, static_cast<std::uint64_t>(batch + of * kHeadStep), 6,
                    static_cast<std::uint64_t>(channel));
    const double size = 1 + std::ldexp(static_cast<double>(draw.below(1ULL << bits)), -bits);
    const std::uint64_t kind = draw.below(4, 2);
    return std::ldexp(kind % 2 == 0 ? size : -size, static_cast<int>(kind / 2));
  };
  const std::int64_t dim = v.extent[3];
  for (std::int64_t i = 0; i < v.count(); ++i) {
    const double x = number(i / dim / v.extent[kRow], i % dim);
    put(v, gpu::storage_index(v, i), reference::encode(format, x));
  }
  const std::vector<bool> seeing = seeing_rows(c, problem);
  for (std::int64_t i = 0; i < out.count(); ++i) {
    const bool sees = seeing[static_cast<std::size_t>(i / dim)];
    relation.outputs[0].value.push_back(sees ? number(i / dim / out.extent[kRow], i % dim) : 0);
  }
  relation.outputs[0].within_bound = true;
  return relation;
}

// -v: every rounding of a number is that of its negative, but for the sign.
Relation values_negated(const Case&, const gpu::Problem& problem) {
  if (out_of(problem).count() == 0) return {};
  Relation relation = relation_to(problem);
  gpu::Operand& v = *find_operand(relation.problem, "v");
  const gpu::Operand& old = problem.operand("v");
  const std::uint64_t sign = std::uint64_t{1} << (8 * gpu::size_bytes(v.format) - 1);
  for (std::int64_t i = 0; i < v.count(); ++i) {
    const std::int64_t at = gpu::storage_index(v, i);
    put(v, at, get(old, old.storage.data(), at) ^ sign);
  }
  relation.outputs[0].negated = true;
  relation.bit_for_bit = true;
  return relation;
}

constexpr std::array kLaws{
    Law{"key_permutation", "keys, their values and masks in another order change nothing",
        key_permutation},
    Law{"key_repetition", "every key twice changes nothing", key_repetition},
    Law{"head_alone", "a head computed alone gives the same bits", head_alone},
    Law{"query_alone", "so does a query", query_alone},
    Law{"causal_prefix", "what follows the last open key changes no bit", causal_prefix},
    Law{"row_shift", "a number added to every cell of a mask changes nothing", row_shift},
    Law{"values_constant", "one value for all keys of a head is its output, +0 where it sees none",
        values_constant},
    Law{"values_negated", "v negated gives out negated, bit for bit", values_negated},
    Law{"tiling", "another tile changes no more than roundings", tiling},
};

}  // namespace

std::span<const Law> flash_laws() { return kLaws; }

}  // namespace halfulp::properties
