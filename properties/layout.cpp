#include "properties/layout.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "properties/assert.hpp"
#include "properties/number.hpp"
#include "properties/philox.hpp"
#include "properties/spec.hpp"
#include "properties/translate.hpp"

namespace halfulp::properties {
namespace {

constexpr std::uint32_t kStream = 0x4c41594f;  // of layout draws, far from those of operands
constexpr std::int64_t kGapMax = 512;
constexpr std::int64_t kOffsetMax = 63;
constexpr std::int64_t kEveryMax = 16;

std::string bounded_argument(const Spec& spec, std::int64_t high) {
  const auto value = spec.arguments.size() == 1 ? parse_integer(spec.arguments[0]) : std::nullopt;
  if (value && *value >= 1 && *value <= high) return {};
  return "layout=" + print(spec) + ": " + spec.family + " takes one number from 1 to " +
         std::to_string(high);
}

void pad(gpu::Operand& operand, std::int64_t gap) {
  std::int64_t stride = 1;
  for (std::size_t axis = operand.extent.size(); axis-- > 0;) {
    operand.stride[axis] = stride;
    stride = stride * operand.extent[axis] + gap;
  }
}

// Rows lie `step` rows apart.
void spread(gpu::Operand& operand, std::int64_t step) {
  std::int64_t stride = 1;
  for (std::size_t axis = operand.extent.size(); axis-- > 0;) {
    operand.stride[axis] = stride;
    stride *= operand.extent[axis] * (axis + 1 == operand.extent.size() ? step : 1);
  }
}

void permute(gpu::Operand& operand) {
  pad(operand, 0);
  if (operand.extent.size() == 4) {
    operand.stride[1] = operand.extent[3];
    operand.stride[2] = std::max<std::int64_t>(operand.extent[1], 1) * operand.extent[3];
  }
  if (operand.extent.size() != 3) return;
  operand.stride[0] = operand.extent[2];
  operand.stride[1] = std::max<std::int64_t>(operand.extent[0], 1) * operand.extent[2];
}

void broadcast(gpu::Operand& operand, const Draw& draw) {
  pad(operand, 0);
  const std::size_t outer = operand.extent.size() - 1;
  if (operand.role != gpu::Role::input || outer == 0 || draw.below(2) == 0) return;
  operand.stride[draw.below(outer, 1)] = 0;
}

// One of the other layouts, with its argument, for one operand.
std::string mixed(const Draw& draw, std::size_t dimensions) {
  const auto argument = std::to_string(1 + draw.below(3, 2));
  switch (draw.below(dimensions == 4 ? 6 : 5)) {
    case 0:
      return "packed";
    case 1:
      return "gap:" + argument;
    case 2:
      return "permuted";
    case 3:
      return "broadcast";
    case 5:
      return "every:2";
    default:
      return "offset:" + argument;
  }
}

}  // namespace

std::string layout_error(std::string_view layout) {
  constexpr std::array<std::string_view, 4> kPlain{"packed", "permuted", "broadcast", "mixed"};
  const Spec spec = split_spec(layout);
  if (spec.family == "gap") return bounded_argument(spec, kGapMax);
  if (spec.family == "offset") return bounded_argument(spec, kOffsetMax);
  if (spec.family == "every") return bounded_argument(spec, kEveryMax);
  const bool plain = std::find(kPlain.begin(), kPlain.end(), spec.family) != kPlain.end();
  if (plain && spec.arguments.empty()) return {};
  return "layout=" + std::string(layout.substr(0, 60)) +
         ": expected packed, gap:G, every:N, permuted, broadcast, offset:K or mixed";
}

void lay_out(gpu::Operand& operand, std::string_view layout, std::uint64_t seed,
             std::uint32_t number) {
  const Draw draw(seed, kStream, number);
  const std::string chosen =
      layout == "mixed" ? mixed(draw, operand.extent.size()) : std::string(layout);
  const Spec spec = split_spec(chosen);
  const auto argument = spec.arguments.empty() ? 0 : parse_integer(spec.arguments[0]).value();
  operand.stride.assign(operand.extent.size(), 1);
  operand.base_offset = spec.family == "offset" ? argument : 0;
  if (operand.format == gpu::Format::i32) return pad(operand, 0);
  if (spec.family == "gap") return pad(operand, argument);
  if (spec.family == "every") return spread(operand, argument);
  if (spec.family == "permuted") return permute(operand);
  if (spec.family == "broadcast") return broadcast(operand, Draw(seed, kStream, number, 1));
  pad(operand, 0);
}

void fill_gaps(gpu::Operand& operand) {
  operand.storage.clear();
  if (operand.role == gpu::Role::output) return;
  const std::int64_t count = operand.span_elements();
  operand.storage.resize(static_cast<std::size_t>(count * gpu::size_bytes(operand.format)));
  if (operand.format == gpu::Format::i32 || count == operand.count()) return;
  const std::uint64_t nan = not_a_number(reference_format(operand.format));
  for (std::int64_t i = 0; i < count; ++i) put(operand, i, nan);
}

void put(gpu::Operand& operand, std::int64_t storage_index, std::uint64_t bits) {
  const auto size = static_cast<std::size_t>(gpu::size_bytes(operand.format));
  const auto place = static_cast<std::size_t>(storage_index) * size;
  HALFULP_ASSERT(place + size <= operand.storage.size(), "outside the operand's storage");
  std::memcpy(operand.storage.data() + place, &bits, size);
}

std::uint64_t get(const gpu::Operand& operand, const std::byte* storage,
                  std::int64_t storage_index) {
  const auto size = static_cast<std::size_t>(gpu::size_bytes(operand.format));
  std::uint64_t bits = 0;
  std::memcpy(&bits, storage + static_cast<std::size_t>(storage_index) * size, size);
  return bits;
}

}  // namespace halfulp::properties
