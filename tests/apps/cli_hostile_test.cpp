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
    const std::string says = text + ": expected a number from 0.001 to 1e+06";
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
  expect_usage_error("explain vector_add scalar --element ''", "--element: must not be empty");
  expect_usage_error("check ''", "filters: must not be empty");
  expect_usage_error("list ''", "filters: must not be empty");
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

TEST(CliHostile, OutputThatCannotBeWrittenIsAnError) {
  for (const char* arguments :
       {"list --fields", "list", "--version", "--help", "replay vector_add scalar n=3",
        "explain vector_add scalar n=3", "check vector_add/scalar --cases 2 --no-fixtures"}) {
    const Ran result = halfulp(std::string(arguments) + " >/dev/full");
    EXPECT_EQ(result.exit_code, 2) << arguments;
    EXPECT_TRUE(has(result.err, "halfulp: standard output: ")) << arguments << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }
}

TEST(CliHostile, ClosedStreamsDoNotReachTheWorkers) {
  EXPECT_EQ(halfulp("replay vector_add scalar n=5 <&- >&-").exit_code, 0);
  EXPECT_EQ(halfulp("replay vector_add scalar n=5 <&- >&- 2>&-").exit_code, 0);
  EXPECT_EQ(fakes("replay vector_add fake_wrong n=9 fill=ones >&-").exit_code, 1);
}

}  // namespace
