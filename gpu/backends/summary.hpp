// What the backends share when they time and report: calls, distinct outputs and median times.
#pragma once
#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "gpu/backend.hpp"

namespace halfulp::gpu {

// A call to be timed on the operands of a problem.
struct EntryCall {
  EntryPoint entry = nullptr;
  std::span<const Setting> settings;
};

inline void add_distinct(std::vector<Outputs>& seen, Outputs outputs) {
  if (std::find(seen.begin(), seen.end(), outputs) == seen.end()) {
    seen.push_back(std::move(outputs));
  }
}

inline Timing timing_of(std::vector<double> times_us) {
  if (times_us.empty()) return {};
  std::sort(times_us.begin(), times_us.end());
  return {times_us[times_us.size() / 2], times_us.front(), static_cast<int>(times_us.size()), {}};
}

}  // namespace halfulp::gpu
