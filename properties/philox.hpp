// Philox4x32-10 (Salmon, Moraes, Dror, Shaw, SC'11): a counter in, 128 random bits out.
//
// Every random bit of a case comes from here, keyed by (seed, stream, element): integers only, no
// state, so that an element's value depends neither on the order of evaluation nor on the machine.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

namespace halfulp::properties {

using Philox = std::array<std::uint32_t, 4>;

Philox philox(Philox counter, std::array<std::uint32_t, 2> key);

// The random words of one element. `stream` separates operands and purposes (0 .. 2^32 - 1), the
// three coordinates are those of the element, each below 2^32; unused ones are zero.
struct Draw {
  Philox words{};

  Draw(std::uint64_t seed, std::uint32_t stream, std::uint64_t i, std::uint64_t j = 0,
       std::uint64_t k = 0);

  std::uint64_t high() const;  // words 0 and 1
  std::uint64_t low() const;   // words 2 and 3
  // Uniform on 0 .. count - 1 from the words `which` and `which + 1`; count >= 1. The bias is below
  // count * 2^-64.
  std::uint64_t below(std::uint64_t count, int which = 0) const;
};

// Draws at kDrawsAtOnce places in a row: words[w][t] is word w of the draw whose coordinate `axis`
// (0: i, 1: j, 2: k) is t more than the first one's. Takes a fraction of the time of single draws.
inline constexpr std::size_t kDrawsAtOnce = 64;
struct Draws {
  std::array<std::array<std::uint32_t, kDrawsAtOnce>, 4> words;
};
Draws draws_in_row(std::uint64_t seed, std::uint32_t stream,
                   const std::array<std::uint64_t, 3>& first, std::size_t axis);

}  // namespace halfulp::properties
