// Every mutant is killed: by a campaign that knows nothing of it, by the cases that its record
// names, and with the verdict that its record expects; the kernel it was made from passes the cases
// that kill it.
//
//   mutants_test [--gtest_filter=*fused_csc*]    prints a table last
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "properties/operation.hpp"
#include "properties/shrink.hpp"
#include "tests/mutants/hunt.hpp"
#include "tests/mutants/mutant.hpp"

namespace halfulp::mutants {
namespace {

using properties::Case;
using properties::Judgement;
using properties::Pairing;
using properties::Verdict;

constexpr std::int64_t kCampaignRounds = 1500;  // of each backend
constexpr std::int64_t kKillerRounds = 5000;    // generated, and those of them that are judged
constexpr std::int64_t kKillerJudged = 150;
constexpr properties::ShrinkBudget kShrinkBudget{3000, 20};
constexpr properties::ShrinkBudget kLookBudget{100, 0.2};  // where nothing is asked of the result

const std::vector<Mutant>& table() {
  static const std::vector<Mutant> rows = mutant_table();
  return rows;
}

const gpu::Kernel& row_of(const Mutant& mutant) {
  return *gpu::find_kernel(mutant.operation, mutant.full_name);
}

properties::WorkerPool& pool() {
  static properties::WorkerPool workers({.jobs = 1, .watchdog_s = 20});
  return workers;
}

// One line of the table, printed when the test program ends.
struct TableRow {
  std::string mutant, kind, killed_by, shrunk;
};
class Table : public testing::Environment {
 public:
  void TearDown() override {
    for (const TableRow& row : rows) {
      std::printf("%s: %s\n    %s\n", row.mutant.c_str(), row.kind.c_str(), row.killed_by.c_str());
      if (!row.shrunk.empty()) std::printf("    shrunk: %s\n", row.shrunk.c_str());
    }
  }
  std::vector<TableRow> rows;
};
Table* const results = new Table;

void expect_original_passes(const Mutant& mutant, Case c) {
  c.kernel = std::string(mutant.kernel);
  const Judgement judgement = pool().judge(c);
  EXPECT_TRUE(judgement.verdict == Verdict::pass || judgement.verdict == Verdict::powerless)
      << "the kernel without the fault: " << verdict_words(judgement) << ": " << judgement.reason
      << "\n"
      << print(c);
}

Kill expect_killed(const Mutant& mutant, gpu::Backend backend, std::string_view verdicts,
                   const HuntOptions& options) {
  const Kill kill = hunt(pool(), {&row_of(mutant), backend}, options);
  EXPECT_EQ(kill.refused, 0) << "a case that the launcher takes for illegal";
  if (!kill.found) return kill;
  EXPECT_TRUE(expected(verdicts, kill.judgement))
      << "expected " << verdicts << " on " << gpu::name(backend) << ", got "
      << verdict_words(kill.judgement) << ": " << kill.judgement.reason << "\n"
      << print(kill.killer);
  expect_original_passes(mutant, kill.killer);
  return kill;
}

std::string summary(gpu::Backend backend, const Kill& kill) {
  return std::string(gpu::name(backend)) + " case " + std::to_string(kill.round) + " " +
         verdict_words(kill.judgement);
}

// The smallest case, which is within the record's limits.
std::string expect_shrunk(const Mutant& mutant, const Kill& kill) {
  const bool asked = !mutant.shrinks.empty();
  const auto shrunk =
      properties::shrink(pool(), kill.killer, kill.judgement, asked ? kShrinkBudget : kLookBudget);
  if (!asked) return print(shrunk.smallest);
  EXPECT_EQ(limit_broken(mutant.shrinks, shrunk.smallest), "") << print(shrunk.smallest);
  return print(shrunk.smallest);
}

struct Expectation {
  gpu::Backend backend;
  std::string_view verdicts;
};
std::vector<Expectation> expectations(const Mutant& mutant) {
  std::vector<Expectation> result;
  if (!mutant.host.empty()) result.push_back({gpu::Backend::host, mutant.host});
  if (!mutant.host_checked.empty()) {
    result.push_back({gpu::Backend::host_checked, mutant.host_checked});
  }
  return result;
}

class Mutants : public testing::TestWithParam<std::size_t> {};

TEST_P(Mutants, Killed) {
  const Mutant& mutant = table()[GetParam()];
  ASSERT_EQ(words_error(mutant.operation, mutant.killer), "") << mutant.killer;
  TableRow row{std::string(mutant.operation) + "/" + std::string(mutant.full_name),
               std::string(mutant.kind), "", ""};
  bool named_kills = false;
  for (const auto& [backend, verdicts] : expectations(mutant)) {
    const Kill general = expect_killed(mutant, backend, verdicts, {.rounds = kCampaignRounds});
    EXPECT_TRUE(general.found) << "survives " << general.judged << " generated cases on "
                               << gpu::name(backend);
    const bool same = general.found && has_words(general.killer, mutant.killer);
    const Kill named =
        same ? general
             : expect_killed(
                   mutant, backend, verdicts,
                   {.rounds = kKillerRounds, .judged = kKillerJudged, .words = mutant.killer});
    named_kills = named_kills || named.found;
    if (general.found) row.killed_by += summary(backend, general) + "; ";
    if (!named.found) continue;
    row.killed_by += std::string(mutant.killer) + ": " + summary(backend, named) + "; ";
    if (row.shrunk.empty()) row.shrunk = expect_shrunk(mutant, named);
  }
  EXPECT_TRUE(named_kills) << "survives every case with " << mutant.killer;
  results->rows.push_back(row);
}

std::string name_of(const testing::TestParamInfo<std::size_t>& info) {
  const Mutant& mutant = table()[info.param];
  return std::string(mutant.operation) + "_" + std::string(mutant.kernel) + "_" +
         std::string(mutant.name);
}
INSTANTIATE_TEST_SUITE_P(All, Mutants, testing::Range(std::size_t{0}, table().size()), name_of);

TEST(Hunt, FindsNothingInKernelsWithoutFault) {
  for (const gpu::Backend backend : {gpu::Backend::host, gpu::Backend::host_checked}) {
    const gpu::Kernel* kernel = gpu::find_kernel("graph_attention", "fused_csc");
    const Kill kill = hunt(pool(), {kernel, backend}, {.rounds = 300});
    EXPECT_FALSE(kill.found) << print(kill.killer) << "\n" << kill.judgement.reason;
    EXPECT_EQ(kill.judged, 300);
  }
}

// Mutants of matmul are built with few formats and tiles: their rows ask for no others.
TEST(Rows, GeneratedCasesKeepToWhatIsBuilt) {
  std::set<std::string_view> kernels;
  for (const Mutant& mutant : table()) {
    if (mutant.operation != "matmul" || !kernels.insert(mutant.kernel).second) continue;
    std::set<std::string> tiles, formats;
    for (std::int64_t round = 0; round < 400; ++round) {
      const Case c = properties::generated_case({&row_of(mutant), gpu::Backend::host}, 1, round);
      EXPECT_EQ(properties::find_operation(c.operation)->validate(c), "") << print(c);
      tiles.emplace(c.text("tile"));
      formats.emplace(c.text("in"));
    }
    EXPECT_EQ(tiles, (std::set<std::string>{"32x32x32", "64x64x64"})) << mutant.kernel;
    std::set<std::string> built{"f16"};
    if (mutant.kernel != "streamk_atomic_half") built.insert("f32");
    EXPECT_EQ(formats, built) << mutant.kernel;
  }
  EXPECT_EQ(kernels.size(), 7u);
}

TEST(Rows, GeneratedFlashCasesKeepToWhatIsBuilt) {
  std::set<std::string_view> kernels;
  for (const Mutant& mutant : table()) {
    if (mutant.operation != "flash_attention" || !kernels.insert(mutant.kernel).second) continue;
    for (std::int64_t round = 0; round < 100; ++round) {
      const Case c = properties::generated_case({&row_of(mutant), gpu::Backend::host}, 1, round);
      EXPECT_EQ(properties::find_operation(c.operation)->validate(c), "") << print(c);
      EXPECT_TRUE(c.text("in") == "f16" || (mutant.kernel != "mma_f16" && c.text("in") == "f32"))
          << print(c);
    }
  }
  EXPECT_EQ(kernels.size(), 6u);
}

TEST(MutantsOfMatmul, AreThirtyFiveOrMore) {
  const auto matmul = [](const Mutant& mutant) { return mutant.operation == "matmul"; };
  EXPECT_GE(std::ranges::count_if(table(), matmul), 35);
}

TEST(MutantsOfFlashAttention, AreThirtyFiveOrMore) {
  const auto flash = [](const Mutant& mutant) { return mutant.operation == "flash_attention"; };
  EXPECT_GE(std::ranges::count_if(table(), flash), 35);
}

TEST(MutantsOfAllFamilies, AreThirtyOrMore) { EXPECT_GE(table().size(), 30u); }

}  // namespace
}  // namespace halfulp::mutants

int main(int argc, char** argv) {
  halfulp::gpu::add_kernels(halfulp::mutants::mutant_kernels());
  testing::InitGoogleTest(&argc, argv);
  testing::AddGlobalTestEnvironment(halfulp::mutants::results);
  return RUN_ALL_TESTS();
}
