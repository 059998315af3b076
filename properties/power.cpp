// Impostors against the accepted intervals of one output; see power.hpp.
#include "properties/power.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace halfulp::properties {

void Power::see(const Expected& expected) {
  ++elements_;
  if (expected.bound == std::numeric_limits<double>::infinity()) {
    ++unbounded_;
    return;
  }
  const double value = expected.value;
  if (!std::isfinite(value)) {
    classes_ = true;
    return;
  }
  const double reach = expected.bound + expected.error;
  const double lo = value - reach;
  const double hi = value + reach;
  zeros_pass_ = zeros_pass_ && lo <= 0 && 0 <= hi;
  constant_lo_ = any_ ? std::max(constant_lo_, lo) : lo;
  constant_hi_ = any_ ? std::min(constant_hi_, hi) : hi;
  if (any_) {
    moved_pass_ = moved_pass_ && lo <= previous_ && previous_ <= hi;
    step_ = std::max(step_, std::fabs(value - previous_));
  }
  value_lo_ = any_ ? std::min(value_lo_, value) : value;
  value_hi_ = any_ ? std::max(value_hi_, value) : value;
  previous_ = value;
  any_ = true;
}

std::string Power::lacking() const {
  if (elements_ == 0) return {};
  if (unbounded_ == elements_) return "no element has a bound";
  if (classes_ || !any_) return {};
  const double range = std::max(std::fabs(value_lo_), std::fabs(value_hi_));
  if (range == 0) return {};
  if (zeros_pass_) return "zeros would pass";
  const bool constant_gross = (value_hi_ - value_lo_) / 2 >= range / 4;
  if (constant_lo_ <= constant_hi_ && constant_gross) return "a constant would pass";
  if (moved_pass_ && step_ >= range / 4) return "noise in range would pass";
  return {};
}

}  // namespace halfulp::properties
