// Worker processes: whatever a kernel does to its process costs that one case.
#include "properties/worker.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace halfulp::properties {
namespace {

Case case_of(const std::string& line) {
  Parsed parsed = parse(line);
  EXPECT_FALSE(parsed.error) << parsed.error.what;
  return parsed.value;
}

Case add(const std::string& kernel, int n) {
  return case_of("vector_add " + kernel + " backend=host fill=ones n=" + std::to_string(n));
}

void expect_alive(WorkerPool& pool) {
  const Judgement judgement = pool.judge(add("fake_right", 9));
  EXPECT_EQ(judgement.verdict, Verdict::pass) << judgement.reason;
  EXPECT_EQ(judgement.elements, 9);
}

void expect_fault(WorkerPool& pool, const std::string& kernel, gpu::FaultKind kind,
                  const std::string& part) {
  const Judgement judgement = pool.judge(add(kernel, 9));
  EXPECT_EQ(judgement.verdict, Verdict::faulted);
  EXPECT_EQ(judgement.fault.kind, kind);
  EXPECT_NE(judgement.reason.find(part), std::string::npos) << judgement.reason;
}

TEST(Worker, SurvivesACrash) {
  WorkerPool pool({1, 20});
  expect_fault(pool, "fake_crash", gpu::FaultKind::crashed, "SIGSEGV");
  expect_alive(pool);
  EXPECT_EQ(pool.restarts(), 1);
}

TEST(Worker, SurvivesAnAbortAndQuotesIt) {
  WorkerPool pool({1, 20});
  expect_fault(pool, "fake_abort", gpu::FaultKind::crashed, "SIGABRT");
  expect_fault(pool, "fake_abort", gpu::FaultKind::crashed, "the sky is falling");
  expect_alive(pool);
}

TEST(Worker, SurvivesAnExit) {
  WorkerPool pool({1, 20});
  expect_fault(pool, "fake_quit", gpu::FaultKind::crashed, "exited with 3");
  expect_alive(pool);
}

TEST(Worker, SurvivesAHang) {
  WorkerPool pool({1, 0.3});
  expect_fault(pool, "fake_hang", gpu::FaultKind::timed_out, "no verdict within 0.3 s");
  expect_alive(pool);
}

TEST(Worker, IgnoresWhatKernelsPrint) {
  WorkerPool pool({1, 20});
  EXPECT_EQ(pool.judge(add("fake_chatty", 9)).verdict, Verdict::pass);
}

TEST(Worker, ReportsRefusedArguments) {
  WorkerPool pool({1, 20});
  expect_fault(pool, "fake_refusing", gpu::FaultKind::refused, "not today");
}

std::vector<std::string> verdicts(int jobs) {
  WorkerPool pool({jobs, 0.5});
  const std::vector<std::string> kernels{"fake_right", "fake_wrong", "fake_crash", "fake_quit"};
  int number = 0;
  std::vector<std::string> log;
  const auto next = [&]() -> std::optional<Case> {
    if (number == 60) return std::nullopt;
    const int n = number++;
    return add(kernels[static_cast<std::size_t>(n) % kernels.size()], n / 4);
  };
  const auto done = [&](const Case& c, const Judgement& judgement) {
    log.push_back(print(c) + ": " + std::string(name(judgement.verdict)));
  };
  pool.run(next, done);
  return log;
}

TEST(Worker, OrderAndVerdictsDoNotDependOnJobs) {
  const std::vector<std::string> one = verdicts(1);
  ASSERT_EQ(one.size(), 60u);
  EXPECT_EQ(one, verdicts(2));
  EXPECT_EQ(one, verdicts(5));
}

TEST(Worker, HostBackendsAreAvailable) {
  const std::vector<BackendState> states = backend_states();
  ASSERT_EQ(states.size(), static_cast<std::size_t>(gpu::kBackends));
  EXPECT_EQ(states[0].backend, gpu::Backend::host);
  EXPECT_EQ(states[0].unavailable, "");
}

}  // namespace
}  // namespace halfulp::properties
