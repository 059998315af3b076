// Stored numbers made from random bits with integers only: one rounding to the storage format, no
// library functions, the same bits on every machine.
#pragma once
#include <cstdint>

#include "properties/philox.hpp"
#include "reference/format.hpp"

namespace halfulp::properties {

// significand * 2^exponent, rounded once to nearest even.
std::uint64_t number(reference::Format format, std::int64_t significand, int exponent = 0);
std::uint64_t not_a_number(reference::Format format);
std::uint64_t infinity(reference::Format format, bool negative);

// Mean 0, variance 1.01, |value| < 8.25, on a grid of 2^-34: a binomial of 64 bits smoothed by two
// uniform words.
std::uint64_t normal(reference::Format format, const Draw& draw, int exponent = 0);
// Uniform on [-1, 1), grid 2^-40; times 2^exponent.
std::uint64_t uniform(reference::Format format, const Draw& draw, int exponent = 0);
// Uniform on [2^-10, 1 + 2^-10), grid 2^-40; times 2^exponent.
std::uint64_t positive(reference::Format format, const Draw& draw, int exponent = 0);
// An integer of [low, high], uniform.
std::uint64_t integer(reference::Format format, const Draw& draw, std::int64_t low,
                      std::int64_t high);
// Either sign, a full significand, exponent uniform on [low, high].
std::uint64_t any_exponent(reference::Format format, const Draw& draw, int low, int high);

}  // namespace halfulp::properties
