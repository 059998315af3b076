// Time limits in seconds as durations of the steady clock, whatever their size.
//
//   const auto deadline = Clock::now() + limit(watchdog_s);   // 1e300 and NaN: thirty years
#pragma once
#include <chrono>

namespace halfulp::properties {

using Clock = std::chrono::steady_clock;

constexpr double kLimitMax_s = 1e9;  // added to any time of the clock it stays representable

inline Clock::duration limit(double seconds) {
  const double kept = seconds < kLimitMax_s ? (seconds > 0 ? seconds : 0) : kLimitMax_s;
  return std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(seconds == seconds ? kept : kLimitMax_s));
}

}  // namespace halfulp::properties
