// Blocks that wait for one another on the host backends: lost updates, flags raised too early,
// missing fences, locks left set and waits for blocks that never run are verdicts that say where.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "gpu/simt/session.hpp"
#include "tests/gpu/kernels_problems.hpp"
#include "tests/gpu/planted/planted.hpp"

namespace halfulp::gpu {
namespace {

using test::Layout;
using test::planted;

constexpr const char* kFile = "planted_protocols.cuh:";

Problem blocks(std::int64_t count) {
  return test::vector_add(count, Format::f32, Layout::contiguous);
}

Outcome explore(std::string_view kernel, Backend backend, std::int64_t count) {
  return run(planted(kernel), backend, blocks(count),
             {.order = Order::exhaustive, .resident = static_cast<int>(count)});
}

void expect_text(const Fault& fault, FaultKind kind, const std::vector<std::string>& parts) {
  EXPECT_EQ(name(fault.kind), name(kind)) << fault.text;
  for (const std::string& part : parts) {
    EXPECT_NE(fault.text.find(part), std::string::npos) << part << " is not in: " << fault.text;
  }
}

#define SKIP_WITHOUT_CHECKER() \
  if (!simt::checker_available()) GTEST_SKIP() << "no checker in a sanitizer build"

TEST(ProtocolTest, RightOnesPassEveryScheduleWithOneResult) {
  for (const char* kernel : {"sum", "hand_over"}) {
    for (const Backend backend : {Backend::host, Backend::host_checked}) {
      for (const std::int64_t count : {2, 3}) {
        const Outcome outcome = explore(kernel, backend, count);
        EXPECT_FALSE(outcome.fault) << kernel << ": " << outcome.fault.text;
        EXPECT_TRUE(outcome.schedules_exhausted);
        EXPECT_GT(outcome.launches, 3) << kernel;
        EXPECT_EQ(outcome.outputs.size(), 1u) << kernel;
      }
      for (const Order order : {Order::round_robin, Order::reverse, Order::burst}) {
        EXPECT_FALSE(
            run(planted(kernel), backend, blocks(5), {.order = order, .resident = 5}).fault);
      }
    }
  }
}

TEST(ProtocolTest, ALostUpdateShowsInSomeScheduleAndAsARace) {
  const Outcome outcome = explore("sum_read_early", Backend::host, 2);
  EXPECT_FALSE(outcome.fault) << outcome.fault.text;
  // Both parts, the first lost, the second lost.
  EXPECT_EQ(outcome.outputs.size(), 3u);
  SKIP_WITHOUT_CHECKER();
  expect_text(explore("sum_read_early", Backend::host_checked, 2).fault, FaultKind::race,
              {kFile, "sum, element 0", "block (0,0,0)", "block (1,0,0)"});
}

TEST(ProtocolTest, AFlagRaisedBeforeTheDataShowsInSomeScheduleAndAsARace) {
  const Outcome outcome = explore("flag_first", Backend::host, 2);
  EXPECT_FALSE(outcome.fault) << outcome.fault.text;
  EXPECT_GT(outcome.outputs.size(), 1u);  // the sum, and what the poison made of it
  SKIP_WITHOUT_CHECKER();
  // Only where the waiting block sees the flag between the two: some schedule, not the first.
  const Fault fault = explore("flag_first", Backend::host_checked, 2).fault;
  EXPECT_TRUE(fault.kind == FaultKind::race || fault.kind == FaultKind::uninitialised)
      << fault.text;
  expect_text(fault, fault.kind, {kFile, "parts, element 1", "block (0,0,0)"});
}

TEST(ProtocolTest, AMissingFenceIsARaceInAnyOrder) {
  SKIP_WITHOUT_CHECKER();
  for (const Order order : {Order::round_robin, Order::reverse, Order::burst}) {
    const Outcome outcome =
        run(planted("no_fence"), Backend::host_checked, blocks(2), {.order = order});
    expect_text(outcome.fault, FaultKind::race, {kFile, "parts, element 1"});
  }
}

// The first launch that leaves a lock set ends the run, so that no later one waits for it in vain.
TEST(ProtocolTest, ALockLeftSetIsReportedByItsNameAndValue) {
  for (const Backend backend : {Backend::host, Backend::host_checked}) {
    const Outcome once = run(planted("sum_left_set"), backend, blocks(3), {});
    expect_text(once.fault, FaultKind::locks_left_set, {"locks", "word 1", "left at 3"});
    EXPECT_EQ(once.launches, 1);
    const Outcome search = explore("sum_left_set", backend, 2);
    expect_text(search.fault, FaultKind::locks_left_set, {"word 1", "left at 2"});
    EXPECT_EQ(search.launches, 1);
  }
}

TEST(ProtocolTest, LocksAreGuarded) {
  expect_text(run(planted("lock_past_end"), Backend::host, blocks(1), {}).fault,
              FaultKind::out_of_bounds, {"0 bytes past the end of", "locks"});
  SKIP_WITHOUT_CHECKER();
  expect_text(run(planted("lock_past_end"), Backend::host_checked, blocks(1), {}).fault,
              FaultKind::out_of_bounds, {kFile, "0 bytes past the end of locks, element 3"});
}

TEST(ProtocolTest, WaitingForABlockThatNeverRunsIsADeadlock) {
  for (const Backend backend : {Backend::host, Backend::host_checked}) {
    for (const Order order : {Order::round_robin, Order::reverse, Order::burst}) {
      const Outcome outcome =
          run(planted("hand_over"), backend, blocks(4), {.order = order, .resident = 1});
      expect_text(outcome.fault, FaultKind::deadlock,
                  {"block (0,0,0) spins at planted_protocols.cuh:", "1 thread",
                   "3 blocks never became resident (limit 1): (1,0,0) to (3,0,0)"});
    }
    EXPECT_FALSE(run(planted("hand_over"), backend, blocks(4), {.resident = 2}).fault);
  }
  const Schedule search{.order = Order::exhaustive, .resident = 1};
  expect_text(run(planted("hand_over"), Backend::host, blocks(2), search).fault,
              FaultKind::deadlock, {"1 block never became resident (limit 1): (1,0,0)"});
}

TEST(ProtocolTest, ASearchEndsWithItsTimeAndSaysSo) {
  Schedule schedule{.order = Order::exhaustive, .resident = 3, .time_max_s = 1e-9};
  Outcome outcome = run(planted("sum"), Backend::host, blocks(3), schedule);
  EXPECT_FALSE(outcome.fault) << outcome.fault.text;
  EXPECT_FALSE(outcome.schedules_exhausted);
  EXPECT_EQ(outcome.launches, 2);
  schedule.time_max_s = 1e9;
  outcome = run(planted("sum"), Backend::host, blocks(3), schedule);
  EXPECT_TRUE(outcome.schedules_exhausted);
  EXPECT_GT(outcome.launches, 10);
}

double first_output(const Problem& problem, const Outcome& outcome) {
  EXPECT_FALSE(outcome.fault) << outcome.fault.text;
  return test::value_at(problem.operand("z"), outcome.outputs.at(0).at(0), 0);
}

TEST(LauncherTest, DynamicSharedMemoryAndResidency) {
  const Problem problem = blocks(1);
  for (const Backend backend : {Backend::host, Backend::host_checked}) {
    EXPECT_EQ(first_output(problem, run(planted("shared"), backend, problem, {.resident = 7})), 7);
    EXPECT_EQ(first_output(problem, run(planted("resident_none"), backend, problem, {})), 0);
    expect_text(run(planted("shared_too_large"), backend, problem, {}).fault,
                FaultKind::launch_error, {"233472 bytes of dynamic shared memory"});
  }
}

}  // namespace
}  // namespace halfulp::gpu
