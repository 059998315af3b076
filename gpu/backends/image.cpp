// Layout, poison and inspection of a call's memory.
#include "gpu/backends/image.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "gpu/assert.hpp"
#include "gpu/simt/fenced_memory.hpp"

namespace halfulp::gpu {
namespace {

std::int64_t align_up(std::int64_t bytes, std::int64_t to) { return (bytes + to - 1) / to * to; }

// Kept between calls: campaigns make thousands of small images.
simt::FencedMemory& reusable_memory() {
  static_assert(simt::FencedMemory::kAlignmentBytes % kAlignmentBytes == 0);
  thread_local simt::FencedMemory memory;
  return memory;
}

struct PatternRow {
  std::uint64_t nan;
  std::uint64_t large;
  std::uint64_t guard;
};
// f64, f32, tf32, f16, bf16, i32. NaNs are signalling; the guard's NaN differs from the poison.
constexpr std::array<PatternRow, 6> kPatterns{
    {{0x7ff4a5a5a5a5a5a5, 0x7e37e43c8800759c, 0x7ff25a5a5a5a5a5a},
     {0x7fa5a5a5, 0x7e967699, 0x7f9a5a5a},
     {0x7fa5a000, 0x7e966000, 0x7f9a4000},
     {0x7d5a, 0x7b3c, 0x7ca7},
     {0x7fa5, 0x7e96, 0x7f9a},
     {0x7fa5a5a5, 0x7e967699, 0x7f5a5a5a}}};

// Operands narrower than 32 bits repeat their pattern, so that any alignment of a guard band works.
std::uint64_t widened(std::uint64_t bits, std::int64_t element_bytes) {
  if (element_bytes == 2) bits |= bits << 16;
  if (element_bytes <= 4) bits |= bits << 32;
  return bits;
}

std::string where_past(const Operand& operand, std::int64_t bytes, const char* side) {
  return std::to_string(bytes) + " bytes (element " +
         std::to_string(bytes / size_bytes(operand.format)) + ") " + side + " " + operand.name;
}

}  // namespace

std::uint64_t poison_bits(Format format, Fill fill) {
  const PatternRow& row = kPatterns.at(static_cast<std::size_t>(format));
  return fill == Fill::nan ? row.nan : row.large;
}

std::uint64_t guard_bits(Format format) {
  return kPatterns.at(static_cast<std::size_t>(format)).guard;
}

void fill_pattern(std::span<std::byte> bytes, std::uint64_t bits, std::int64_t element_bytes) {
  const std::uint64_t word = widened(bits, element_bytes);
  std::size_t i = 0;
  for (; i + sizeof word <= bytes.size(); i += sizeof word) {
    std::memcpy(bytes.data() + i, &word, sizeof word);
  }
  std::memcpy(bytes.data() + i, &word, bytes.size() - i);
}

std::int64_t first_difference(std::span<const std::byte> bytes, std::uint64_t bits,
                              std::int64_t element_bytes) {
  const std::uint64_t word = widened(bits, element_bytes);
  for (std::size_t i = 0; i < bytes.size(); i += sizeof word) {
    const std::size_t width = std::min(sizeof word, bytes.size() - i);
    if (std::memcmp(bytes.data() + i, &word, width) == 0) continue;
    std::array<std::byte, sizeof word> expected;
    std::memcpy(expected.data(), &word, sizeof word);
    std::size_t byte = 0;
    while (bytes[i + byte] == expected[byte]) ++byte;
    return static_cast<std::int64_t>(i + byte);
  }
  return -1;
}

Fault inspect_workspace_guards(std::string_view name, std::span<const std::byte> block) {
  constexpr auto kGuard = static_cast<std::size_t>(kGuardBytes);
  const std::uint64_t guard = guard_bits(Format::f32);
  const std::string workspace = "workspace " + std::string(name);
  const std::int64_t before = first_difference(block.first(kGuard), guard, 4);
  if (before >= 0) {
    return {FaultKind::out_of_bounds,
            "write at " + std::to_string(kGuardBytes - before) + " bytes before " + workspace};
  }
  // After data whose size is no multiple of the pattern the guard starts inside a pattern.
  const std::size_t end = block.size() - kGuard;
  const std::size_t skip = (4 - end % 4) % 4;
  const std::int64_t after = first_difference(block.subspan(end + skip), guard, 4);
  if (after >= 0) {
    return {FaultKind::out_of_bounds, "write at " +
                                          std::to_string(after + static_cast<std::int64_t>(skip)) +
                                          " bytes past the end of " + workspace};
  }
  return {};
}

Fault inspect_locks(std::string_view name, std::span<const std::uint32_t> words) {
  const auto set = std::ranges::find_if(words, [](std::uint32_t word) { return word != 0; });
  if (set == words.end()) return {};
  return {FaultKind::locks_left_set,
          std::string(name) + ": word " + std::to_string(set - words.begin()) + " is left at " +
              std::to_string(*set) + "; the next call needs zeros: reset it after its last use"};
}

Image::Image(const Problem& problem) : problem_(problem) {
  std::int64_t at = 0;
  for (const Operand& operand : problem.operands) {
    const std::int64_t element = size_bytes(operand.format);
    Place place;
    place.guard = at;
    place.data = align_up(at + kGuardBytes, kAlignmentBytes) + operand.base_offset * element;
    place.bytes = operand.span_elements() * element;
    // Whole alignments: the last guard ends where the fence of the block begins.
    place.end = align_up(place.data + place.bytes + kGuardBytes, kAlignmentBytes);
    place.gaps = operand.span_elements() != operand.count();
    if (operand.role == Role::output && place.gaps) {
      place.reachable.assign(static_cast<std::size_t>(operand.span_elements()), false);
      for (std::int64_t i = 0; i < operand.count(); ++i) {
        place.reachable[static_cast<std::size_t>(storage_index(operand, i))] = true;
      }
    }
    at = place.end;
    places_.push_back(std::move(place));
  }
  bytes_ = reusable_memory().take(static_cast<std::size_t>(at));
  if (!places_.empty()) {
    const Place& last = places_.back();
    reusable_memory().label({problem.operands.front().name, bytes_.data() + places_.front().data},
                            {problem.operands.back().name, bytes_.data() + last.data + last.bytes});
  }
  write_inputs();
}

void Image::write_inputs() {
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const Operand& operand = problem_.operands[i];
    const Place& place = places_[i];
    const std::int64_t element = size_bytes(operand.format);
    const auto part = [this](std::int64_t first, std::int64_t last) {
      return bytes_.subspan(static_cast<std::size_t>(first),
                            static_cast<std::size_t>(last - first));
    };
    // Outputs are filled whole, so that their gaps hold the guard pattern too.
    fill_pattern(part(place.guard, place.data), guard_bits(operand.format), element);
    fill_pattern(part(place.data, place.end), guard_bits(operand.format), element);
    if (operand.role != Role::input || place.bytes == 0) continue;
    HALFULP_GPU_ASSERT(static_cast<std::int64_t>(operand.storage.size()) >= place.bytes);
    std::memcpy(bytes_.data() + place.data, operand.storage.data(),
                static_cast<std::size_t>(place.bytes));
  }
}

