// Right kernels give right values and no report, in every order, plain and checked.
#include <gtest/gtest.h>

#include <functional>

#include "tests/gpu/simt_run.hpp"

namespace halfulp::gpu::simt_test {
namespace {

constexpr int kThreads = Buffers::kThreads;
constexpr int kBlocks = Buffers::kBlocks;

struct Expectation {
  const char* kernel;
  int resident_needed;
  std::function<void(const Result&)> check;
};

void expect_y(const Result& result, int count, const std::function<float(int)>& value) {
  for (int i = 0; i < count; ++i) {
    ASSERT_EQ(result.y[static_cast<std::size_t>(i)], value(i)) << "element " << i;
  }
}
int block_of(int i) { return i / kThreads; }
int thread_of(int i) { return i % kThreads; }
int at(int block, int thread) { return block * kThreads + thread; }

float sum_over_blocks(int thread) {
  float sum = 0;
  for (int block = 0; block < kBlocks; ++block) sum += input(at(block, thread));
  return sum;
}

std::vector<Expectation> expectations() {
  return {
      {"neighbour_sum", 1,
       [](const Result& r) {
         expect_y(r, kBlocks * kThreads, [](int i) {
           return input(i) + input(at(block_of(i), (thread_of(i) + 1) % kThreads));
         });
       }},
      {"warp_broadcast", 1,
       [](const Result& r) {
         expect_y(r, kBlocks * kThreads, [](int i) { return input(i / 32 * 32); });
       }},
      {"buffer_reuse", 1,
       [](const Result& r) {
         expect_y(r, kBlocks * kThreads, [](int i) {
           float sum = 0;
           for (int step = 0; step < Buffers::kSteps; ++step) {
             sum += input(at(block_of(i), (thread_of(i) + 33) % kThreads) * Buffers::kSteps + step);
           }
           return sum;
         });
       }},
      {"staged_copy", 1,
       [](const Result& r) { expect_y(r, kInputs, [](int i) { return input(i); }); }},
      {"publish", 3,
       [](const Result& r) {
         expect_y(r, kThreads, sum_over_blocks);
         EXPECT_EQ(r.flags, std::vector<unsigned>(kBlocks + 1, 0u));
       }},
      {"publish_twice", 3, [](const Result& r) { expect_y(r, kThreads, sum_over_blocks); }},
      {"publish_release", 3, [](const Result& r) { expect_y(r, kThreads, sum_over_blocks); }},
      {"wait_for_next", 3,
       [](const Result& r) {
         EXPECT_EQ(r.flags, (std::vector<unsigned>{1, 1, 1, 0}));
       }},
      {"locked_increment", 2, [](const Result& r) { EXPECT_EQ(r.counters[0], 2); }},
      {"two_locks", 2, [](const Result& r) { EXPECT_EQ(r.counters[0], 2); }},
      {"divergent_barrier", 1,
       [](const Result& r) { expect_y(r, kBlocks * kThreads, [](int) { return 1.0f; }); }},
      {"warp_sum", 1,
       [](const Result& r) {
         expect_y(r, kBlocks * kThreads, [](int i) {
           float sum = 0;
           for (int lane = 0; lane < 32; ++lane) sum += input(i / 32 * 32 + lane);
           return sum;
         });
       }},
      {"early_exit", 1,
       [](const Result& r) {
         expect_y(r, kBlocks * kThreads, [](int i) {
           return i % 4 == 3 ? -1.0f : input(i / 32 * 32) + 8 + kThreads / 4.0f;
         });
       }},
      {"out_of_bounds", 1, [](const Result&) {}},
      {"out_of_bounds_shared", 1,
       [](const Result& r) {
         expect_y(r, kBlocks * kThreads,
                  [](int i) { return input((thread_of(i) + 1) % kThreads); });
       }},
      {"uninitialised", 1,
       [](const Result& r) {
         expect_y(r, kBlocks * kThreads,
                  [](int i) { return input(at(block_of(i), kThreads - 1 - thread_of(i))); });
       }},
      {"misuse", 1,
       [](const Result& r) {
         expect_y(r, kInputs, [](int i) { return input(i / 4 * 4 + 3 - i % 4); });
       }},
      {"narrow_writes", 1,
       [](const Result& r) {
         for (int i = 0; i < kBlocks * kThreads; ++i) {
           const int other = kThreads - 1 - thread_of(i);
           ASSERT_EQ(r.workspace[static_cast<std::size_t>(i)],
                     static_cast<float>(other) + input(other));
         }
       }},
      {"histogram", 1,
       [](const Result& r) { expect_y(r, 4, [](int) { return kBlocks * kThreads / 4.0f; }); }},
      {"last_block_sums", 1, [](const Result& r) { expect_y(r, kThreads, sum_over_blocks); }},
  };
}

void run_all(bool checked) {
  for (const Expectation& expectation : expectations()) {
    for (const simt::Config& config : configs(checked)) {
      if (config.resident < expectation.resident_needed) continue;
      SCOPED_TRACE(std::string(expectation.kernel) + " order " +
                   std::to_string(static_cast<int>(config.order)) + " seed " +
                   std::to_string(config.seed) + " resident " + std::to_string(config.resident));
      const Result result = run(expectation.kernel, Plant::none, config);
      ASSERT_FALSE(result.fault) << simt::name(result.fault.kind) << ": " << result.fault.text;
      ASSERT_EQ(result.status, "");
      ASSERT_NO_FATAL_FAILURE(expectation.check(result));
    }
  }
}

TEST(SimtClean, Plain) { run_all(false); }
TEST(SimtClean, Checked) { run_all(true); }

TEST(SimtClean, EveryKernelHasAnExpectation) {
  ASSERT_EQ(expectations().size(), launchers(Build::plain).size());
  for (const Expectation& expectation : expectations()) find(Build::plain, expectation.kernel);
}

TEST(SimtClean, TheCheckerSeesTheInstrumentedBuildOnly) {
  if (!simt::checker_available()) GTEST_SKIP() << "no checker in a sanitizer build";
  simt::Config config = config_of(simt::Order::round_robin, true);
  EXPECT_GT(run("buffer_reuse", Plant::none, config).report.accesses, kInputs * 2);
  config.checked = false;
  EXPECT_EQ(run("buffer_reuse", Plant::none, config).report.accesses, 0);
}

}  // namespace
}  // namespace halfulp::gpu::simt_test
