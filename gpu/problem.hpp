// One kernel call as data: every operand with its bits and layout, before any backend has placed
// it.
//
// properties/ops fills a Problem; a backend copies the operands to where its kernels run, between
// guard bands, launches, and brings the outputs back. Nothing here knows what the operation means.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gpu/numerics.hpp"

namespace halfulp::gpu {

enum class Role : std::uint8_t { input, output };

struct Operand {
  std::string name;  // "q"; used in errors and fault reports
  Format format = Format::f32;
  Role role = Role::input;
  std::vector<std::int64_t> extent;  // logical sizes, outermost first
  // In elements, same length; gaps and (inputs only) zero strides allowed.
  std::vector<std::int64_t> stride;
  std::int64_t base_offset = 0;  // elements by which the base pointer misses 256-byte alignment
  // Elements 0 .. span_elements() - 1, gaps included; outputs: empty.
  std::vector<std::byte> storage;

  std::int64_t count() const;          // product of extents
  std::int64_t span_elements() const;  // highest reachable element + 1, 0 when any extent is 0
};

// The value of a launch parameter that the kernel's row declares: an integer, or the index of one
// of the parameter's words.
struct Setting {
  std::string name;
  std::int64_t value = 0;
  std::string word;  // of a parameter that has words: that word ("128x64x32"), for the reader
};

struct Problem {
  std::string operation;
  std::vector<Operand> operands;  // in the operation's order, inputs first
  float epsilon = 0;              // operations without one ignore it
  float scale = 0;                // of attention's scores; 0: 1/sqrt(dim)
  std::vector<Setting> settings;  // parameters left out have the kernel's own default

  const Operand& operand(std::string_view name) const;  // asserts that it exists
};

// Where an element of `operand` lies in its storage, from its row-major index over the extents.
std::int64_t storage_index(const Operand& operand, std::int64_t row_major_index);

}  // namespace halfulp::gpu
