// Words for faults.
#include "gpu/simt/report.hpp"

#include <bit>
#include <cstring>
#include <map>

namespace halfulp::gpu::simt {
namespace {

constexpr int kLinesMax = 12;

// What each live, started thread of the block is doing, with the number of threads that do the
// same.
void count_threads(const Block& block, std::map<std::string, int>& counts) {
  for (unsigned w = 0; w < kBlockWarpsMax; ++w) {
    const Warp& warp = block.warps[w];
    const Mask shown = warp.live & warp.started;
    for (Mask lanes = shown; lanes != 0; lanes &= lanes - 1) {
      const unsigned linear = w * kWarpLanes + static_cast<unsigned>(std::countr_zero(lanes));
      const Thread& thread = block.threads[linear];
      std::string what = "block " + print(block.index);
      what += thread.wait == Wait::none ? " spins" : " waits in " + std::string(thread.operation);
      what += " at " + print(thread.site);
      ++counts[what];
    }
  }
}

}  // namespace

std::string print(uint3 v) {
  return "(" + std::to_string(v.x) + "," + std::to_string(v.y) + "," + std::to_string(v.z) + ")";
}

std::string print(const std::source_location& site) {
  const char* slash = std::strrchr(site.file_name(), '/');
  return std::string(slash != nullptr ? slash + 1 : site.file_name()) + ":" +
         std::to_string(site.line());
}

std::string print(const Thread& thread) {
  return "block " + print(thread.block->index) + " thread " + print(thread.index);
}

std::string describe_stuck(const Launch& launch) {
  std::map<std::string, int> counts;
  for (int i = 0; i < launch.slots; ++i) {
    if (launch.slot(i).resident) count_threads(launch.slot(i), counts);
  }
  std::string text;
  int lines = 0;
  for (const auto& [what, count] : counts) {
    if (++lines > kLinesMax) break;
    text += "\n  " + what + ", " + std::to_string(count) + (count == 1 ? " thread" : " threads");
  }
  if (lines > kLinesMax)
    text += "\n  and " + std::to_string(counts.size() - kLinesMax) + " more places";
  const std::uint64_t never = launch.blocks - launch.blocks_started;
  if (never > 0) {
    text += "\n  " + std::to_string(never) + (never == 1 ? " block" : " blocks") +
            " never became resident (limit " + std::to_string(launch.config.resident) +
            "): " + print(block_index(launch, launch.blocks_started));
    if (never > 1) text += " to " + print(block_index(launch, launch.blocks - 1));
  }
  return text;
}

}  // namespace halfulp::gpu::simt
