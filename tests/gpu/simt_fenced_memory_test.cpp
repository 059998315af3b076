// Memory between fences: what it holds, and what an access to a fence ends in.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "gpu/simt/fenced_memory.hpp"

namespace halfulp::gpu::simt_test {
namespace {

using simt::FencedMemory;

TEST(FencedMemory, BlocksAreAlignedAndGrow) {
  FencedMemory memory;
  for (const std::size_t bytes : {0, 1, 256, 4096, 5000, 100'000, 3}) {
    const std::span<std::byte> block = memory.take(bytes);
    ASSERT_EQ(block.size(), bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block.data()) % FencedMemory::kAlignmentBytes, 0u);
    for (std::byte& byte : block) byte = std::byte{1};
  }
}

TEST(FencedMemory, WhatIsWrittenToSpareBytesIsFound) {
  FencedMemory memory;
  const std::span<std::byte> block = memory.take(5000);
  memory.label({"x", block.data() + 512}, {"out", block.data() + 5000});
  EXPECT_EQ(memory.spare_written().name, nullptr);
  block[0] = std::byte{1};
  EXPECT_EQ(memory.spare_written().name, nullptr);
  block.data()[-100] = std::byte{1};
  block.data()[-3] = std::byte{0};
  const FencedMemory::Stray stray = memory.spare_written();
  ASSERT_STREQ(stray.name, "x");
  EXPECT_EQ(stray.bytes, 515u);
  EXPECT_FALSE(stray.past_end);
  memory.take(5000);
  EXPECT_EQ(memory.spare_written().name, nullptr);
}

TEST(FencedMemory, ABlockIsResizedAtItsStart) {
  FencedMemory memory;
  const std::span<std::byte> whole = memory.take(65'536);
  std::byte* const end = whole.data() + whole.size();
  memory.take(0);
  EXPECT_EQ(memory.stray(end - 1).past_end, false);
  ASSERT_TRUE(memory.resize(1000));
  end[-1000] = std::byte{1};
  EXPECT_EQ(memory.spare_written().name, nullptr);
  ASSERT_TRUE(memory.resize(20'000));
  EXPECT_EQ(end[-1000], std::byte{1});
  end[-20'001] = std::byte{1};
  EXPECT_NE(memory.spare_written().name, nullptr);
}

// Blocks are known to their thread while they live, in whatever order they end.
TEST(FencedMemory, BlocksOfAThreadAreFound) {
  std::thread([] {
    thread_local std::vector<std::unique_ptr<FencedMemory>> until_the_thread_ends;
    until_the_thread_ends.reserve(3);  // the vector is there before any block
    for (int i = 0; i < 3; ++i) {
      until_the_thread_ends.push_back(std::make_unique<FencedMemory>());
      const std::span<std::byte> block = until_the_thread_ends.back()->take(256);
      const std::string name = "block " + std::to_string(i);
      until_the_thread_ends.back()->label({name, block.data()}, {name, block.data() + 256});
      EXPECT_EQ(FencedMemory::stray_of_thread(block.data() + 256).name, name);
    }
    const std::byte* behind = until_the_thread_ends[1]->take(256).data() + 256;
    until_the_thread_ends.erase(until_the_thread_ends.begin() + 1);
    EXPECT_EQ(FencedMemory::stray_of_thread(behind).name, nullptr);
  }).join();
}

// A stray read gets the same whatever was in memory before.
TEST(FencedMemory, SpareBytesAreTheSameAfterLargerBlocks) {
  FencedMemory memory;
  std::ranges::fill(memory.take(100'000), std::byte{1});
  const std::span<std::byte> block = memory.take(5000);
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto in_page = reinterpret_cast<std::uintptr_t>(block.data()) % page;
  ASSERT_GT(in_page, 0u);
  for (std::size_t i = 1; i <= in_page; ++i) EXPECT_EQ(*(block.data() - i), std::byte{0xFF}) << i;
  EXPECT_EQ(*(block.data() + 5000), std::byte{0xFF});
  const FencedMemory::Stray before = memory.stray(block.data() - in_page - 1);
  EXPECT_EQ(before.bytes, in_page + 1);
  EXPECT_FALSE(before.past_end);
}

TEST(FencedMemory, WhatNoMachineHasIsNoMemory) {
  FencedMemory memory;
  memory.take(10);
  for (const std::size_t bytes : {std::size_t{1} << 60, std::numeric_limits<std::size_t>::max()}) {
    EXPECT_THROW(memory.take(bytes), std::bad_alloc) << bytes;
  }
  EXPECT_EQ(memory.take(10).size(), 10u);
}

TEST(FencedMemory, AFenceIsNamedByTheEndItLiesNext) {
  FencedMemory memory;
  const std::span<std::byte> block = memory.take(1000);
  const std::byte* const end = block.data() + block.size();
  memory.label({"x", block.data() + 100}, {"out", end - 100});
  const FencedMemory::Stray past = memory.stray(end + 500);
  EXPECT_STREQ(past.name, "out");
  EXPECT_EQ(past.bytes, 600u);
  EXPECT_TRUE(past.past_end);
  const FencedMemory::Stray before = memory.stray(block.data() - FencedMemory::kFenceBytes);
  EXPECT_STREQ(before.name, "x");
  EXPECT_EQ(before.bytes, FencedMemory::kFenceBytes + 100);
  EXPECT_FALSE(before.past_end);
  EXPECT_EQ(memory.stray(block.data()).name, nullptr);
  EXPECT_EQ(memory.stray(nullptr).name, nullptr);
}

}  // namespace
}  // namespace halfulp::gpu::simt_test
