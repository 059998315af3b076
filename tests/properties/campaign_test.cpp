// Shrinking, plans and campaigns over the fakes; reports that machines read.
#include "properties/campaign.hpp"

#include <gtest/gtest.h>

#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "properties/report.hpp"

namespace halfulp::properties {
namespace {

std::string shrunk(const std::string& line, double watchdog_s = 20) {
  const Parsed parsed = parse(line);
  EXPECT_FALSE(parsed.error) << parsed.error.what;
  WorkerPool pool({1, watchdog_s});
  const Judgement judgement = pool.judge(parsed.value);
  const Shrunk result = shrink(pool, parsed.value, judgement, {1000, 30});
  EXPECT_EQ(result.judgement.verdict, judgement.verdict);
  return print(result.smallest);
}

TEST(Shrink, EndsAtTheSmallestFailingCase) {
  EXPECT_EQ(shrunk("vector_add fake_wrong n=300 fill=normal layout=offset:3 order=burst seed=0x77"),
            "vector_add fake_wrong backend=host in=f32 n=6 fill=ones seed=0x1");
}

TEST(Shrink, FollowsFaultsAcrossDeadWorkers) {
  EXPECT_EQ(shrunk("vector_add fake_crash n=300 fill=normal seed=0x77"),
            "vector_add fake_crash backend=host in=f32 n=8 fill=ones seed=0x1");
}

TEST(Shrink, StopsAtItsBudget) {
  const Parsed parsed = parse("vector_add fake_wrong n=300 fill=normal layout=offset:3 seed=0x77");
  WorkerPool pool({1, 20});
  const Judgement judgement = pool.judge(parsed.value);
  const Shrunk result = shrink(pool, parsed.value, judgement, {3, 30});
  EXPECT_TRUE(result.exhausted);
  EXPECT_EQ(result.judgements, 3);
}

// In a process that has made some calls it fails for every n above 7.
TEST(Shrink, EndsAtACaseThatFailsInAProcessOfItsOwn) {
  EXPECT_EQ(shrunk("vector_add fake_worn n=300 fill=normal seed=0x77"),
            "vector_add fake_worn backend=host in=f32 n=101 fill=ones seed=0x1");
}

TEST(Shrink, LeavesACaseThatFailsOnlyAfterOthers) {
  WorkerPool pool({1, 20});
  const Case c = parse("vector_add fake_ninth n=300 fill=normal").value;
  Judgement judgement = pool.judge(c);
  for (int i = 0; i < 9 && judgement.verdict == Verdict::pass; ++i) judgement = pool.judge(c);
  ASSERT_EQ(judgement.verdict, Verdict::fail);
  const Shrunk result = shrink(pool, c, judgement, {1000, 30});
  EXPECT_FALSE(result.alone);
  EXPECT_EQ(result.smallest, c);
  const std::string report = failure_report({c, judgement, result}, "halfulp check x");
  EXPECT_NE(report.find("fails only after other cases in the same process"), std::string::npos);
  EXPECT_NE(report.find("  again: halfulp check x\n"), std::string::npos) << report;
}

Judgement hung() {
  Judgement judgement;
  judgement.verdict = Verdict::faulted;
  judgement.fault = {gpu::FaultKind::timed_out, "no verdict"};
  return judgement;
}

TEST(Shrink, AHangCostsLittleAndIsConfirmed) {
  WorkerPool pool({1, 4});
  const Shrunk result =
      shrink(pool, parse("vector_add fake_hang n=20 fill=ones").value, hung(), {1000, 30});
  EXPECT_EQ(result.smallest.integer("n"), 8);
  EXPECT_EQ(result.judgement.fault.text, "no verdict within 4 s");
  EXPECT_EQ(pool.restarts(), 1);  // the rest was done under a shorter watchdog
}

// Its calls take 1.2 s for every n above 7, and the watchdog is shorter than that: where shrinking
// ended would tell of the machine alone.
TEST(Shrink, WhatIsOnlySlowIsNotShrunkToTheMachinesSpeed) {
  WorkerPool pool({1, 1});
  const Case slow = parse("vector_add fake_slow n=64 fill=ones").value;
  const Shrunk result = shrink(pool, slow, pool.judge(slow), {1000, 30});
  EXPECT_EQ(result.judgement.fault.kind, gpu::FaultKind::timed_out);
  EXPECT_EQ(result.smallest, slow);
  EXPECT_EQ(result.steps, 0);
}

TEST(Shrink, WhatIsOnlySlowIsNoHang) {
  WorkerPool pool({1, 20});
  const Case slow = parse("vector_add fake_slow n=9 fill=ones").value;
  const Shrunk result = shrink(pool, slow, hung(), {1000, 30});
  EXPECT_EQ(result.smallest, slow);
  EXPECT_EQ(result.steps, 0);
  EXPECT_TRUE(result.exhausted);
}

TEST(Shrink, StopsWhenAsked) {
  const std::sig_atomic_t stop = 1;
  ShrinkBudget budget;
  budget.stop = &stop;
  const Case c = parse("vector_add fake_wrong n=9 fill=ones").value;
  WorkerPool pool({1, 20});
  const Shrunk result = shrink(pool, c, pool.judge(c), budget);
  EXPECT_EQ(result.smallest, c);
  EXPECT_TRUE(result.exhausted);
}

TEST(Shrink, TakesTimesOfAnySize) {
  const Case c = parse("vector_add fake_wrong n=9 fill=ones").value;
  WorkerPool pool({1, 1e300});
  const Shrunk result = shrink(pool, c, pool.judge(c), {1000, 1e300});
  EXPECT_FALSE(result.exhausted);
  EXPECT_EQ(result.smallest.integer("n"), 6);
}

TEST(Plan, FiltersNameOperationsOrKernels) {
  EXPECT_TRUE(matches({}, "vector_add", "scalar"));
  EXPECT_TRUE(matches({"vector_add"}, "vector_add", "scalar"));
  EXPECT_TRUE(matches({"vector_*"}, "vector_add", "scalar"));
  EXPECT_TRUE(matches({"*/sc*"}, "vector_add", "scalar"));
  EXPECT_TRUE(matches({"nothing", "vector_add/scalar"}, "vector_add", "scalar"));
  EXPECT_FALSE(matches({"scalar"}, "vector_add", "scalar"));
  EXPECT_FALSE(matches({"vector_add/vec4"}, "vector_add", "scalar"));
  EXPECT_EQ(unmatched({"vector_add/fake_*", "vector_mul"}), "vector_mul");
}

TEST(Plan, GeneratedCasesDependOnSeedPairingAndRoundAlone) {
  const Pairing right{gpu::find_kernel("vector_add", "fake_right"), gpu::Backend::host};
  const Pairing wrong{gpu::find_kernel("vector_add", "fake_wrong"), gpu::Backend::host};
  std::vector<std::string> lines;
  for (int round = 0; round < 50; ++round) {
    lines.push_back(print(generated_case(right, 3, round)));
    EXPECT_EQ(lines.back(), print(generated_case(right, 3, round)));
    EXPECT_EQ(parse(lines.back()).value, generated_case(right, 3, round));
  }
  EXPECT_NE(lines[20], print(generated_case(right, 4, 20)));
  std::string other = print(generated_case(wrong, 3, 20));
  EXPECT_NE(lines[20], other.replace(other.find("fake_wrong"), 10, "fake_right"));
}

TEST(Plan, CaseFilesNameTheLineThatIsWrong) {
  const std::string file = ::testing::TempDir() + "/plan_test.cases";
  std::ofstream(file) << "# a comment\n\nvector_add fake_right n=3\n"
                         "  vector_add fake_right backend=cuda n=4\n";
  std::string error;
  const auto cases = read_cases(file, {gpu::Backend::host, gpu::Backend::host_checked}, error);
  EXPECT_EQ(error, "");
  ASSERT_EQ(cases.size(), 2u);  // the fake is not built for host-checked
  EXPECT_EQ(cases[1].text("backend"), "cuda");
  // Built for none of the backends: kept, to be skipped with its reason.
  const auto unbuilt = read_cases(file, {gpu::Backend::host_checked}, error);
  ASSERT_EQ(unbuilt.size(), 2u);
  EXPECT_EQ(unbuilt[0].text("backend"), "host-checked");
  std::ofstream(file, std::ios::app) << "vector_add fake_right n=-1\n";
  read_cases(file, {gpu::Backend::host}, error);
  EXPECT_EQ(error.find(file + ":5: n=-1"), 0u) << error;
  error.clear();
  read_cases(file + ".missing", {}, error);
  EXPECT_NE(error, "");
}

TEST(Plan, LinesMayStandInTheCommandThatReplaysThem) {
  const std::string line = "vector_add fake_right backend=host in=f32 n=3 fill=normal seed=0x1";
  const std::string command = "halfulp replay '" + line + "'";
  for (const std::string& text :
       {line, command, " " + command + " \r", command + " --watchdog 0.5"}) {
    EXPECT_EQ(without_command(text), text == line ? text : line);
  }
  for (const std::string& text :
       {"halfulp replay " + line, "halfulp replay '" + line, "halfulp shrink '" + line + "'",
        command + " --json x", command + " --watchdog", command + " --watchdog x"}) {
    EXPECT_EQ(without_command(text), text);
  }
  const std::string file = ::testing::TempDir() + "/command_test.cases";
  std::ofstream(file) << "  " << command << "\n";
  std::string error;
  const auto cases = read_cases(file, {gpu::Backend::host}, error);
  ASSERT_EQ(cases.size(), 1u) << error;
  EXPECT_EQ(print(cases[0]), line);
}

TEST(Campaign, LinesOfTheUsersFileAreSkippedAndNotDropped) {
  const std::string file = ::testing::TempDir() + "/unbuilt_test.cases";
  std::ofstream(file) << "vector_add fake_right n=3\n";
  CampaignOptions options;
  options.from = file;
  options.backends = {gpu::Backend::host_checked};
  ASSERT_EQ(complete(options), "");
  const CampaignResult result = run_campaign(options, [](const Progress&) {});
  EXPECT_EQ(result.total.cases, 1);
  EXPECT_EQ(result.total[Verdict::skipped], 1);
  ASSERT_EQ(result.rows.size(), 1u);
  EXPECT_EQ(result.rows[0].skip_reason, "fake_right is not built for host-checked");
  CampaignOptions other = options;
  other.listed.clear();
  other.filters = {"vector_add/fake_wrong"};
  EXPECT_EQ(complete(other),
            file + ": none of its 1 case lines is for the kernels and backends asked for");
  std::ofstream(file) << "vector_add fake_right n=3 backend=host\n";
  other.filters.clear();
  EXPECT_EQ(complete(other),
            file + ": none of its 1 case lines is for the kernels and backends asked for");
  std::ofstream{file} << "# nothing\n";
  CampaignOptions empty;
  empty.from = file;
  EXPECT_EQ(complete(empty), file + ": holds no case line");
}

CampaignOptions fakes(std::int64_t cases) {
  CampaignOptions options;
  options.filters = {"vector_add/fake_right", "vector_add/fake_wrong", "vector_add/fake_abort"};
  options.backends = {gpu::Backend::host};
  options.cases = cases;
  options.fixtures = false;
  EXPECT_EQ(complete(options), "");
  return options;
}

// All that is said of a campaign but times and who was restarted.
std::string told(int jobs) {
  CampaignOptions options = fakes(90);
  options.jobs = jobs;
  std::vector<std::string> shrinking;
  const CampaignResult result = run_campaign(options, [&](const Progress& progress) {
    if (progress.doing.starts_with("shrinking")) shrinking.push_back(progress.doing);
  });
  EXPECT_EQ(shrinking.size(), 2u);  // each kernel once
  std::string text = campaign_table(result);
  for (const std::string& each : shrinking) text += each + "\n";
  for (const Failure& failure : result.failures) text += failure_report(failure);
  const std::string summary = campaign_summary(options, result);
  const std::size_t times = summary.find("error/bound"), again = summary.find("again: ");
  return text + summary.substr(0, times) + summary.substr(again);
}

TEST(Campaign, ReportsDoNotDependOnJobs) {
  const std::string one = told(1);
  EXPECT_NE(one.find("fake_abort"), std::string::npos);
  EXPECT_EQ(told(2), one);
  EXPECT_EQ(told(3), one);
}

// Sizes above 7 crash, and nothing else does: one case each.
TEST(Campaign, ACrashCostsOneCaseWhateverTheJobs) {
  const std::string file = ::testing::TempDir() + "/crash_test.cases";
  std::ofstream stream(file);
  for (int n = 0; n < 40; ++n) stream << "vector_add fake_right fill=ones n=" << 9 + n << "\n";
  for (int n = 6; n < 10; ++n) stream << "vector_add fake_crash fill=ones n=" << n << "\n";
  for (int n = 0; n < 40; ++n) stream << "vector_add fake_right fill=ones n=" << 9 + n << "\n";
  stream.close();
  for (const int jobs : {1, 2, 3}) {
    CampaignOptions options;
    options.from = file;
    options.backends = {gpu::Backend::host};
    options.jobs = jobs;
    options.shrink = false;
    ASSERT_EQ(complete(options), "");
    const CampaignResult result = run_campaign(options, [](const Progress&) {});
    EXPECT_EQ(result.total[Verdict::faulted], 2) << jobs;
    EXPECT_EQ(result.total[Verdict::pass], 82) << jobs;
    EXPECT_EQ(result.restarts, 2) << jobs;
    ASSERT_EQ(result.failures.size(), 1u);
    EXPECT_EQ(result.failures[0].found.integer("n"), 8) << jobs;
  }
}

TEST(Campaign, ReportsTheFirstFailureOfEachKernelShrunk) {
  const CampaignOptions options = fakes(90);
  const CampaignResult result = run_campaign(options, [](const Progress&) {});
  EXPECT_EQ(result.exit_code(), 1);
  EXPECT_EQ(result.total.cases, 90);
  ASSERT_EQ(result.rows.size(), 3u);
  EXPECT_EQ(result.rows[0][Verdict::pass], 30);
  EXPECT_GT(result.rows[1][Verdict::fail], 0);
  EXPECT_GT(result.rows[2][Verdict::faulted], 0);
  ASSERT_EQ(result.failures.size(), 2u);
  for (const Failure& failure : result.failures) {
    const std::string report = failure_report(failure);
    EXPECT_EQ(report.find("halfulp replay 'vector_add fake_"), 0u) << report;
  }
}

CampaignResult with_a_hanging_kernel(int jobs, std::optional<double> seconds = {}) {
  CampaignOptions options;
  options.filters = {"vector_add/fake_hang"};
  if (!seconds) options.filters.push_back("vector_add/fake_right");
  options.backends = {gpu::Backend::host};
  if (!seconds) options.cases = 80;
  options.seconds = seconds;
  options.fixtures = options.shrink = false;
  options.watchdog_s = 0.5;
  options.jobs = jobs;
  EXPECT_EQ(complete(options), "");
  return run_campaign(options, [](const Progress&) {});
}

TEST(Campaign, GivesUpAKernelThatHangs) {
  const CampaignResult result = with_a_hanging_kernel(1);
  ASSERT_EQ(result.rows.size(), 2u);
  const Row &right = result.rows[0], &hang = result.rows[1];
  EXPECT_EQ(right[Verdict::skipped], 0);
  EXPECT_EQ(right.cases, 40);
  EXPECT_EQ(hang.cases, 40);
  EXPECT_EQ(hang[Verdict::faulted], kHangsMax);
  EXPECT_GT(hang[Verdict::skipped], 10);
  EXPECT_NE(hang.skip_reason.find("hung"), std::string::npos);
  EXPECT_EQ(result.exit_code(), 1);
  EXPECT_LT(result.seconds, 5);
  EXPECT_EQ(campaign_table(with_a_hanging_kernel(3)), campaign_table(result));
}

TEST(Campaign, EndsEarlyWhenEveryKernelHangs) {
  const CampaignResult result = with_a_hanging_kernel(1, 60);
  EXPECT_EQ(result.exit_code(), 1);
  EXPECT_LT(result.seconds, 20);
}

TEST(Campaign, JsonAndJunitParse) {
  const CampaignOptions options = fakes(60);
  const CampaignResult result = run_campaign(options, [](const Progress&) {});
  const auto json = nlohmann::json::parse(campaign_json(options, result));
  EXPECT_EQ(json.at("exit_code"), 1);
  EXPECT_EQ(json.at("rows").size(), 3u);
  EXPECT_EQ(json.at("total").at("cases"), 60);
  for (const auto& failure : json.at("failures")) {
    EXPECT_FALSE(parse(failure.at("case").get<std::string>()).error);
  }
  std::istringstream stream(campaign_junit(options, result));
  boost::property_tree::ptree xml;
  boost::property_tree::read_xml(stream, xml);
  const auto& suite = xml.get_child("testsuites.testsuite");
  EXPECT_EQ(suite.get<int>("<xmlattr>.tests"), 3);
  EXPECT_EQ(suite.get<int>("<xmlattr>.failures"), 1);
  EXPECT_EQ(suite.get<int>("<xmlattr>.errors"), 1);
  EXPECT_EQ(suite.count("testcase"), 3u);
}

TEST(Campaign, AdviceIsReportedAndDecidesNothing) {
  CampaignOptions options = fakes(0);
  CampaignResult result = run_campaign(options, [](const Progress&) {});
  Row row;
  row.operation = "vector_add";
  row.kernel = "fake_right";
  row.cases = row.count[static_cast<std::size_t>(Verdict::pass)] = 5;
  row.advice = {3, 0, 0, 0.5, {}};
  result.total = row;
  result.rows = {row};
  EXPECT_EQ(campaign_advice(result), "");
  result.rows[0].advice = {3, 1, 2, 1.5, parse("vector_add fake_right n=3").value};
  EXPECT_EQ(result.exit_code(), 0);
  const std::string text = campaign_advice(result);
  EXPECT_NE(text.find("2 elements beyond the statistical bound in 1 of 3 passing cases"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("1.500 times it: halfulp replay 'vector_add fake_right"), std::string::npos);
  const auto json = nlohmann::json::parse(campaign_json(options, result)).at("rows").at(0);
  EXPECT_EQ(json.at("advice").at("elements_beyond_statistical_bound"), 2);
  EXPECT_EQ(json.at("advice").at("worst_error_over_statistical_bound"), 1.5);
}

TEST(Campaign, NothingWithPowerIsNoSuccess) {
  CampaignOptions options = fakes(0);
  EXPECT_EQ(run_campaign(options, [](const Progress&) {}).exit_code(), 3);
}

TEST(Campaign, WrongFiltersAreErrors) {
  CampaignOptions options;
  options.filters = {"vector_add/no_such"};
  EXPECT_NE(complete(options).find("no_such"), std::string::npos);
}

}  // namespace
}  // namespace halfulp::properties
