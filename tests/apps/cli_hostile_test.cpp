// The halfulp command under hostile arguments, streams and files.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/apps/command.hpp"

namespace {

using namespace command_test;

std::string scratch(const std::string& name) {
  return ::testing::TempDir() + "/cli_hostile_test." + std::to_string(getpid()) + "." + name;
}

TEST(CliHostile, TimesAndCountsAreWithinRanges) {
  for (const char* value : {"nan", "inf", "1e10", "1e300", "0", "-1", "1x"}) {
    const std::string text(value);
    const std::string says = text + ": expected a number from 0.001 to 1000000";
    expect_usage_error("check --watchdog " + text, says);
    expect_usage_error("replay vector_add scalar --watchdog " + text, says);
    expect_usage_error("shrink vector_add scalar --seconds " + text, says);
    expect_usage_error("bench host --seconds " + text, says);
  }
  expect_usage_error("shrink vector_add scalar --cases 0",
                     "expected an integer from 1 to 1000000000");
  expect_usage_error("check --jobs 0x10", "expected an integer from 1 to 1024");
  expect_usage_error("check --cases 99999999999999999999", "expected an integer from 0 to");
}

TEST(CliHostile, LeadingZerosAreDecimal) {
  const Ran result = fakes("check vector_add/fake_right --backend host --cases 010 --no-fixtures");
  EXPECT_TRUE(has(result.out, "(10 generated)")) << result.out;
}

TEST(CliHostile, EmptyValuesAreErrors) {
  for (const char* option : {"--from", "--time", "--seed", "--json", "--junit"}) {
    expect_usage_error(std::string("check ") + option + " ''", std::string(option) + ": must not");
  }
  expect_usage_error("check --json= vector_add", "--json: must not be empty");
  expect_usage_error("check vector_add --seed=", "--seed: must not be empty");
  expect_usage_error("explain vector_add scalar --element ''", "--element: must not be empty");
  expect_usage_error("check ''", "filters: must not be empty");
  expect_usage_error("list ''", "filters: must not be empty");
}

TEST(CliHostile, FlagsTakeNoValues) {
  for (const char* command :
       {"check --no-shrink", "check --no-fixtures", "list --fields", "calibrate --quick"}) {
    for (const char* value : {"=3", "=-1", "=false", "=x"}) {
      const std::string flag(std::string(command).substr(std::string(command).find("--")));
      expect_usage_error(std::string(command) + value, flag + ": takes no value");
    }
  }
}

TEST(CliHostile, GlobsInBracketsStayWhole) {
  const Ran result =
      fakes("check '[v]ector_add/fake_righ[t]' --backend host --cases 3 --no-fixtures");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(has(result.out, "(3 generated)")) << result.out;
  for (const char* nothing : {"[]", "{}", "%%"}) {
    expect_usage_error("check '" + std::string(nothing) + "'", nothing);
    expect_usage_error("list '" + std::string(nothing) + "'", nothing);
  }
}

TEST(CliHostile, BackendTakesOneWordAndEachBackendOnce) {
  const Ran result = fakes(
      "check --backend host,host --backend host vector_add/fake_right --cases 4 --no-fixtures");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(has(result.out, "(4 generated)")) << result.out;
  EXPECT_TRUE(has(result.out, "vector_add/fake_right --backend host --")) << result.out;
}

TEST(CliHostile, FilesAndCaseLinesAreToldApart) {
  const std::string folder = scratch("sp ace");
  std::filesystem::create_directory(folder);
  const std::string file = folder + "/x.cases";
  std::ofstream(file) << "vector_add fake_right n=3\n";
  EXPECT_EQ(fakes("replay '" + file + "'").exit_code, 0);
  expect_usage_error("explain '" + file + "'", "only `halfulp replay` takes files");
  expect_usage_error("shrink ./no_such_file", "only `halfulp replay` takes files");
  std::filesystem::remove_all(folder);
}

TEST(CliHostile, NamesThatNoFileSystemTakesAreErrors) {
  EXPECT_EQ(halfulp("replay " + std::string(5000, 'a')).exit_code, 2);
  const std::string loop = scratch("loop");
  std::filesystem::create_symlink(loop, loop);
  EXPECT_EQ(halfulp("replay " + loop).exit_code, 2);
  std::filesystem::remove(loop);
}

TEST(CliHostile, NamesOfFilesDoNotReachTheTerminalRaw) {
  const std::string name = "'/no/\x1b[31m\n.cases'";
  for (const char* command : {"check --from ", "replay ", "check --json "}) {
    expect_usage_error(command + name, "/no/\\x1b[31m\\x0a.cases");
  }
}

TEST(CliHostile, BytesOfFilesDoNotReachTheTerminalRaw) {
  const std::string file = scratch("bytes.cases");
  for (const char* line :
       {"\x9bm\xff x", "vector_add \x9bm\xff", "vector_add scalar \x9bm\xff=1",
        "vector_add scalar layout=\x9bm\xff", "vector_add scalar n=\x9bm\xff",
        "graph_attention fused_csc graph=\x9bm\xff", "flash_attention naive mask=\x9bm\xff"}) {
    std::ofstream(file) << line << "\n";
    for (const char* command : {"check --from ", "replay "}) {
      expect_usage_error(command + file, "\\x9bm\\xff");
    }
  }
  std::filesystem::remove(file);
}

// In a fresh process: the free memory of a used one would do for the case, as what malloc keeps for
// threads would for a smaller one.
TEST(CliHostile, AKernelThatTakesMemoryAwayIsFaulted) {
  const Ran result = fakes("replay vector_add fake_starving n=10000000");
  EXPECT_EQ(result.exit_code, 1) << result.out << result.err;
  EXPECT_TRUE(has(result.out, "faulted: crashed: an allocation failed")) << result.out;
}

TEST(CliHostile, AnExhaustiveSearchEndsWithinTheWatchdog) {
  const Ran result = halfulp(
      "replay scatter_normalize atomic_coo backend=host nodes=40 heads=4 dim=64 graph=random:600 "
      "order=exhaustive --watchdog 2");
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_TRUE(has(result.out, "not every schedule: the search ended after ")) << result.out;
}

TEST(CliHostile, ExplainEndsInTime) {
  const std::string large = "explain vector_add scalar n=1000000 fill=normal";
  expect_usage_error(large + " --watchdog 0.01", "not done within 0.01 s");
  EXPECT_EQ(halfulp(large).exit_code, 0);
  expect_usage_error("explain vector_add scalar --watchdog 0", "expected a number from");
}

// What the machine lacks is not the kernel's fault.
TEST(CliHostile, TooLittleMemoryOrTooFewFilesAreSaid) {
  const std::string command = std::string("ulimit -v 300000; ") + HALFULP_FAKES_COMMAND;
  const Ran large = run(command, "replay 'vector_add fake_right n=100000000'");
  EXPECT_EQ(large.exit_code, 3) << large.out << large.err;
  EXPECT_TRUE(has(large.out, "not enough memory")) << large.out << large.err;
  const Ran stacks = run(std::string("ulimit -v 150000; ") + HALFULP_COMMAND,
                         "replay scatter_normalize gather_csc nodes=64 heads=1 dim=512 resident=64 "
                         "graph=random:3000 order=burst backend=host");
  EXPECT_EQ(stacks.exit_code, 3) << stacks.out << stacks.err;
  EXPECT_TRUE(has(stacks.out, "skipped: not enough memory")) << stacks.out;
  const std::string few = std::string("ulimit -n 40; ") + HALFULP_FAKES_COMMAND;
  const Ran jobs = run(few, "check vector_add/fake_right --cases 900 --no-fixtures --jobs 200");
  EXPECT_EQ(jobs.exit_code, 2) << jobs.out << jobs.err;
  EXPECT_TRUE(has(jobs.err, "--jobs")) << jobs.err;
}

}  // namespace
