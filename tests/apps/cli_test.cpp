// The halfulp command as its users meet it: a process with arguments, an exit code and two streams.
#include <gtest/gtest.h>

#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/apps/command.hpp"

namespace {

using namespace command_test;

TEST(Cli, HelpIsShownWithoutArguments) {
  const Ran alone = halfulp("");
  EXPECT_EQ(alone.exit_code, 0);
  EXPECT_TRUE(has(alone.out, "check"));
  EXPECT_TRUE(has(alone.out, "Exit codes"));
  const Ran check = halfulp("check --help");
  EXPECT_EQ(check.exit_code, 0);
  EXPECT_TRUE(has(check.out, "--seed"));
  EXPECT_EQ(halfulp("--version").exit_code, 0);
}

TEST(Cli, ListNamesKernelsAndBackends) {
  const Ran result = halfulp("list");
  EXPECT_EQ(result.exit_code, 0);
  for (const char* name : {"vector_add", "scalar", "host-checked", "acc=f32"}) {
    EXPECT_TRUE(has(result.out, name)) << name;
  }
  EXPECT_FALSE(has(halfulp("list vector_add/scalar").out, "vec4"));
  EXPECT_TRUE(has(halfulp("list --fields vector_add").out, "layout"));
}

TEST(Cli, BadInputIsOneLineThatNamesIt) {
  expect_usage_error("replay 'no_such_operation x'", "no_such_operation");
  expect_usage_error("replay vector_add no_such_kernel", "no_such_kernel");
  expect_usage_error("replay vector_add scalar n=1e12", "n=1e12");
  expect_usage_error("replay vector_add scalar n=1000000000000", "n=1000000000000");
  expect_usage_error("replay 'vector_add scalar n=3 nodes=4'", "nodes");
  expect_usage_error("replay 'vector_add scalar n=3 fill=nonsense'", "fill=nonsense");
  expect_usage_error("replay 'vector_add scalar layout=gap:x'", "layout");
  expect_usage_error("replay /no/such/file.cases", "/no/such/file.cases");
  expect_usage_error("explain vector_add scalar n=3 --element 0:3", "0:3");
  expect_usage_error("explain vector_add scalar n=3 --element zero", "zero");
  expect_usage_error("explain vector_add scalar n=3 --element 'z[3]'", "z[0] to z[2]");
  expect_usage_error("explain matmul tile m=2 n=2 k=1 --element 'c[1]'", "c[1]");
  expect_usage_error("explain matmul tile m=2 n=2 k=1 --element 'c[1,2]'", "c[1,2]");
  expect_usage_error("explain vector_add scalar n=0 --element 'z[0]'", "it has none");
  expect_usage_error("check --from /dev/null", "/dev/null: holds no case line");
  expect_usage_error("replay /dev/null", "/dev/null: holds no case line");
  expect_usage_error("check no_such_kernel", "no_such_kernel");
  expect_usage_error("check --time soon", "--time soon");
  expect_usage_error("check --seed 0xzz", "--seed 0xzz");
  expect_usage_error("check --cases -1", "--cases");
  expect_usage_error("check --cases 1 --time 1s", "--time");
  expect_usage_error("check --backend abacus", "abacus");
  expect_usage_error("check --json /no/such/folder/out.json", "/no/such/folder/out.json");
  expect_usage_error("check --junit /no/such/folder/out.xml", "/no/such/folder/out.xml");
  expect_usage_error("check --from /no/such/file.cases", "/no/such/file.cases");
  expect_usage_error("no_such_command", "no_such_command");
}

TEST(Cli, ReplayPassesOrFailsAgain) {
  const Ran passed = halfulp("replay 'vector_add scalar backend=host n=5 fill=ones'");
  EXPECT_EQ(passed.exit_code, 0) << passed.out << passed.err;
  const Ran words = halfulp("replay vector_add scalar backend=host n=5 fill=ones");
  EXPECT_EQ(words.out, passed.out);
  const Ran failed = fakes("replay vector_add fake_wrong n=9 fill=ones");
  EXPECT_EQ(failed.exit_code, 1);
  EXPECT_EQ(failed.out.find("halfulp replay 'vector_add fake_wrong backend=host"), 0u);
  for (const char* part : {"z[5]", "0x40400000", "truth 2", "error/bound inf"}) {
    EXPECT_TRUE(has(failed.out, part)) << part << " in " << failed.out;
  }
  const Ran crashed = fakes("replay vector_add fake_crash n=9 fill=ones");
  EXPECT_EQ(crashed.exit_code, 1);
  EXPECT_TRUE(has(crashed.out, "SIGSEGV"));
  const Ran skipped = fakes("replay vector_add fake_right backend=host-checked n=9 fill=ones");
  EXPECT_EQ(skipped.exit_code, 3);
}

TEST(Cli, ReplayTakesALineAsReportsPrintIt) {
  const Ran first = fakes("replay vector_add fake_wrong n=9 fill=ones");
  const std::string line = first.out.substr(0, first.out.find('\n'));
  EXPECT_EQ(fakes("replay \"" + line + "\"").out, first.out);
}

TEST(Cli, ReplayTakesAFileOfCases) {
  const std::string file = ::testing::TempDir() + "/cli_test.cases";
  std::ofstream(file) << "# two cases\nvector_add fake_right n=3\nvector_add fake_wrong n=9\n";
  const Ran result = fakes("replay " + file);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(has(result.out, "2 cases, 1 pass, 1 fail or faulted"));
}

TEST(Cli, ShrinkFindsTheSmallestCase) {
  const Ran result = fakes("shrink vector_add fake_wrong n=77 fill=normal layout=mixed seed=5");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(has(result.out, "fake_wrong backend=host in=f32 n=6 fill=ones seed=0x1"))
      << result.out;
}

TEST(Cli, ExplainShowsInputsAnswerAndBound) {
  const Ran result = halfulp("explain vector_add scalar n=3 fill=normal");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const char* part : {"inputs", "answer", "truth", "bound", "accepted"}) {
    EXPECT_TRUE(has(result.out, part)) << part;
  }
}

