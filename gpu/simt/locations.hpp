// Where in the source an access was made, as small as a pointer, and in words.
#pragma once
#include <cstdint>
#include <source_location>
#include <string>

namespace halfulp::gpu::simt {

// Either a code address, from an instrumented access, or a source_location, from an operation of
// the surface (one pointer to constant data). The highest bit, free in user addresses, tells them
// apart.
class Place {
 public:
  Place() = default;
  explicit Place(const void* code);
  explicit Place(const std::source_location& site);
  // "fused.cuh:88"; without debug information or addr2line, "binary+0x1234".
  std::string text() const;

 private:
  std::uintptr_t bits_ = 0;
};

// Whether the bytes lie in a loaded program's constant or static data.
bool in_program_data(std::uintptr_t address);

}  // namespace halfulp::gpu::simt
