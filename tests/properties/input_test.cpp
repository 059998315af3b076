// What users hand in: case files of any kind, fixture folders, names of any length and bytes; and
// campaigns that are stopped.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "properties/campaign.hpp"
#include "properties/fields.hpp"
#include "properties/report.hpp"

namespace halfulp::properties {
namespace {

namespace fs = std::filesystem;

const std::string kCase = "vector_add fake_right n=3\n";

// An empty folder of this test's own.
std::string fresh_folder() {
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  const std::string folder = ::testing::TempDir() + "/input_" + test->name();
  fs::remove_all(folder);
  fs::create_directories(folder);
  return folder;
}

std::string file_of(const std::string& text) {
  std::string file = fresh_folder() + "/c.cases";
  std::ofstream(file) << text;
  return file;
}

std::string error_of(const std::string& file) {
  std::string error;
  EXPECT_TRUE(read_case_lines(file, error).empty());
  return error;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Generated cases of one kernel on the host.
CampaignOptions generated(const std::string& filter, std::int64_t cases) {
  CampaignOptions options;
  options.filters = {filter};
  options.backends = {gpu::Backend::host};
  options.fixtures = false;
  options.cases = cases;
  return options;
}

// Sets $HALFULP_FIXTURES for one test.
class Fixtures {
 public:
  explicit Fixtures(const std::string& folder) {
    if (fixtures_asked() != nullptr) before_ = fixtures_asked();
    setenv("HALFULP_FIXTURES", folder.c_str(), 1);
  }
  Fixtures(const Fixtures&) = delete;
  Fixtures& operator=(const Fixtures&) = delete;
  ~Fixtures() { setenv("HALFULP_FIXTURES", before_.c_str(), 1); }

 private:
  std::string before_;
};

TEST(Input, ReadErrorsAreNoEndOfFile) {
  EXPECT_EQ(error_of("/proc/self/mem"), "/proc/self/mem: Input/output error");
  EXPECT_TRUE(has(error_of("/dev/zero"), "/dev/zero:1: longer than 1048576 bytes"));
  const std::string file = file_of(kCase + std::string(3 << 20, 'x') + "\n" + kCase);
  EXPECT_EQ(error_of(file), file + ":2: longer than 1048576 bytes");
}

TEST(Input, OddPathsAreErrors) {
  const std::string folder = fresh_folder();
  EXPECT_TRUE(has(error_of(std::string(400, 'a')), "File name too long"));
  fs::create_symlink("loop", folder + "/loop");
  EXPECT_TRUE(has(error_of(folder + "/loop"), "symbolic links"));
  EXPECT_TRUE(has(error_of(folder), "is a folder"));
}

TEST(Input, PipesAreReadOnce) {
  const std::string pipe = fresh_folder() + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(pipe) << kCase + kCase; });
  CampaignOptions options;
  options.from = pipe;
  options.backends = {gpu::Backend::host};
  EXPECT_EQ(complete(options), "");
  writer.join();
  EXPECT_EQ(options.listed.size(), 2u);
}

TEST(Input, AByteOrderMarkIsNoOperation) {
  std::string error;
  EXPECT_EQ(read_case_lines(file_of("\xef\xbb\xbf" + kCase), error).size(), 1u);
  EXPECT_EQ(error, "");
}

TEST(Input, FromObeysBackendsAndRefusesCounts) {
  CampaignOptions options;
  options.from = file_of(kCase + "vector_add fake_right backend=cuda n=4\n");
  CampaignOptions host = options;
  host.backends = {gpu::Backend::host};
  EXPECT_EQ(complete(host), "");
  ASSERT_EQ(host.listed.size(), 1u);
  EXPECT_EQ(host.listed[0].text("backend"), "host");
  CampaignOptions all = options;
  EXPECT_EQ(complete(all), "");
  EXPECT_EQ(all.listed.back().text("backend"), "cuda");
  options.cases = 5;
  EXPECT_TRUE(has(complete(options), "--cases"));
}

TEST(Input, FixturesThatWereAskedForMustBeThere) {
  const std::string folder = fresh_folder();
  for (const std::string& nowhere : {folder, folder + "/missing", std::string("/dev/null")}) {
    const Fixtures fixtures(nowhere);
    CampaignOptions options;
    EXPECT_EQ(complete(options), "HALFULP_FIXTURES=" + nowhere + ": holds no case file");
    options.fixtures = false;
    EXPECT_EQ(complete(options), "");
  }
  const Fixtures fixtures(folder);
  fs::create_directory(folder + "/cases");
  std::ofstream(folder + "/cases/one.cases") << kCase;
  CampaignOptions options;
  options.backends = {gpu::Backend::host};
  EXPECT_EQ(complete(options), "");
  EXPECT_EQ(options.listed.size(), 1u);
  EXPECT_TRUE(has(campaign_summary(options, {}), "again: HALFULP_FIXTURES=" + folder + " halfulp"));
  fs::create_symlink("loop.cases", folder + "/cases/loop.cases");
  EXPECT_TRUE(has(complete(options), "loop.cases: "));
}

TEST(Input, MessagesAreShortAndHoldNoControlBytes) {
  const std::string control = "a\x1b[31m";
  const std::string size(5 << 20, 'q');
  for (const std::string& name : {control, size, std::string("a\0b", 3)}) {
    for (const std::string& line :
         {name + " k", "vector_add " + name, "vector_add fake_right " + name,
          "vector_add fake_right " + name + "=1", "vector_add fake_right n=" + name}) {
      const std::string what = parse(line).error.what;
      EXPECT_LT(what.size(), 2000u);
      EXPECT_FALSE(what.empty());
      EXPECT_EQ(what.find_first_of(std::string("\x1b\0", 2)), std::string::npos);
    }
  }
  EXPECT_TRUE(
      has(parse("vector_add fake_right layout=" + control).error.what, "layout=a\\x1b[31m"));
  EXPECT_LT(parse("scatter_normalize atomic_coo graph=random:" + size).error.what.size(), 2100u);
  EXPECT_EQ(shown(control), "a\\x1b[31m");
  CampaignOptions options;
  options.filters = {size};
  EXPECT_LT(complete(options).size(), 200u);
}

TEST(Input, TheAgainLineIsQuotedAndKeepsNoFixtures) {
  CampaignOptions options;
  options.filters = {"vector_ad[d']", "vector_add"};
  options.fixtures = false;
  EXPECT_TRUE(has(campaign_summary(options, {}),
                  "again: halfulp check 'vector_ad[d'\\'']' vector_add --seed 0x1 --cases 0 "
                  "--no-fixtures\n"));
}

TEST(Input, ASearchCutShortSaysSo) {
  const Case c = make_case("vector_add", "fake_right");
  Failure failure{c, {}, {c, {}}};
  EXPECT_FALSE(has(failure_report(failure), "cut short"));
  failure.shrunk.exhausted = true;
  EXPECT_TRUE(has(failure_report(failure), "cut short"));
}

TEST(Input, ACampaignStopsBeforeTheNextCase) {
  std::sig_atomic_t stop = 0;
  CampaignOptions options = generated("vector_add/fake_right", 1000000);
  options.jobs = 1;
  options.stop = &stop;
  EXPECT_EQ(complete(options), "");
  const CampaignResult result =
      run_campaign(options, [&](const Progress& progress) { stop = progress.cases >= 5 ? 1 : 0; });
  EXPECT_TRUE(result.interrupted);
  EXPECT_GE(result.total.cases, 5);
  EXPECT_LT(result.total.cases, 100);
  EXPECT_EQ(result.exit_code(), 129);
  const std::string says = "interrupted: not all cases were judged";
  EXPECT_TRUE(has(campaign_summary(options, result), says));
  EXPECT_TRUE(has(campaign_json(options, result), "\"exit_code\": 129,"));
  EXPECT_TRUE(has(campaign_junit(options, result), "<error message=\"" + says));
}

TEST(Input, RangesAreOfTheNumberThatIsWritten) {
  Field field{.name = "x", .kind = FieldKind::real, .low = -10000, .high = 1e6};
  std::string error;
  for (const char* text : {"-10000.0001", "-1.00000000000000000000000001e4", "1000000.01",
                           "1000000.0000000000000000000001", "100000000.1e-2"}) {
    EXPECT_EQ(canonical_value(field, text, error), "") << text;
  }
  EXPECT_EQ(error, "x=100000000.1e-2: expected a number from -10000 to 1e+06");
  for (const char* text : {"1000000", "1e6", "1000000.000", "0.01e+08", "1e+06", "0001000000"}) {
    EXPECT_EQ(canonical_value(field, text, error), "1e+6") << text;
  }
  EXPECT_EQ(canonical_value(field, "-10000", error), "-10000");
  EXPECT_EQ(canonical_value(field, "-9999.99999999", error), "-10000");
  EXPECT_EQ(canonical_value(field, "-0.0", error), "0");
  field.low = 1e-30;
  EXPECT_EQ(canonical_value(field, "1e-30", error), "1e-30");
  EXPECT_EQ(canonical_value(field, "0.999999999e-30", error), "");
}

TEST(Input, ACampaignThatStopsWhileItShrinksSaysSo) {
  std::sig_atomic_t stop = 0;
  CampaignOptions options = generated("vector_add/fake_wrong", 20);
  options.stop = &stop;
  EXPECT_EQ(complete(options), "");
  const CampaignResult result = run_campaign(options, [&](const Progress& progress) {
    if (progress.doing.starts_with("shrinking")) stop = 1;
  });
  EXPECT_FALSE(result.interrupted);
  EXPECT_EQ(result.total.cases, 20);
  EXPECT_EQ(result.exit_code(), 1);
  const std::string says = "interrupted while shrinking: all cases were judged";
  EXPECT_TRUE(has(campaign_summary(options, result), says));
  EXPECT_TRUE(has(campaign_summary(options, result), " s of shrinking\n"));
  EXPECT_TRUE(has(campaign_junit(options, result), "<error message=\"" + says));
}

// A line for every kernel: a new kernel is judged on the real graphs without a line of its own.
TEST(Input, AStarStandsForEveryKernelThatTakesTheLine) {
  std::string error;
  const auto lines = read_case_lines(file_of("\tvector_add  * in=f16 n=5 seed=0x7\n"), error);
  EXPECT_EQ(error, "");
  std::vector<std::string> expected;
  for (const gpu::Kernel& kernel : gpu::kernels()) {
    const bool takes = std::ranges::count(kernel.storage, gpu::Format::f16) > 0;
    if (kernel.operation == "vector_add" && takes) expected.emplace_back(kernel.name);
  }
  ASSERT_GT(expected.size(), 1u);
  ASSERT_EQ(lines.size(), expected.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(lines[i].value.kernel, expected[i]);
    EXPECT_EQ(lines[i].value.integer("n"), 5);
  }
  EXPECT_TRUE(read_case_lines(file_of("vector_ad * n=5\n"), error).empty());
  EXPECT_NE(error.find("vector_ad"), std::string::npos);
}

}  // namespace
}  // namespace halfulp::properties
