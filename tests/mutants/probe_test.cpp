// Which probe of flash_attention finds which fault: a table of derived and simulated entries, held
// against mutants of mma_f16. A probe finds a fault when one of its cases does not pass.
//
// Where the mutants differ from the faults that the table was made with:
//   "drop 1 live key": here it is the last key, live in all that A to H show of it only where the
//     probe's cases have few keys or open no other one.
//   "duplicate key": here the first of every tile counts twice, so that A, E, F and G do not see it
//     even where it is the one that counts: its weight is 2 in numerator and denominator.
//   "V rows swapped": with a number of keys that is odd the last one changes places with padding,
//     which B, C and D would see: they have even numbers here.
//   "scale": by 1 + 2^-10 for 1 + 2^-8.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "properties/worker.hpp"
#include "tests/mutants/hunt.hpp"

namespace halfulp::mutants {
namespace {

using properties::Case;
using properties::Verdict;

constexpr std::string_view kProbes = "ABCDEFGHIJ";

const std::vector<std::string>& cases_of(char probe) {
  static const std::map<char, std::vector<std::string>> cases{
      {'A', {"fill=A1 mask=keys:1 queries=9 keys=137", "fill=A1 mask=only:136 queries=2 keys=137"}},
      {'B', {"fill=A2 queries=2 keys=136", "fill=A2 queries=2 keys=66"}},
      {'C', {"fill=A3 queries=2 keys=128", "fill=A3 queries=2 keys=256"}},
      {'D', {"fill=A4 queries=7 keys=136", "fill=A4 queries=7 keys=66"}},
      {'E', {"fill=A5 queries=2 keys=65", "fill=A5 queries=2 keys=137"}},
      {'F', {"fill=A6 queries=2 keys=1", "fill=A6 queries=2 keys=137"}},
      {'G',
       {"fill=A1 mask=only:136 queries=2 keys=137",
        "fill=A1 mask=closed:0:128 queries=2 keys=129"}},
      {'H', {"fill=A8 mask=keys:2 queries=32 keys=137", "fill=A8 queries=32 keys=2"}},
      {'I', {"fill=A1 mask=empty_rows:0:9 queries=9 keys=70"}},
      {'J', {"fill=A10 queries=32 keys=256 dim=64", "fill=A10 queries=7 keys=137"}},
  };
  return cases.at(probe);
}

// 1: found by this probe, 0: not found, .: found in part of the simulated cases, or not known.
struct Row {
  std::string_view fault;   // as the table calls it
  std::string_view mutant;  // empty: mma_f16 itself
  std::string_view found;   // by A to J
};
constexpr Row kRows[] = {
    {"correct", "", "0000000000"},
    {"drop 1 live key", "last_key_dropped", "1110111101"},
    {"duplicate key", "key_twice", "0110000101"},
    {"l not rescaled", "sum_not_rescaled", "000.100.0."},
    {"O not rescaled", "out_not_rescaled", "000.100.0."},
    {"alpha one tile late", "rescaled_late", ".110010.0."},
    {"V rows j, j+1 swapped", "value_rows_exchanged", "1000111.01"},
    {"scale*(1+2^-8)", "scale_slightly_off", "000000010."},
    {"log2e missing", "log2e_missing", "0000000101"},
    {"log2e in fp16", "log2e_of_half", "000000010."},
    {"mask shifted by 1", "mask_shifted", "1000001100"},
    {"mask ignored", "mask_ignored", "1000001110"},
    {"no -inf guard", "closed_row_is_nan", ".000001.10"},
    {"last tile dropped", "last_tile_dropped", ".110101.0."},
    {"eps 1e-3 added to l", "epsilon_added", "1000111100"},
    {"P in bf16", "weights_in_bf16", "000.000101"},
};

properties::WorkerPool& pool() {
  static properties::WorkerPool workers({.jobs = 1, .watchdog_s = 20});
  return workers;
}

Case case_of(const Row& row, const std::string& words) {
  std::string line = "flash_attention mma_f16";
  if (!row.mutant.empty()) line += "~" + std::string(row.mutant);
  line += " backend=host in=f16 heads=2 tile=32x64 seed=3 " + words;
  if (words.find("dim=") == std::string::npos) line += " dim=16";
  const auto parsed = properties::parse(line);
  EXPECT_EQ(parsed.error.what, "") << line;
  return parsed.value;
}

// 1 or 0
char found(const Row& row, char probe) {
  char result = '0';
  for (const std::string& words : cases_of(probe)) {
    const Case c = case_of(row, words);
    const properties::Judgement judgement = pool().judge(c);
    const bool judged = judgement.verdict == Verdict::pass || judgement.verdict == Verdict::fail;
    EXPECT_TRUE(judged) << verdict_words(judgement) << ": " << judgement.reason << "\n" << print(c);
    if (judgement.verdict == Verdict::fail) result = '1';
  }
  return result;
}

class Probes : public testing::TestWithParam<Row> {};

TEST_P(Probes, FindWhatTheTableSays) {
  const Row& row = GetParam();
  ASSERT_EQ(row.found.size(), kProbes.size());
  std::string got;
  for (std::size_t i = 0; i < kProbes.size(); ++i) {
    got += found(row, kProbes[i]);
    if (row.found[i] == '.') continue;
    EXPECT_EQ(got.back(), row.found[i]) << "probe " << kProbes[i] << ", " << row.fault;
  }
  std::printf("%-24s table %s  here %s\n", std::string(row.fault).c_str(),
              std::string(row.found).c_str(), got.c_str());
}

std::string name_of(const testing::TestParamInfo<Row>& info) {
  return info.param.mutant.empty() ? "correct" : std::string(info.param.mutant);
}
INSTANTIATE_TEST_SUITE_P(Flash, Probes, testing::ValuesIn(kRows), name_of);

}  // namespace
}  // namespace halfulp::mutants
