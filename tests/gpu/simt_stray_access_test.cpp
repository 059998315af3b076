// Accesses that no process survives: what it says before it ends.
#include <gtest/gtest.h>

#include <csignal>

#include "gpu/simt/fenced_memory.hpp"
#include "gpu/simt/simt.cuh"
#include "gpu/simt/stray_access.hpp"
#include "tests/gpu/simt_run.hpp"

#if !defined(__SANITIZE_ADDRESS__)  // it reports for itself

namespace halfulp::gpu::simt_test {
namespace {

using simt::FencedMemory;

// As a kernel does it, through a pointer that the compiler knows nothing of.
void touch(const std::byte* address) { *const_cast<volatile std::byte*>(address) = std::byte{1}; }

TEST(StrayAccessDeathTest, AnAccessSaysWhatItMissed) {
  FencedMemory others;
  others.take(1000);
  FencedMemory memory;
  const std::span<std::byte> block = memory.take(1000);
  memory.label({"x", block.data()}, {"out", block.data() + 1000});
  const auto access = [&](std::ptrdiff_t offset) {
    simt::report_stray_accesses();
    touch(block.data() + offset);
  };
  const auto killed = testing::KilledBySignal(SIGSEGV);
  EXPECT_EXIT(access(1024), killed, "access 24 bytes past the end of out");
  EXPECT_EXIT(access(1'000'000), killed, "access 999000 bytes past the end of out");
  EXPECT_EXIT(access(-4'000'000), killed, "access 4000000 bytes before x");
  // Also where a larger block was.
  memory.take(100'000);
  const std::span<std::byte> smaller = memory.take(1000);
  memory.label({"x", smaller.data()}, {"out", smaller.data() + 1000});
  const auto access_smaller = [&] {
    simt::report_stray_accesses();
    touch(smaller.data() - 50'000);
  };
  EXPECT_EXIT(access_smaller(), killed, "access 50000 bytes before x");
}

TEST(StrayAccessDeathTest, OtherSignalsEndTheProcessAsEver) {
  simt::report_stray_accesses();
  const auto killed = testing::KilledBySignal(SIGSEGV);
  EXPECT_EXIT(touch(nullptr), killed, "^$");
  EXPECT_EXIT(std::raise(SIGSEGV), killed, "^$");
  std::signal(SIGSEGV, SIG_DFL);
}

__global__ void large_frame(int* out) {
  volatile int local[50'000];
  local[threadIdx.x] = 1;
  out[threadIdx.x] = local[threadIdx.x];
}

TEST(StrayAccessDeathTest, AFullStackIsNamed) {
  const auto launch = [] {
    simt::report_stray_accesses();
    int out[32] = {};
    simt::Session session{simt::Config{}};
    simt::launch(large_frame, 1, 32, 0, session.stream(), out);
  };
  EXPECT_EXIT(launch(), testing::KilledBySignal(SIGSEGV), "more than the 65536 bytes of stack");
}

}  // namespace
}  // namespace halfulp::gpu::simt_test

#endif
