// Numbers of 50 digits and intervals of them, for the exact paths. Heavy: include from .cpp files
// only.
//
//   Interval score = Interval(k) * Interval(q) / square_root(Interval(dim));
//   Enclosure answer = enclosure(exponential(clamp(score, -5, 5)));
//
// Every operation rounds outwards, so an Interval always holds the exact result; one whose ends are
// equal is exact. Ends may be infinite. NaN anywhere makes the whole interval NaN.
#pragma once
#include <boost/multiprecision/mpfr.hpp>

#include "reference/answer.hpp"
#include "reference/format.hpp"

namespace halfulp::reference {

// No expression templates: `auto` keeps a value, and std::max takes an expression.
using Real = boost::multiprecision::number<
    boost::multiprecision::mpfr_float_backend<50, boost::multiprecision::allocate_stack>,
    boost::multiprecision::et_off>;

struct Interval {
  Real lo = 0;
  Real hi = 0;

  Interval() = default;
  explicit Interval(double point) : lo(point), hi(point) {}
  Interval(Real low, Real high) : lo(std::move(low)), hi(std::move(high)) {}
  explicit Interval(Enclosure doubles) : lo(doubles.lo), hi(doubles.hi) {}
  // significand * 2^exponent, or what lies between it and the next significand when sticky.
  explicit Interval(const Dyadic& value);

  bool is_nan() const;
};

Interval operator-(const Interval& x);
Interval operator+(const Interval& x, const Interval& y);
Interval operator-(const Interval& x, const Interval& y);
Interval operator*(const Interval& x, const Interval& y);
// NaN when y holds zero.
Interval operator/(const Interval& x, const Interval& y);
// sum += x * y, for x >= 0.
void add_product(Interval& sum, const Interval& x, double y);
Interval square_root(const Interval& x);  // x >= 0
Interval exponential(const Interval& x);
Interval absolute(const Interval& x);
Interval clamp(const Interval& x, double low, double high);
Interval hull(const Interval& x, const Interval& y);

// The smallest interval of doubles around x: one double where x is one, two adjacent ones for a
// narrow x.
Enclosure enclosure(const Interval& x);

}  // namespace halfulp::reference
