// Number formats and the one rounding from an exact value to each of them.
//
//   double x = decode(Format::fp16, 0x3c01);         // exact: every format here fits in a double
//   std::uint64_t bits = encode(Format::bf16, x);    // one rounding, never through another format
//
// Bits are held in the low end of a 64-bit word; tf32 uses the 32-bit pattern of fp32 whose low 13
// significand bits are zero.
#pragma once
#include <cstdint>
#include <string_view>

namespace halfulp::reference {

enum class Format : std::uint8_t { fp64, fp32, tf32, fp16, bf16 };

enum class Rounding : std::uint8_t { nearest_even, toward_zero, downward, upward };

struct FormatTraits {
  std::string_view name;
  int storage_bits;   // width of the stored pattern
  int precision;      // significand bits, the implicit one included
  int exponent_min;   // of the smallest normal number: 2^exponent_min
  int exponent_max;   // of the largest finite number: < 2^(exponent_max + 1)
};

const FormatTraits& traits(Format format);

// Unit roundoff 2^-precision (round to nearest).
double unit_roundoff(Format format);
// Spacing of the subnormal numbers: 2^(exponent_min - precision + 1).
double subnormal_spacing(Format format);
double largest_finite(Format format);

// The exact value of a pattern. NaN payloads are not preserved.
double decode(Format format, std::uint64_t bits);

// The pattern of `value` rounded once. NaN gives the canonical quiet NaN of CUDA, every bit but the
// sign (0x7fffffff, 0x7fff; 0x7fffe000 for tf32).
std::uint64_t encode(Format format, double value, Rounding rounding = Rounding::nearest_even);

// A magnitude significand * 2^exponent, with something non-zero below its last bit when `sticky`.
struct Dyadic {
  bool negative = false;
  unsigned __int128 significand = 0;
  int exponent = 0;
  bool sticky = false;
};
// Rounded once. A sticky value must have at least one bit more than the result keeps.
std::uint64_t encode(Format format, const Dyadic& value,
                     Rounding rounding = Rounding::nearest_even);

// decode(encode(value)).
double round_to(Format format, double value, Rounding rounding = Rounding::nearest_even);

}  // namespace halfulp::reference
