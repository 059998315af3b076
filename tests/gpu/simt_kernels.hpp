// Small kernels for the tests of the executor, each right or with one planted fault, as launchers
// that do not depend on how the kernel was compiled.
//
//   const Launchers& all = launchers(Build::checked);
//   simt::Status status = all.neighbour_sum(Plant::none, session.stream(), buffers);
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "gpu/simt/status.hpp"

namespace halfulp::gpu::simt_test {

// What a launcher works on; each kernel says in simt_kernels.cpp which of these it uses and how.
struct Buffers {
  static constexpr int kThreads = 128;  // of every block, unless the kernel says otherwise
  static constexpr int kBlocks = 3;
  static constexpr int kSteps = 4;
  float* x = nullptr;          // kBlocks * kThreads * kSteps inputs
  float* y = nullptr;          // kBlocks * kThreads * kSteps outputs
  float* workspace = nullptr;  // kBlocks * kThreads
  unsigned* flags = nullptr;   // kBlocks + 1, zero
  int* counters = nullptr;     // kBlocks, zero
};

enum class Build : std::uint8_t { plain, checked };
// none: the kernel is right. Otherwise which of its faults is planted; most have only the first.
enum class Plant : std::uint8_t { none, first, second, third };

using Launcher = simt::Status (*)(Plant plant, void* stream, const Buffers& buffers);
struct Named {
  const char* name;
  Launcher launch;
};
// By name; asserts that it exists.
Launcher find(Build build, const char* name);
const std::vector<Named>& launchers(Build build);

}  // namespace halfulp::gpu::simt_test

// Each compiled copy defines its own.
namespace halfulp::gpu::test_plain {
const std::vector<simt_test::Named>& launchers();
}
namespace halfulp::gpu::test_checked {
const std::vector<simt_test::Named>& launchers();
}
