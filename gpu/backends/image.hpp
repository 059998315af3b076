// The memory of one kernel call: every operand between guard bands, in one block of bytes.
//
//   Image image(problem);
//   image.poison(Fill::nan);
//   ... copy image.bytes() to where the kernel runs (or run it right there), launch, bring it back
//   ... Fault fault = image.inspect();   // guards, gaps and inputs as they were?
//   Outputs outputs = image.outputs();
//
// Layout: guard | operand 0 | guard | operand 1 | ... | guard, and the fence of the block right
// behind (gpu/simt/fenced_memory.hpp); each base is 256-byte aligned and then moved by
// Operand::base_offset elements. Guards next to inputs hold NaN (indices: a value far out of
// range), so that a stray read shows in the result; all guards and the gaps of strided outputs must
// keep their bits.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "gpu/backend.hpp"

namespace halfulp::gpu {

enum class Fill : std::uint8_t { nan, large };

inline constexpr std::int64_t kAlignmentBytes = 256;
inline constexpr std::int64_t kGuardBytes = 512;

// Bit patterns written before a launch. A signalling NaN cannot be the result of arithmetic.
std::uint64_t poison_bits(Format format, Fill fill);
std::uint64_t guard_bits(Format format);
// Repeats the pattern of one element over the bytes.
void fill_pattern(std::span<std::byte> bytes, std::uint64_t bits, std::int64_t element_bytes);
// The first byte of `bytes` that is not the repeated pattern, or -1.
std::int64_t first_difference(std::span<const std::byte> bytes, std::uint64_t bits,
                              std::int64_t element_bytes);

// A workspace block is guard | data | guard, its guards of guard_bits(f32): the first change in
// them.
Fault inspect_workspace_guards(std::string_view name, std::span<const std::byte> block);

// Locks are to be zero after a call: the first word that is not.
Fault inspect_locks(std::string_view name, std::span<const std::uint32_t> words);

class Image {
 public:
  // Allocates from the thread's reusable block, so one image at a time per thread.
  explicit Image(const Problem& problem);

  std::span<std::byte> bytes() const { return bytes_; }
  std::int64_t data_offset(std::size_t operand) const { return places_[operand].data; }
  std::int64_t span_bytes(std::size_t operand) const { return places_[operand].bytes; }
  // Arguments for a kernel that sees the block at `base`.
  std::vector<Argument> arguments(std::byte* base) const;

  void poison(Fill fill);   // every element of every output; gaps get the guard pattern
  Fault inspect() const;    // the first change outside the outputs' elements
  Outputs outputs() const;  // the outputs' storage, gaps included
  // The first output element that holds the poison of both fills.
  Fault never_written(const Outputs& after_nan, const Outputs& after_large) const;

 private:
  struct Place {
    std::int64_t guard = 0;  // start of the guard band before it
    std::int64_t data = 0;
    std::int64_t bytes = 0;
    std::int64_t end = 0;         // end of the guard band after it
    bool gaps = false;            // not every element of the span is reachable
    std::vector<bool> reachable;  // by storage element, outputs with gaps only
  };

  void write_inputs();
  Fault inspect_guards(const Operand& operand, const Place& place) const;
  Fault inspect_gaps(const Operand& operand, const Place& place) const;

  const Problem& problem_;
  std::vector<Place> places_;
  std::span<std::byte> bytes_;
};

}  // namespace halfulp::gpu
