// The halfulp command that is sent signals: alone, in its group as terminals and `timeout` send
// them, and one that it cannot catch.
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "tests/apps/command.hpp"
#include "tests/apps/process.hpp"

namespace {

using namespace command_test;

std::string scratch(const std::string& name) {
  return ::testing::TempDir() + "/cli_signals_test." + std::to_string(getpid()) + "." + name;
}

// Starts a campaign of a minute, sends it a signal after half a second.
Ran interrupted(const std::string& kernel, const std::string& signal, const std::string& json) {
  return run(
      "timeout --foreground --preserve-status -s " + signal + " 0.5 " + HALFULP_FAKES_COMMAND,
      "check vector_add/" + kernel + " --backend host --time 60s --no-fixtures --json " + json);
}

TEST(CliSignals, SignalsEndACampaignWithItsReport) {
  const std::string json = scratch("stopped.json");
  const Ran stopped = interrupted("fake_right", "INT", json);
  EXPECT_EQ(stopped.exit_code, 130) << stopped.err;
  EXPECT_TRUE(has(stopped.out, "again: halfulp check")) << stopped.out;
  EXPECT_TRUE(has(stopped.out, "interrupted")) << stopped.out;
  EXPECT_TRUE(has(stopped.out, " 0 faulted")) << stopped.out;
  EXPECT_LT(stopped.seconds, 10);
  EXPECT_TRUE(has(contents(json), "\"exit_code\": 130,")) << contents(json);
  EXPECT_EQ(interrupted("fake_right", "TERM", json).exit_code, 143);
  const Ran failed = interrupted("fake_wrong", "INT", json);
  EXPECT_EQ(failed.exit_code, 1);
  EXPECT_TRUE(has(failed.out, "halfulp replay 'vector_add fake_wrong")) << failed.out;
  std::filesystem::remove(json);
}

Ran after(const std::string& seconds, const std::string& arguments) {
  return run(
      "timeout --foreground --preserve-status -s INT " + seconds + " " + HALFULP_FAKES_COMMAND,
      arguments);
}

TEST(CliSignals, SignalsEndAReplayOrAShrinkWithWhatIsKnown) {
  const std::string file = scratch("slow.cases");
  std::ofstream lines(file);
  for (int n = 8; n < 28; ++n) lines << "vector_add fake_slow n=" << n << "\n";
  lines.close();
  const Ran replayed = after("0.5", "replay " + file);
  EXPECT_EQ(replayed.exit_code, 130) << replayed.err;
  EXPECT_TRUE(has(replayed.out, "0 fail or faulted; interrupted, ")) << replayed.out;
  EXPECT_LT(replayed.seconds, 10);
  std::filesystem::remove(file);
  const Ran shrunk = after("1.5", "shrink vector_add fake_hang n=4000 --watchdog 0.5");
  EXPECT_EQ(shrunk.exit_code, 1) << shrunk.err;
  EXPECT_TRUE(has(shrunk.out, "the search was cut short")) << shrunk.out;
  EXPECT_LT(shrunk.seconds, 5);
}

// The command and its workers are one group: `timeout` made it, and sends the signal to the command
// and then to the group.
TEST(CliSignals, ToTheWholeGroupCostNeitherReportNorCases) {
  for (const std::string signal : {"INT", "TERM"}) {
    const Ran ran = run("timeout --preserve-status -s " + signal + " 0.5 " + HALFULP_FAKES_COMMAND,
                        "check vector_add/fake_right --backend host --time 60s --no-fixtures "
                        "--jobs 3");
    EXPECT_EQ(ran.exit_code, signal == "INT" ? 130 : 143) << ran.out << ran.err;
    EXPECT_TRUE(has(ran.out, "interrupted: not all cases")) << ran.out;
    EXPECT_TRUE(has(ran.out, " 0 faulted")) << ran.out;
    EXPECT_FALSE(has(ran.out, " 0 pass")) << ran.out;
    EXPECT_LT(ran.seconds, 10);
  }
}

// Nobody waits for a kernel that hangs.
TEST(CliSignals, CasesInHandAreDropped) {
  const std::string file = scratch("hangs.cases");
  std::ofstream(file) << "vector_add fake_right n=9\nvector_add fake_hang n=9\n"
                         "vector_add fake_right n=10\n";
  const Ran ran = run(std::string("timeout --preserve-status 0.5 ") + HALFULP_FAKES_COMMAND,
                      "check --from " + file + " --backend host --jobs 2");
  EXPECT_EQ(ran.exit_code, 143) << ran.out << ran.err;
  EXPECT_TRUE(has(ran.out, "2 cases (0 generated), 2 pass")) << ran.out;
  EXPECT_TRUE(has(ran.out, "interrupted")) << ran.out;
  EXPECT_LT(ran.seconds, 10);
  std::filesystem::remove(file);
}

TEST(CliSignals, WorkersEndWithAParentThatIsKilled) {
  const pid_t parent = start({HALFULP_FAKES_COMMAND, "check", "vector_add/fake_hang", "--backend",
                              "host", "--no-fixtures", "--jobs", "3"});
  EXPECT_TRUE(in_time([&] { return children_of(parent).size() == 3; }));
  const std::vector<pid_t> workers = children_of(parent);
  for (const pid_t worker : workers) {
    kill(worker, SIGTERM);
    kill(worker, SIGINT);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_EQ(children_of(parent), workers);  // who ignore what is not meant for them
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  for (const pid_t worker : workers) EXPECT_TRUE(in_time([&] { return gone(worker); })) << worker;
}

}  // namespace
