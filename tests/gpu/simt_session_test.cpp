// Launch limits, faults in sessions, and sessions on several OS threads.
#include <gtest/gtest.h>

#include <thread>

#include "gpu/simt/simt.cuh"
#include "tests/gpu/simt_run.hpp"

namespace halfulp::gpu::simt_test {
namespace {

__global__ void nothing() {}
__global__ void count(int* counter) { atomicAdd(counter, 1); }
__global__ void indices(unsigned* out) {
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  out[block * blockDim.x * blockDim.y * blockDim.z + thread] += 1;
}
__global__ void large_shared() {
  SIMT_SHARED(char, large, [49153]);
  large[threadIdx.x] = 0;
}
__global__ void largest_shared() {
  SIMT_SHARED(char, large, [49152]);
  large[threadIdx.x] = 0;
}

std::string error(dim3 grid, dim3 block, std::size_t shared_bytes) {
  simt::Session session{simt::Config{}};
  const simt::Status status = simt::launch(nothing, grid, block, shared_bytes, session.stream());
  EXPECT_EQ(session.fault().kind,
            status.ok() ? simt::FaultKind::none : simt::FaultKind::launch_error);
  return status.text;
}

TEST(SimtSession, LimitsOfALaunch) {
  EXPECT_EQ(error(1, 1, 0), "");
  EXPECT_EQ(error(dim3(1, 65535, 1), 1, 0), "");
  EXPECT_EQ(error(1, dim3(16, 1, 64), 227 * 1024), "");
  EXPECT_NE(error(0, 1, 0), "");
  EXPECT_NE(error(0x80000000u, 1, 0), "");
  EXPECT_NE(error(dim3(1, 65536, 1), 1, 0), "");
  EXPECT_NE(error(dim3(1, 1, 65536), 1, 0), "");
  EXPECT_NE(error(1, 0, 0), "");
  EXPECT_NE(error(1, 1025, 0), "");
  EXPECT_NE(error(1, dim3(32, 33, 1), 0), "");
  EXPECT_NE(error(1, dim3(1, 1, 65), 0), "");
  EXPECT_NE(error(1, 1, 227 * 1024 + 1), "");
}

TEST(SimtSession, StaticSharedMemoryIsLimited) {
  simt::Session over{simt::Config{}};
  simt::launch(large_shared, 1, 1, 0, over.stream());
  EXPECT_EQ(over.fault().kind, simt::FaultKind::launch_error);
  simt::Session most{simt::Config{}};
  EXPECT_TRUE(simt::launch(largest_shared, 1, 1, 0, most.stream()).ok());
}

TEST(SimtSession, NothingRunsAfterAFault) {
  simt::Session session{simt::Config{}};
  int counter = 0;
  EXPECT_TRUE(simt::launch(count, 2, 33, 0, session.stream(), &counter).ok());
  EXPECT_EQ(counter, 66);
  EXPECT_FALSE(simt::launch(count, 0, 33, 0, session.stream(), &counter).ok());
  EXPECT_FALSE(simt::launch(count, 2, 33, 0, session.stream(), &counter).ok());
  EXPECT_EQ(counter, 66);
  EXPECT_EQ(session.report().launches, 1);
  EXPECT_EQ(session.report().threads, 66);
}

TEST(SimtSession, EveryThreadOfEveryBlockRunsOnce) {
  for (const simt::Order order :
       {simt::Order::round_robin, simt::Order::reverse, simt::Order::burst}) {
    for (const dim3 block : {dim3(1), dim3(33), dim3(8, 4, 3), dim3(1024), dim3(2, 1, 64)}) {
      simt::Session session{config_of(order, false)};
      const dim3 grid(3, 2, 2);
      std::vector<unsigned> out(12 * block.x * block.y * block.z);
      ASSERT_TRUE(simt::launch(indices, grid, block, 0, session.stream(), out.data()).ok());
      EXPECT_EQ(out, std::vector<unsigned>(out.size(), 1u));
    }
  }
}

TEST(SimtSession, ThreadsOfTheHostAreIndependent) {
  std::vector<std::thread> threads;
  std::array<int, 4> wrong{};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t, &wrong] {
      for (std::uint64_t i = 0; i < 20; ++i) {
        const auto config = config_of(simt::Order::burst, t % 2 == 0, i);
        wrong[static_cast<std::size_t>(t)] +=
            static_cast<bool>(run("publish", Plant::none, config).fault);
        wrong[static_cast<std::size_t>(t)] += !run("warp_sum", Plant::first, config).fault;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, (std::array<int, 4>{}));
}

}  // namespace
}  // namespace halfulp::gpu::simt_test
