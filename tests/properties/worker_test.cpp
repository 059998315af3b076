// Worker processes: whatever a kernel does to its process costs that one case.
#include "properties/worker.hpp"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "properties/process.hpp"

namespace halfulp::properties {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

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
  // AddressSanitizer catches the signal, prints, and exits.
  expect_fault(pool, "fake_crash", gpu::FaultKind::crashed, kSanitized ? "SEGV" : "SIGSEGV");
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

// 64 million numbers take longer to make than the watchdog gives, and the kernel has not begun.
TEST(Worker, TimeThatOurOwnWorkTakesIsChargedToNoKernel) {
  WorkerPool pool({1, 0.2});
  const Judgement judgement = pool.judge(
      case_of("vector_add fake_hang backend=host fill=normal n=" + std::to_string(1 << 25)));
  EXPECT_EQ(judgement.verdict, Verdict::skipped);
  EXPECT_NE(judgement.reason.find("true answer take longer than 0.2 s"), std::string::npos)
      << judgement.reason;
  expect_alive(pool);
}

// Each call of the kernel has the watchdog's whole term, however long the rest took.
TEST(Worker, OurOwnTimeIsNotTakenFromTheKernels) {
  WorkerPool pool({1, 1.5});
  const Judgement judgement = pool.judge(
      case_of("vector_add fake_slow backend=host fill=ones law=commutes n=9"));  // 1.2 s, twice
  EXPECT_EQ(judgement.verdict, Verdict::pass) << judgement.reason;
}

TEST(Worker, MemoryThatOnlyAKernelLacksIsItsFault) {
  WorkerPool pool({1, 20});
  const std::string part = "an allocation failed";
  expect_fault(pool, "fake_greedy", gpu::FaultKind::crashed, part);
  EXPECT_EQ(pool.restarts(), 2);  // asked twice, and no worker lived on
  expect_alive(pool);
}

// What a stray write has hit besides would show in a later case, of another kernel even.
TEST(Worker, EndsAfterWhatAPlainHostShowsToBeWrong) {
  WorkerPool pool({1, 20});
  expect_fault(pool, "fake_past_end", gpu::FaultKind::out_of_bounds, "past the end of z");
  expect_alive(pool);
  EXPECT_EQ(pool.restarts(), 1);
  EXPECT_EQ(pool.judge(add("fake_wrong", 9)).verdict, Verdict::fail);
  expect_alive(pool);
  EXPECT_EQ(pool.restarts(), 2);
}

TEST(Worker, AnAccessFarOutOfBoundsIsNamed) {
  if (kSanitized) GTEST_SKIP() << "AddressSanitizer reports the access";
  WorkerPool pool({1, 20});
  expect_fault(pool, "fake_far_past", gpu::FaultKind::crashed,
               "SIGSEGV (Segmentation fault); it said: access 10000 bytes past the end of z");
  expect_alive(pool);
}

TEST(Worker, MemoryThatAnEarlierKernelTookCostsNothing) {
  WorkerPool pool({1, 20});
  EXPECT_EQ(pool.judge(add("fake_spoiling", 9)).verdict, Verdict::pass);
  EXPECT_EQ(pool.restarts(), 0);
  EXPECT_EQ(pool.judge(add("fake_spoiling", 9)).verdict, Verdict::pass);
  EXPECT_EQ(pool.restarts(), 1);
}

// Whatever the size, a machine that is short of memory blames no kernel.
TEST(Worker, TooLittleMemoryHereIsNoFault) {
  if (kSanitized) GTEST_SKIP() << "AddressSanitizer takes more address space than the limit";
  int skipped = 0;
  const auto short_of_memory = [&](int n) {
    rlimit before{};
    getrlimit(RLIMIT_AS, &before);
    const rlimit little{std::size_t{160} << 20, before.rlim_max};
    setrlimit(RLIMIT_AS, &little);
    WorkerPool pool({1, 20});
    const Judgement judgement = pool.judge(add("fake_right", n));
    setrlimit(RLIMIT_AS, &before);
    EXPECT_NE(judgement.verdict, Verdict::faulted) << n << ": " << judgement.reason;
    skipped += judgement.verdict == Verdict::skipped;
  };
  for (int n = 1 << 20; n <= 1 << 24; n += n / 2) short_of_memory(n);
  EXPECT_GT(skipped, 2);
}

TEST(Worker, TimeStoppedDoesNotCount) {
  const pid_t stopped = fork();
  if (stopped == 0) {
    setpgid(0, 0);
    WorkerPool pool({1, 2.0});
    const Judgement judgement = pool.judge(add("fake_slow", 9));  // 1.2 s
    _exit(judgement.verdict == Verdict::pass ? 0 : 1);
  }
  const auto sleep = [](int milliseconds) {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  };
  sleep(100);
  kill(-stopped, SIGSTOP);
  sleep(2500);
  kill(-stopped, SIGCONT);
  int status = -1;
  waitpid(stopped, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(Worker, AKernelThatIsKilledTwiceIsFaulted) {
  WorkerPool pool({1, 20});
  expect_fault(pool, "fake_killed", gpu::FaultKind::crashed, "SIGKILL");
  EXPECT_EQ(pool.restarts(), 2);
  expect_fault(pool, "fake_killed", gpu::FaultKind::crashed, "so it was when the case was judged");
  expect_alive(pool);
}

// By the system, where memory runs out, or by somebody.
TEST(Worker, AWorkerThatIsKilledFromOutsideCostsNoVerdict) {
  const std::string mark = ::testing::TempDir() + "/worker_test_killed." + std::to_string(getpid());
  setenv("HALFULP_FAKE_KILLED", mark.c_str(), 1);
  for (const int jobs : {1, 3}) {
    std::remove(mark.c_str());
    WorkerPool pool({.jobs = jobs});
    int n = 8;
    std::int64_t passed = 0;
    pool.run([&] { return n == 14 ? std::nullopt : std::optional(add("fake_killed", n++)); },
             [&](const Case&, const Judgement& judgement) {
               passed += judgement.verdict == Verdict::pass;
             });
    EXPECT_EQ(passed, 6) << jobs;
    EXPECT_EQ(pool.restarts(), 1) << jobs;
  }
  unsetenv("HALFULP_FAKE_KILLED");
  std::remove(mark.c_str());
}

TEST(Worker, TimesOfAnySizeAreTimes) {
  for (const double seconds : {1e300, std::numeric_limits<double>::infinity(), 1e10}) {
    WorkerPool pool({1, seconds});
    expect_alive(pool);
  }
}

TEST(Worker, IgnoresWhatKernelsPrint) {
  WorkerPool pool({1, 20});
  EXPECT_EQ(pool.judge(add("fake_chatty", 9)).verdict, Verdict::pass);
}

// Where memory files are forbidden, what kernels print is lost, and not shown.
TEST(Worker, KeepsStandardOutputFromKernelsInAnyCase) {
  const std::string file = ::testing::TempDir() + "/worker_test_stdout";
  const pid_t child = fork();
  if (child == 0) {
    sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                          BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 1),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const sock_fprog program{std::size(code), code};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) _exit(2);
    if (std::freopen(file.c_str(), "w", stdout) == nullptr) _exit(2);
    WorkerPool pool({1, 20});
    _exit(pool.judge(add("fake_chatty", 9)).verdict == Verdict::pass ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 2) GTEST_SKIP() << "no filters of system calls";
  EXPECT_EQ(status, 0);
  std::ifstream stream(file);
  EXPECT_EQ(stream.peek(), std::ifstream::traits_type::eof());
}

TEST(RunApart, TellsWhatItsProcessDid) {
  std::string error;
  const std::string long_text(1 << 20, 'x');
  EXPECT_EQ(run_apart([&] { return long_text; }, 20, error), long_text);
  EXPECT_EQ(error, "");
  const auto aborts = []() -> std::string { std::abort(); };
  EXPECT_FALSE(run_apart(aborts, 20, error));
  EXPECT_NE(error.find("SIGABRT"), std::string::npos) << error;
  const auto hangs = []() -> std::string {
    for (;;) pause();
  };
  EXPECT_FALSE(run_apart(hangs, 0.2, error));
  EXPECT_EQ(error, "not done within 0.2 s");
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

std::int64_t faults_of_lonely_calls(bool one_device) {
  WorkerPool pool({.jobs = 3, .watchdog_s = 1, .one_device = one_device});
  int n = 8;
  std::int64_t faulted = 0;
  pool.run([&] { return n == 14 ? std::nullopt : std::optional(add("fake_lonely", n++)); },
           [&](const Case&, const Judgement& judgement) {
             faulted += judgement.verdict == Verdict::faulted;
           });
  return faulted;
}

// A hang that only the company of other workers causes is no verdict.
TEST(Worker, WhatHangsOnASharedDeviceIsJudgedAgainAlone) {
  EXPECT_GT(faults_of_lonely_calls(false), 0);
  EXPECT_EQ(faults_of_lonely_calls(true), 0);
}

TEST(Worker, AHangIsOneWhetherAloneOrNot) {
  WorkerPool pool({.jobs = 2, .watchdog_s = 0.3, .one_device = true});
  int n = 8;
  std::vector<std::string> log;
  pool.run(
      [&] {
        const std::string kernel = n == 9 ? "fake_hang" : "fake_right";
        return n == 11 ? std::nullopt : std::optional(add(kernel, n++));
      },
      [&](const Case& c, const Judgement& judgement) {
        log.push_back(std::to_string(c.integer("n")) + " " + std::string(name(judgement.verdict)));
      });
  EXPECT_EQ(log, (std::vector<std::string>{"8 pass", "9 faulted", "10 pass"}));
}

TEST(Worker, HostBackendsAreAvailable) {
  const std::vector<BackendState> states = backend_states();
  ASSERT_EQ(states.size(), static_cast<std::size_t>(gpu::kBackends));
  EXPECT_EQ(states[0].backend, gpu::Backend::host);
  EXPECT_EQ(states[0].unavailable, "");
}

}  // namespace
}  // namespace halfulp::properties