TEST(Cli, ExplainsTheElementAskedFor) {
  const Ran result = halfulp("explain vector_add scalar n=3 fill=normal --element 0:1");
  const std::size_t listed = result.out.find("    [1]  ");
  ASSERT_NE(listed, std::string::npos) << result.out;
  const std::size_t at = result.out.find("bound ", listed) + 6;
  const std::string bound = result.out.substr(at, result.out.find('\n', at) - at);
  const std::size_t explained = result.out.find("z[1]\n");
  ASSERT_NE(explained, std::string::npos) << result.out;
  EXPECT_TRUE(has(result.out.substr(explained), "bound     " + bound.substr(0, 3))) << result.out;
}

TEST(Cli, ExplainsAnElementByTheNameThatReportsGiveIt) {
  const std::string line = "explain matmul tile m=3 n=4 k=5 fill=normal --element ";
  const Ran named = halfulp(line + "'c[1,2]'");
  EXPECT_EQ(named.exit_code, 0) << named.err;
  EXPECT_TRUE(has(named.out, "\nc[1,2]\n")) << named.out;
  EXPECT_TRUE(has(named.out, "statistical bound")) << named.out;
  EXPECT_EQ(named.out, halfulp(line + "0:6").out);
  EXPECT_NE(named.out, halfulp(line + "0:7").out);
}

TEST(Cli, IntegersArePrintedInFull) {
  EXPECT_TRUE(has(halfulp("list --fields matmul").out, "0 to 16777216"));
  EXPECT_TRUE(has(halfulp("check --help").out, "1000000"));
  EXPECT_FALSE(has(halfulp("check --help").out, "e+"));
}

TEST(Cli, AnEmptyProblemHasNoPower) {
  const Ran ran = halfulp("replay matmul tile m=0 n=3 k=2");
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_TRUE(has(ran.out, "powerless: no output elements")) << ran.out;
}

