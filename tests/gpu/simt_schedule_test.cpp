// Residency, deadlocks, exhaustive search, budgets, and that a schedule is a function of its
// configuration.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "tests/gpu/simt_run.hpp"

namespace halfulp::gpu::simt_test {
namespace {

using simt::FaultKind;
using simt::Order;

TEST(SimtSchedule, TooFewResidentBlocksDeadlock) {
  for (const Order order : {Order::round_robin, Order::reverse, Order::burst}) {
    for (const bool checked : {false, true}) {
      simt::Config config = config_of(order, checked);
      config.resident = 2;
      const Result result = run("wait_for_next", Plant::none, config);
      EXPECT_EQ(result.fault.kind, FaultKind::deadlock);
      for (const char* part :
           {"spins at simt_kernels.cpp:", "waits in __syncthreads at simt_kernels.cpp:",
            "127 threads", "1 block never became resident (limit 2): (2,0,0)"}) {
        EXPECT_NE(result.fault.text.find(part), std::string::npos) << part << "\n"
                                                                   << result.fault.text;
      }
      config.resident = 3;
      EXPECT_FALSE(run("wait_for_next", Plant::none, config).fault);
    }
  }
}

struct Search {
  std::int64_t schedules = 0;
  std::int64_t deadlocks = 0, races = 0, wrong = 0;
};

Search explore(const char* kernel, Plant plant, int bound, bool checked) {
  simt::Explorer explorer(bound);
  simt::Config config = config_of(Order::exhaustive, checked);
  config.explorer = &explorer;
  Search search;
  do {
    const Result result = run(kernel, plant, config);
    search.deadlocks += result.fault.kind == FaultKind::deadlock;
    search.races += result.fault.kind == FaultKind::race;
    search.wrong += !result.fault && result.counters[0] != 2;
  } while (explorer.next() && explorer.schedules() < 5000);
  search.schedules = explorer.schedules();
  return search;
}

TEST(SimtSchedule, ExhaustiveSearchFindsTheAbBaDeadlock) {
  const Search right = explore("two_locks", Plant::none, 2, false);
  EXPECT_GT(right.schedules, 5);
  EXPECT_LT(right.schedules, 5000);
  EXPECT_EQ(right.deadlocks + right.wrong, 0);
  const Search wrong = explore("two_locks", Plant::first, 2, false);
  EXPECT_GT(wrong.deadlocks, 0);
  EXPECT_LT(wrong.deadlocks, wrong.schedules);
}

TEST(SimtSchedule, ExhaustiveSearchFindsTheUnlockBeforeTheUpdate) {
  const Search right = explore("locked_increment", Plant::none, 2, false);
  EXPECT_GT(right.schedules, 3);
  EXPECT_EQ(right.wrong + right.deadlocks, 0);
  const Search wrong = explore("locked_increment", Plant::first, 2, false);
  EXPECT_GT(wrong.wrong, 0);
  if (!simt::checker_available()) return;
  const Search checked = explore("locked_increment", Plant::first, 2, true);
  EXPECT_EQ(checked.races, checked.schedules);
  EXPECT_EQ(explore("locked_increment", Plant::none, 2, true).races, 0);
}

TEST(SimtSchedule, PreemptionBoundZeroIsOneSchedulePerForcedChoice) {
  EXPECT_LT(explore("locked_increment", Plant::none, 0, false).schedules,
            explore("locked_increment", Plant::none, 1, false).schedules);
}

// Ten places where one other block could run instead: none of them, then each alone, then each
// pair, every round with the ones before.
TEST(SimtSchedule, SearchBeginsWithFewPreemptions) {
  simt::Explorer explorer(2);
  std::vector<int> preemptions;
  std::set<std::vector<std::size_t>> paths;
  do {
    std::vector<std::size_t> path;
    for (int i = 0; i < 10; ++i) path.push_back(explorer.choose(2, true));
    preemptions.push_back(static_cast<int>(std::count(path.begin(), path.end(), 1u)));
    paths.insert(path);
  } while (explorer.next());
  ASSERT_EQ(preemptions.size(), 1u + 11u + 56u);
  EXPECT_EQ(paths.size(), 56u);
  EXPECT_LE(*std::max_element(preemptions.begin(), preemptions.begin() + 12), 1);
}

TEST(SimtSchedule, SearchWithoutPreemptionsToMakeIsOneRound) {
  simt::Explorer explorer(2);
  int schedules = 0;
  do {
    explorer.choose(3, false);
    ++schedules;
  } while (explorer.next());
  EXPECT_EQ(schedules, 3);
}

TEST(SimtSchedule, BurstFindsTheAbBaDeadlock) {
  int deadlocks = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Result result = run("two_locks", Plant::first, config_of(Order::burst, false, seed));
    deadlocks += result.fault.kind == FaultKind::deadlock;
    EXPECT_FALSE(run("two_locks", Plant::none, config_of(Order::burst, false, seed)).fault);
  }
  EXPECT_GT(deadlocks, 0);
}

TEST(SimtSchedule, SameConfigurationSameSchedule) {
  for (const Order order : {Order::round_robin, Order::reverse, Order::burst}) {
    const auto once = [order](std::uint64_t seed) {
      return run("publish", Plant::none, config_of(order, false, seed)).report.switches;
    };
    EXPECT_EQ(once(3), once(3));
  }
  const auto burst = [](std::uint64_t seed) {
    return run("publish", Plant::none, config_of(Order::burst, false, seed)).report.switches;
  };
  EXPECT_NE(burst(1), burst(2));
}

TEST(SimtSchedule, SwitchAndAccessBudgets) {
  simt::Config config = config_of(Order::round_robin, true);
  config.switches_max = 100;
  EXPECT_EQ(run("buffer_reuse", Plant::none, config).fault.kind, FaultKind::budget);
  if (!simt::checker_available()) return;
  config = config_of(Order::round_robin, true);
  config.accesses_max = 100;
  const Result result = run("buffer_reuse", Plant::none, config);
  EXPECT_EQ(result.fault.kind, FaultKind::budget);
  EXPECT_NE(result.fault.text.find("simt_kernels.cpp:"), std::string::npos) << result.fault.text;
}

// A fault leaves suspended fibers behind; the next launches must not notice.
TEST(SimtSchedule, RunsGoOnAfterFaults) {
  for (int i = 0; i < 50; ++i) {
    EXPECT_TRUE(run("divergent_barrier", Plant::second, config_of(Order::burst, i % 2 == 0)).fault);
    EXPECT_FALSE(run("publish", Plant::none, config_of(Order::burst, i % 2 == 0)).fault);
  }
}

}  // namespace
}  // namespace halfulp::gpu::simt_test