std::vector<Argument> Image::arguments(std::byte* base) const {
  std::vector<Argument> arguments;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    arguments.push_back({base + places_[i].data, &problem_.operands[i]});
  }
  return arguments;
}

void Image::poison(Fill fill) {
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const Operand& operand = problem_.operands[i];
    const Place& place = places_[i];
    if (operand.role != Role::output) continue;
    const std::int64_t element = size_bytes(operand.format);
    const std::uint64_t bits = poison_bits(operand.format, fill);
    std::byte* data = bytes_.data() + place.data;
    if (!place.gaps) {
      fill_pattern({data, static_cast<std::size_t>(place.bytes)}, bits, element);
      continue;
    }
    for (std::size_t j = 0; j < place.reachable.size(); ++j) {
      const std::uint64_t pattern = place.reachable[j] ? bits : guard_bits(operand.format);
      std::memcpy(data + j * static_cast<std::size_t>(element), &pattern,
                  static_cast<std::size_t>(element));
    }
  }
}

Fault Image::inspect_guards(const Operand& operand, const Place& place) const {
  const std::int64_t element = size_bytes(operand.format);
  const std::uint64_t guard = guard_bits(operand.format);
  const auto band = [this](std::int64_t first, std::int64_t last) {
    return std::span<const std::byte>(bytes_).subspan(static_cast<std::size_t>(first),
                                                      static_cast<std::size_t>(last - first));
  };
  const std::int64_t before = first_difference(band(place.guard, place.data), guard, element);
  if (before >= 0) {
    const std::int64_t distance = place.data - place.guard - before;
    return {FaultKind::out_of_bounds, "write at " + where_past(operand, distance, "before")};
  }
  const std::int64_t end = place.data + place.bytes;
  // The pattern was laid down from the data's start: elements stay whole after the data too.
  const std::int64_t after = first_difference(band(end, place.end), guard, element);
  if (after >= 0) {
    return {FaultKind::out_of_bounds, "write at " + where_past(operand, after, "past the end of")};
  }
  return {};
}

