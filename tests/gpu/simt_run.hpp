// Runs one test kernel in a session of its own, on fresh memory.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "gpu/simt/session.hpp"
#include "tests/gpu/simt_kernels.hpp"

namespace halfulp::gpu::simt_test {

inline constexpr int kInputs = Buffers::kBlocks * Buffers::kThreads * Buffers::kSteps;

struct Result {
  simt::Fault fault;
  std::string status;
  simt::Report report;
  std::vector<float> y, workspace;
  std::vector<unsigned> flags;
  std::vector<int> counters;
};

// x[j]: small integers, so that every sum is exact.
float input(int j);

// config.checked chooses the build.
Result run(const char* kernel, Plant plant, const simt::Config& config);

// Configurations for an order, both ways to land copies, or every order in turn.
simt::Config config_of(simt::Order order, bool checked, std::uint64_t seed = 1);
std::vector<simt::Config> configs(bool checked);  // round robin, reverse, bursts; resident 4 and 1

}  // namespace halfulp::gpu::simt_test
