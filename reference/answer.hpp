// What the reference says of output elements: the truth as an enclosure, and how far a right kernel
// may be from it.
//
// Every operation in reference/ops has
//   void evaluate(const Op&, const Sink&)   each row of each output, once, in any order of rows;
//   Enclosure exact(const Op&, Element)     the same truth, tight, for one element (slow: MPFR at
//                                           50 digits, or exact integers);
//   ExactAnswers exact_answers(const Op&)   the same for many elements, sharing what they have in
//                                           common.
// The kernel's value before its last rounding must lie within value +- (error + bound);
// properties/compare rounds both ends to the output format and accepts what lies between them.
#pragma once
#include <cstdint>
#include <functional>
#include <span>

#include "reference/format.hpp"

namespace halfulp::reference {

// A strided view of stored numbers. `stride` is in elements; data points at element (0, 0, 0, 0).
struct View {
  const void* data = nullptr;
  Format format = Format::fp32;
  std::int64_t extent[4] = {1, 1, 1, 1};
  std::int64_t stride[4] = {0, 0, 0, 0};

  double at(std::int64_t i, std::int64_t j = 0, std::int64_t k = 0, std::int64_t l = 0) const;
  // `count` elements along the dimension `axis`, from the given index; out holds `count` doubles.
  void row(std::int64_t i, std::int64_t j, std::int64_t k, int axis, std::int64_t count,
           double* out) const;
};

// Position of an element: the output's number in its operation's list, and the row-major index over
// its logical extents (layout plays no part).
struct Element {
  int output = 0;
  std::int64_t index = 0;
};

// Consecutive elements [first, first + value.size()) of one output. For each element
//   value   the true answer c, |c - value| <= error; NaN or an infinity states the class instead;
//   error   certified error of `value` as an answer, >= 0;
//   bound   E: how far the kernel's value before its last rounding may be from c, >= 0;
//           0 demands rnd(c) bit for bit, but for the sign of zero; +infinity says that nothing can
//           be concluded, of value and error neither;
//   positive_zero   the rows are +0 exactly, and -0 is wrong.
struct Rows {
  int output = 0;
  std::int64_t first = 0;
  std::span<const double> value;
  std::span<const double> error;
  std::span<const double> bound;
  bool positive_zero = false;
};
using Sink = std::function<void(const Rows&)>;

// The true answer lies in [lo, hi], lo == hi where it is a double. NaN in both: the answer is NaN.
struct Enclosure {
  double lo = 0;
  double hi = 0;
};

// Asks for one element after another. Holds a copy of the operation, whose arrays must outlive it,
// and what neighbours share: quickest in the order of the elements.
using ExactAnswers = std::function<Enclosure(Element)>;

// The terms that make up the bound of one element, for `halfulp explain`.
struct BoundTerm {
  const char* name;        // "logit error", "division", ...
  const char* derivation;  // "[B12]" of docs/bounds.md
  double amount;           // in the units of the output
};

}  // namespace halfulp::reference