TEST(Cli, CheckExitsByVerdicts) {
  const Ran good = fakes("check vector_add/fake_right --backend host --cases 20 --no-fixtures");
  EXPECT_EQ(good.exit_code, 0) << good.out << good.err;
  EXPECT_TRUE(has(good.out, "seed 0x1: 20 cases"));
  const Ran bad = fakes("check vector_add/fake_wrong --backend host --cases 20 --no-fixtures");
  EXPECT_EQ(bad.exit_code, 1);
  EXPECT_EQ(fakes("check vector_add/fake_right --cases 0 --no-fixtures").exit_code, 3);
  EXPECT_EQ(
      fakes("check vector_add/fake_right --backend host-checked --cases 5 --no-fixtures").exit_code,
      3);
}

TEST(Cli, CheckRepeatsFromItsOwnSummary) {
  const Ran first =
      fakes("check 'vector_add/fake_*ht' --backend host --time 300ms --no-fixtures --seed 9");
  const std::size_t at = first.out.find("again: halfulp ");
  ASSERT_NE(at, std::string::npos) << first.out;
  std::string again = first.out.substr(at + 15);
  again = again.substr(0, again.find('\n'));
  const Ran second = fakes(again + " --no-fixtures");
  const auto counts = [](const std::string& text) {
    return text.substr(0, text.find("worst error/bound", text.find("seed 0x9")));
  };
  EXPECT_EQ(counts(first.out), counts(second.out));
}

// Every ninth call in a process: no case fails when it is replayed.
TEST(Cli, AFaultThatNeedsEarlierCasesComesWithTheCommandThatShowsIt) {
  for (const char* more : {"", " --no-shrink"}) {
    const Ran first =
        fakes("check vector_add/fake_ninth --backend host --no-fixtures --cases 60 --jobs 1" +
              std::string(more));
    EXPECT_EQ(first.exit_code, 1);
    EXPECT_TRUE(has(first.out, "this line passes alone")) << first.out;
    const std::size_t at = first.out.find("  again: halfulp ");
    ASSERT_NE(at, std::string::npos) << first.out;
    const std::string again = first.out.substr(at + 17, first.out.find('\n', at) - at - 17);
    EXPECT_TRUE(has(again, "--jobs 1")) << again;
    EXPECT_EQ(fakes(again + more).out.substr(0, at), first.out.substr(0, at));
  }
}

// As long as it takes under the watchdog of the run, and under the default one it passes.
TEST(Cli, LinesOfCasesThatTimedOutHaveTheirWatchdog) {
  const Ran found = fakes(
      "check vector_add/fake_slow --backend host --no-fixtures --cases 9 --watchdog 0.3 --jobs 1");
  EXPECT_EQ(found.exit_code, 1);
  EXPECT_TRUE(has(found.out, "' --watchdog 0.3\n")) << found.out;
  EXPECT_TRUE(has(found.out, "--cases 9 --no-fixtures --watchdog 0.3\n")) << found.out;
  const std::string line = found.out.substr(found.out.find("halfulp replay") + 8);
  const Ran replayed = fakes(line.substr(0, line.find('\n')));
  EXPECT_EQ(replayed.exit_code, 1);
  EXPECT_TRUE(has(replayed.out, "' --watchdog 0.3\n")) << replayed.out;
}

TEST(Cli, CheckWritesJsonAndJunit) {
  const std::string base = ::testing::TempDir() + "/cli_test_out";
  const Ran result =
      fakes("check 'vector_add/fake_[rw]*' --backend host --cases 40 --no-fixtures --json " + base +
            ".json --junit " + base + ".xml");
  EXPECT_EQ(result.exit_code, 1);
  const auto json = nlohmann::json::parse(contents(base + ".json"));
  EXPECT_EQ(json.at("exit_code"), 1);
  EXPECT_FALSE(json.at("failures").empty());
  boost::property_tree::ptree xml;
  std::istringstream stream(contents(base + ".xml"));
  boost::property_tree::read_xml(stream, xml);
  EXPECT_EQ(xml.get<std::string>("testsuites.testsuite.<xmlattr>.name"), "vector_add");
}

TEST(Cli, BenchOfAMissingDeviceSaysSo) {
  if (!has(halfulp("list").out, "cuda          unavailable")) GTEST_SKIP() << "there is a device";
  const Ran result = halfulp("bench gpu");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_TRUE(has(result.out, "gpu skipped: "));
}

}  // namespace
