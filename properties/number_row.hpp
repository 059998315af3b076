// The numbers of number.hpp, many at once: the same bits, several times as quickly.
//
//   if (const NumberRow row = number_row("normal")) {
//     row(reference::Format::fp16, draws_in_row(seed, stream, {i, 0, 0}, 1), bits);
//   }
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

#include "properties/philox.hpp"
#include "reference/format.hpp"

namespace halfulp::properties {

using RowBits = std::array<std::uint64_t, kDrawsAtOnce>;
// Number t comes from draw t. The format is not fp64.
using NumberRow = void (*)(reference::Format format, const Draws& draws, RowBits& bits);

// Of the fill of this name, for quantities other than scores; null where it has none.
NumberRow number_row(std::string_view fill);

}  // namespace halfulp::properties
