// Elements of the operands of a fake kernel, as numbers:
//
//   write(out, read(q, b, h, i, d) * 2, b, h, i, d);   // an index for each axis
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "gpu/kernel.hpp"
#include "reference/format.hpp"

namespace halfulp::testing {

// tf32 is stored as fp32.
inline reference::Format format_of(gpu::Format format) {
  switch (format) {
    case gpu::Format::f16:
      return reference::Format::fp16;
    case gpu::Format::bf16:
      return reference::Format::bf16;
    default:
      return reference::Format::fp32;
  }
}

template <class... Index>
char* element_at(const gpu::Argument& argument, Index... index) {
  const gpu::Operand& operand = *argument.operand;
  std::size_t axis = 0;
  std::int64_t at = 0;
  ((at += index * operand.stride[axis++]), ...);
  return argument.as<char>() + at * gpu::size_bytes(operand.format);
}

template <class... Index>
double read(const gpu::Argument& argument, Index... index) {
  const gpu::Format format = argument.operand->format;
  std::uint64_t bits = 0;
  std::memcpy(&bits, element_at(argument, index...),
              static_cast<std::size_t>(gpu::size_bytes(format)));
  return reference::decode(format_of(format), bits);
}

// Rounded to nearest.
template <class... Index>
void write(const gpu::Argument& argument, double value, Index... index) {
  const gpu::Format format = argument.operand->format;
  const std::uint64_t bits = reference::encode(format_of(format), value);
  std::memcpy(element_at(argument, index...), &bits,
              static_cast<std::size_t>(gpu::size_bytes(format)));
}

}  // namespace halfulp::testing
