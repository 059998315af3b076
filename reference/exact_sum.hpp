// Sums of doubles and of products of two doubles, without any rounding until the result is read.
//
//   ExactSum dot;
//   dot.add_products(a, b, k);   // integers where the data allow it, limbs otherwise
//   dot.add(c);
//   std::uint64_t half = dot.round(Format::fp16);    // one rounding
//   Enclosure sum = dot.enclosure();                 // lo == hi when the sum is a double
//
// Any doubles, subnormal and huge ones included, up to 2^62 of them. NaN and infinities give what
// IEEE addition gives, in any order: NaN for a NaN, 0 * infinity or infinities of both signs, else
// the infinity.
#pragma once
#include <array>
#include <cstdint>

#include "reference/answer.hpp"
#include "reference/format.hpp"

namespace halfulp::reference {

class ExactSum {
 public:
  void add(double value);
  void add_product(double left, double right);
  void add(const double* values, std::int64_t count);
  // integer * 2^exponent, for |integer| < 2^127 and exponents from -2304 to 2048.
  void add_integer(__int128 integer, int exponent);
  // sum over i < count of left[i] * right[i].
  void add_products(const double* left, const double* right, std::int64_t count);

  bool is_finite() const { return special_ == 0; }
  // NaN or an infinity; 0 when the sum is finite.
  double special() const { return special_; }

  // The rest is of the finite sum, except that round() and enclosure() give its class when it is
  // not.
  int sign() const;  // -1, 0 or 1
  // The 126 leading bits, sticky when something non-zero follows; exact sums of fewer bits are
  // exact.
  Dyadic dyadic() const;
  std::uint64_t round(Format format, Rounding rounding = Rounding::nearest_even) const;
  Enclosure enclosure() const;

 private:
  // Limb i holds a signed multiple of 2^(32 i + lowest_exponent). A limb takes up additions without
  // carrying, and carries move on before its 64 bits run out.
  static constexpr int limb_bits = 32;
  static constexpr int lowest_exponent =
      -2304;                              // below every product, and every block of scaled ones
  static constexpr int limb_count = 140;  // up to 2^2176: 2^62 products of 2^2048, and a sign

  void deposit(bool negative, unsigned __int128 significand, int exponent);
  void carry();
  bool add_block(const double* left, const double* right, int count);

  std::array<std::int64_t, limb_count> limbs_{};
  int deposits_ = 0;    // since the last carry()
  double special_ = 0;  // sum of the terms that are not finite
};

}  // namespace halfulp::reference
