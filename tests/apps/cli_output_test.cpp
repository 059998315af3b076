// The halfulp command whose output goes nowhere: standard streams that are closed, full or without
// a reader, and files that cannot be written.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <vector>

#include "tests/apps/command.hpp"
#include "tests/apps/process.hpp"

namespace {

using namespace command_test;
using Words = std::vector<std::string>;

std::string scratch(const std::string& name) {
  return ::testing::TempDir() + "/cli_output_test." + std::to_string(getpid()) + "." + name;
}

// One of each subcommand, at most a second long.
const std::vector<Words> kCommands = {
    {HALFULP_COMMAND},
    {HALFULP_COMMAND, "--help"},
    {HALFULP_COMMAND, "--version"},
    {HALFULP_COMMAND, "check", "--help"},
    {HALFULP_COMMAND, "check", "vector_add/scalar", "--cases", "2", "--no-fixtures"},
    {HALFULP_COMMAND, "replay", "vector_add scalar n=3"},
    {HALFULP_COMMAND, "shrink", "vector_add scalar n=3"},
    {HALFULP_FAKES_COMMAND, "replay", "vector_add fake_wrong n=9"},
    {HALFULP_COMMAND, "explain", "vector_add scalar n=3"},
    {HALFULP_COMMAND, "list"},
    {HALFULP_COMMAND, "bench", "host", "--seconds", "0.1"},
    {HALFULP_COMMAND, "calibrate", "--quick", "--backend", "host"},
};

std::string text_of(const Words& words) {
  std::string text;
  for (const std::string& word : words) text += "'" + word + "' ";
  return text;
}

void expect_lost(const Ran& ran, const std::string& why, const std::string& command) {
  EXPECT_EQ(ran.exit_code, 2) << command;
  EXPECT_EQ(ran.err, "halfulp: standard output: " + why + "\n") << command;
}

TEST(CliOutput, AFullDeviceIsAnError) {
  for (const Words& words : kCommands) {
    expect_lost(run(text_of(words), ">/dev/full"), "No space left on device", text_of(words));
  }
}

TEST(CliOutput, AClosedStreamIsAnErrorBeforeAnythingIsRun) {
  for (const Words& words : kCommands) {
    const Ran ran = run(text_of(words), ">&-");
    expect_lost(ran, "is closed; >/dev/null throws it away", text_of(words));
    EXPECT_LT(ran.seconds, 2) << text_of(words);
  }
  EXPECT_EQ(fakes("replay vector_add fake_hang n=9 >&- 2>&- <&-").exit_code, 2);
}

TEST(CliOutput, ALimitOnTheSizeOfFilesIsAnError) {
  const std::string file = scratch("limited");
  for (const Words& words : kCommands) {
    const Ran ran = run("ulimit -f 0; " + text_of(words), ">" + file);
    EXPECT_EQ(ran.exit_code, 2) << text_of(words);
  }
  const Ran ran = run("(ulimit -f 0; " + text_of(kCommands.back()) + " >" + file + ") 2>&1 #", "");
  EXPECT_EQ(ran.out, "halfulp: standard output: File too large\n");
  std::filesystem::remove(file);
}

struct Ended {
  int status = 0;
  std::string err;
};

// Into a pipe that nobody reads any more.
Ended into_nobody(const Words& words, bool broken_pipe_ends) {
  std::array<int, 2> pipe_ends{};
  EXPECT_EQ(pipe(pipe_ends.data()), 0);
  close(pipe_ends[0]);
  const std::string errors = scratch("errors");
  const int err = open(errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const pid_t command = start(words, {pipe_ends[1], err, broken_pipe_ends});
  close(pipe_ends[1]);
  close(err);
  Ended ended;
  waitpid(command, &ended.status, 0);
  ended.err = contents(errors);
  std::filesystem::remove(errors);
  return ended;
}

TEST(CliOutput, AReaderThatHasGoneEndsTheCommandQuietly) {
  for (const Words& words : kCommands) {
    const Ended ended = into_nobody(words, true);
    EXPECT_TRUE(WIFSIGNALED(ended.status) && WTERMSIG(ended.status) == SIGPIPE) << text_of(words);
    EXPECT_EQ(ended.err, "") << text_of(words);
  }
}

TEST(CliOutput, AReaderThatHasGoneIsAnErrorWhereItsSignalIsIgnored) {
  for (const Words& words : kCommands) {
    const Ended ended = into_nobody(words, false);
    EXPECT_TRUE(WIFEXITED(ended.status)) << text_of(words);
    EXPECT_EQ(WEXITSTATUS(ended.status), 2) << text_of(words);
    EXPECT_EQ(ended.err, "halfulp: standard output: Broken pipe\n") << text_of(words);
  }
}

// A reader that leaves after the first line, as `head -1` does, while cases are judged.
TEST(CliOutput, WorkersEndWhenTheReaderLeaves) {
  const std::string file = scratch("slow.cases");
  std::ofstream lines(file);
  lines << "vector_add fake_right n=9\n";
  for (int n = 8; n < 60; ++n) lines << "vector_add fake_slow n=" << n << "\n";
  lines.close();
  for (const bool broken_pipe_ends : {true, false}) {
    std::array<int, 2> pipe_ends{};
    ASSERT_EQ(pipe(pipe_ends.data()), 0);
    const pid_t command =
        start({HALFULP_FAKES_COMMAND, "replay", file}, {pipe_ends[1], -1, broken_pipe_ends});
    close(pipe_ends[1]);
    char first = 0;
    EXPECT_EQ(read(pipe_ends[0], &first, 1), 1);
    const std::vector<pid_t> workers = children_of(command);
    EXPECT_EQ(workers.size(), 1u);
    close(pipe_ends[0]);
    EXPECT_TRUE(in_time([&] { return gone(command); }));  // long before its last case
    kill(command, SIGKILL);
    int status = 0;
    waitpid(command, &status, 0);
    EXPECT_TRUE(broken_pipe_ends ? WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE
                                 : WIFEXITED(status) && WEXITSTATUS(status) == 2);
    for (const pid_t worker : workers) EXPECT_TRUE(in_time([&] { return gone(worker); }));
  }
  std::filesystem::remove(file);
}

// A campaign that nobody could read ends before it begins, one that owes a file does not.
TEST(CliOutput, CampaignsGoOnForTheirFiles) {
  const std::string campaign = "check vector_add/fake_slow --no-fixtures --jobs 1 --cases ";
  const Ran unread = fakes(campaign + "500 >/dev/full");
  expect_lost(unread, "No space left on device", campaign);
  EXPECT_LT(unread.seconds, 10);
  const std::string file = scratch("kept.json");
  expect_lost(fakes(campaign + "1 --json " + file + " >/dev/full"), "No space left on device",
              campaign);
  EXPECT_EQ(contents(file).find("{\n"), 0u);
  std::filesystem::remove(file);
  const Ran measured = halfulp("calibrate --quick --backend host --json " + file + " >/dev/full");
  expect_lost(measured, "No space left on device", "calibrate");
  EXPECT_EQ(contents(file).find("{\n"), 0u);
  std::filesystem::remove(file);
}

TEST(CliOutput, ClosedStreamsDoNotReachWorkersOrFiles) {
  const Ran ran = halfulp("replay vector_add scalar n=5 <&- 2>&-");
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_TRUE(has(ran.out, "\n  pass\n")) << ran.out;
  EXPECT_EQ(fakes("replay vector_add fake_wrong n=9 fill=ones <&- 2>&-").exit_code, 1);
  // What is said in the end would come after the text of the file, were that opened as stderr.
  const std::string file = scratch("closed.json"), cases = scratch("closed.cases");
  std::ofstream(cases) << "vector_add fake_abort n=9\n";
  const Ran files = fakes("check --from " + cases + " --no-shrink --json " + file +
                          " --junit /dev/full <&- 2>&-");
  EXPECT_EQ(files.exit_code, 2);
  const std::string json = contents(file);
  EXPECT_EQ(json.find("{\n"), 0u);
  EXPECT_EQ(json.substr(std::max<std::size_t>(json.size(), 3) - 3), "\n}\n");
  std::filesystem::remove(file);
  std::filesystem::remove(cases);
}

TEST(CliOutput, FilesThatStreamsGoToAreRefused) {
  const std::string file = scratch("stream");
  const std::string campaign = "check vector_add/fake_right --cases 1 --no-fixtures --json ";
  const auto said = [&](const std::string& rest) {
    std::ofstream(file) << "";
    const Ran ran = fakes(campaign + rest);
    EXPECT_EQ(ran.exit_code, 2) << rest;
    return ran.err + contents(file);
  };
  EXPECT_TRUE(has(said(file + " >" + file), ": is standard output too\n"));
  EXPECT_TRUE(has(said("/dev/stdout >>" + file), ": is standard output too\n"));
  EXPECT_TRUE(has(said(file + " 2>" + file), ": is standard error too\n"));
  EXPECT_TRUE(has(said("/dev/stderr 2>" + file), ": is standard error too\n"));
  EXPECT_EQ(fakes(campaign + "/dev/stderr 2>&-").exit_code, 2);
  EXPECT_TRUE(has(said("/dev/fd/7 7</dev/null"), "open for reading only\n"));
  EXPECT_EQ(fakes(campaign + "/dev/fd/7 7>" + file).exit_code, 0);
  EXPECT_EQ(contents(file).find("{\n"), 0u);
  std::filesystem::remove(file);
}

// What can be known of a file is said before a case is judged, and it is not there afterwards.
TEST(CliOutput, FilesThatCannotBeMadeAreRefusedAtOnce) {
  const std::string folder = scratch("made");
  std::filesystem::create_directory(folder);
  std::ofstream(folder + "/file") << "kept";
  std::filesystem::create_symlink("no/such", folder + "/astray");
  std::filesystem::create_symlink("loop", folder + "/loop");
  for (const std::string& name :
       {std::string("/file/x"), std::string("/no/x"), std::string("/astray"), std::string("/loop"),
        "/" + std::string(300, 'x')}) {
    expect_usage_error("check --json " + folder + name, "halfulp: --json " + folder);
    expect_usage_error("check --junit " + folder + name, "halfulp: --junit " + folder);
  }
  expect_usage_error("check --json /proc/none.json", "--json /proc/none.json");
  expect_usage_error("check no_such_kernel --json " + folder + "/new", "no_such_kernel");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 3);
  EXPECT_EQ(contents(folder + "/file"), "kept");
  std::filesystem::remove_all(folder);
}

TEST(CliOutput, LongNamesAndLinksAreFiles) {
  const std::string folder = scratch("names");
  std::filesystem::create_directory(folder);
  std::filesystem::create_symlink("new", folder + "/link");
  for (const std::string& name : {"/" + std::string(255, 'x'), std::string("/link")}) {
    const std::string file = folder + name;
    const std::string campaign = "check vector_add/fake_right --cases 1 --no-fixtures --json ";
    EXPECT_EQ(fakes(campaign + file).exit_code, 0) << name;
    EXPECT_EQ(contents(file).find("{\n"), 0u) << name;
  }
  EXPECT_TRUE(std::filesystem::is_symlink(folder + "/link"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 3);
  std::filesystem::remove_all(folder);
}

// Not a wait for a reader, and neither the report nor the other file is lost with the first.
TEST(CliOutput, AFileWithoutReaderCostsNothingElse) {
  const std::string pipe = scratch("pipe"), junit = scratch("kept.xml");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const Ran ran = run(
      "exec 8<>" + pipe + " 7>" + pipe + " 8<&-; timeout 20 " + std::string(HALFULP_FAKES_COMMAND),
      "check vector_add/fake_right --cases 1 --no-fixtures --json /dev/fd/7 "
      "--junit " +
          junit);
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_TRUE(has(ran.err, "halfulp: --json /dev/fd/7: Broken pipe\n")) << ran.err;
  EXPECT_TRUE(has(ran.out, "1 pass")) << ran.out;
  EXPECT_EQ(contents(junit).find("<?xml"), 0u);
  std::filesystem::remove(pipe);
  std::filesystem::remove(junit);
}

TEST(CliOutput, AnErrorThatNobodyReadsHasItsExitCode) {
  std::array<int, 2> pipe_ends{};
  ASSERT_EQ(pipe(pipe_ends.data()), 0);
  close(pipe_ends[0]);
  const pid_t command = start({HALFULP_COMMAND, "no_such_command"}, {-1, pipe_ends[1], true});
  close(pipe_ends[1]);
  int status = 0;
  waitpid(command, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 2);
}

TEST(CliOutput, OutputFilesAreDistinct) {
  const std::string folder = scratch("files");
  std::filesystem::create_directory(folder);
  const std::string cases = folder + "/c.cases";
  std::ofstream(cases) << "vector_add fake_right n=3\n";
  const std::string same = folder + "/./out";
  expect_usage_error("check --json " + folder + "/out --junit " + same, "the file of --junit too");
  expect_usage_error("check --from " + cases + " --json " + folder + "/./c.cases", "of --from too");
  expect_usage_error("check --from " + cases + " --junit " + cases, "of --from too");
  EXPECT_EQ(contents(cases), "vector_add fake_right n=3\n");
  EXPECT_EQ(fakes("check --from " + cases + " --json /dev/null --junit /dev/null").exit_code, 0);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  std::filesystem::remove_all(folder);
}

TEST(CliOutput, OutputFilesAppearWholeOrNotAtAll) {
  const std::string folder = scratch("whole");
  std::filesystem::create_directory(folder);
  const std::string file = folder + "/out.json";
  expect_usage_error("check no_such_kernel --json " + file, "no_such_kernel");
  expect_usage_error("check --json " + folder, "is a folder");
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  std::ofstream(folder + "/old.json") << "old";
  std::filesystem::create_symlink("old.json", file);
  EXPECT_EQ(fakes("check vector_add/fake_right --cases 1 --no-fixtures --json " + file).exit_code,
            0);
  EXPECT_TRUE(std::filesystem::is_symlink(file));
  EXPECT_EQ(contents(folder + "/old.json").find("{\n"), 0u);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 2);
  const Ran full = fakes("check vector_add/fake_right --cases 1 --no-fixtures --json /dev/full");
  EXPECT_EQ(full.exit_code, 2);
  EXPECT_TRUE(has(full.err, "--json /dev/full: No space left")) << full.err;
  EXPECT_TRUE(has(full.out, "1 pass")) << full.out;  // the report is not lost with the file
  const Ran deaf = fakes("check vector_add/fake_right --cases 1 --no-fixtures --json " + folder +
                         "/kept.json >/dev/full");
  EXPECT_EQ(deaf.exit_code, 2);
  EXPECT_EQ(contents(folder + "/kept.json").find("{\n"), 0u);
  std::filesystem::remove_all(folder);
}

}  // namespace
