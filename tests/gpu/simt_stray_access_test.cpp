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
  EXPECT_EXIT(touch(nullptr), killed, "access through a null pointer");
  const auto* const nowhere = reinterpret_cast<const std::byte*>(std::uintptr_t{1} << 20);
  EXPECT_EXIT(touch(nowhere), killed, "no memory of the kernel's");
  EXPECT_EXIT(std::raise(SIGSEGV), killed, "^$");
  std::signal(SIGSEGV, SIG_DFL);
}

__global__ void past_shared(int index) {
  SIMT_SHARED(int, first, [32]);
  SIMT_SHARED(int, second, [32]);
  second[threadIdx.x] = first[threadIdx.x] = 0;
  volatile int* from_first = first;
  from_first[index] = 1;
}

std::string fault_of_shared(int index) {
  simt::Session session{simt::Config{}};
  simt::launch(past_shared, 2, 32, 0, session.stream(), index);
  return session.fault().text;
}

// Whatever the distance: into another variable, which is legal on a device too, or out of both.
TEST(StrayAccessDeathTest, NothingPastSharedMemoryPasses) {
  EXPECT_EQ(fault_of_shared(31), "");
  for (const int index : {32, 40, -1, -16, -200, -1500}) {
    EXPECT_NE(fault_of_shared(index).find("wrote just outside shared variable"), std::string::npos)
        << index;
  }
  const auto access = [](int index) {
    simt::report_stray_accesses();
    fault_of_shared(index);
  };
  for (const int index : {64, 1000, 75'000}) {
    EXPECT_EXIT(access(index), testing::KilledBySignal(SIGSEGV), "bytes past the end of first")
        << index;
  }
  EXPECT_EXIT(access(-100'000), testing::KilledBySignal(SIGSEGV), "bytes before second");
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