Fault Image::inspect_gaps(const Operand& operand, const Place& place) const {
  const auto element = static_cast<std::size_t>(size_bytes(operand.format));
  const std::uint64_t guard = guard_bits(operand.format);
  const std::byte* data = bytes_.data() + place.data;
  for (std::size_t j = 0; j < place.reachable.size(); ++j) {
    if (place.reachable[j] || std::memcmp(data + j * element, &guard, element) == 0) continue;
    return {FaultKind::out_of_bounds, "write into a gap of " + operand.name + ", at its element " +
                                          std::to_string(j) + " in memory order"};
  }
  return {};
}

Fault Image::inspect() const {
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const Operand& operand = problem_.operands[i];
    const Place& place = places_[i];
    if (Fault fault = inspect_guards(operand, place)) return fault;
    if (operand.role == Role::output) {
      if (Fault fault = inspect_gaps(operand, place)) return fault;
      continue;
    }
    const std::byte* data = bytes_.data() + place.data;
    const auto changed = std::mismatch(data, data + place.bytes, operand.storage.data());
    if (changed.first != data + place.bytes) {
      const std::int64_t index = (changed.first - data) / size_bytes(operand.format);
      return {FaultKind::input_overwritten, operand.name + " changed at its element " +
                                                std::to_string(index) + " in memory order"};
    }
  }
  if (const simt::FencedMemory::Stray stray = reusable_memory().spare_written(); stray.name) {
    const Operand& first = problem_.operands.front();
    const auto bytes = align_up(static_cast<std::int64_t>(stray.bytes), size_bytes(first.format));
    return {FaultKind::out_of_bounds, "write at " + where_past(first, bytes, "before")};
  }
  return {};
}

Outputs Image::outputs() const {
  Outputs outputs;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    if (problem_.operands[i].role != Role::output) continue;
    const std::byte* data = bytes_.data() + places_[i].data;
    outputs.emplace_back(data, data + places_[i].bytes);
  }
  return outputs;
}

Fault Image::never_written(const Outputs& after_nan, const Outputs& after_large) const {
  std::size_t output = 0;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const Operand& operand = problem_.operands[i];
    const Place& place = places_[i];
    if (operand.role != Role::output) continue;
    const auto element = static_cast<std::size_t>(size_bytes(operand.format));
    const std::uint64_t nan = poison_bits(operand.format, Fill::nan);
    const std::uint64_t large = poison_bits(operand.format, Fill::large);
    const std::byte* first = after_nan[output].data();
    const std::byte* second = after_large[output].data();
    ++output;
    const std::size_t elements = static_cast<std::size_t>(place.bytes) / element;
    for (std::size_t j = 0; j < elements; ++j) {
      if (std::memcmp(first + j * element, &nan, element) != 0) continue;
      if (std::memcmp(second + j * element, &large, element) != 0) continue;
      return {FaultKind::never_written, operand.name + ": its element " + std::to_string(j) +
                                            " in memory order is never written"};
    }
  }
  return {};
}

}  // namespace halfulp::gpu
