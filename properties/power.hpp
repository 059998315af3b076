// Power: could this case have failed at all?
//
// Three impostors stand in for a kernel that computes nothing: all zeros, one constant everywhere
// (the best one), and noise in range (here the truth moved on by one element). An impostor passes
// an output when every element accepts it, and it is a gross one when somewhere it is off by a
// quarter of R or more, R the largest finite magnitude of the true output. So:
//   an output is powerless when every element is unbounded (E = +infinity), or a gross impostor
//   passes it; a case is powerless when it has output elements, and each of its non-empty outputs
//   is powerless.
// Random signs need no impostor of their own: an accepted interval that holds x and -x holds 0.
// An impostor that is right is no impostor: zeros for nodes without edges, a constant for a
// constant answer. Such a case still fails garbage, poison and NaN. A case without any
// output element is powerless too (properties/judging.cpp): guards alone can fail it.
#pragma once
#include <cstdint>
#include <string>

#include "properties/compare.hpp"

namespace halfulp::properties {

// Watches the elements of one output as they stream by, in index order or in blocks of it.
class Power {
 public:
  void see(const Expected& expected);

  std::int64_t elements() const { return elements_; }
  std::int64_t unbounded() const { return unbounded_; }
  // Empty: the output has power (or no element). Otherwise which impostor passes.
  std::string lacking() const;

 private:
  std::int64_t elements_ = 0;
  std::int64_t unbounded_ = 0;
  bool classes_ = false;  // some bounded element must be NaN or infinite: no impostor passes
  bool zeros_pass_ = true;
  bool moved_pass_ = true;
  double constant_lo_ = 0;  // every bounded element accepts the constants between these two
  double constant_hi_ = 0;
  double value_lo_ = 0;  // extremes of the bounded, finite truth
  double value_hi_ = 0;
  double step_ = 0;  // largest |c_i - c_{i-1}| over bounded elements i
  double previous_ = 0;
  bool any_ = false;  // a bounded, finite element was seen
};

}  // namespace halfulp::properties
