// Probes of flash_attention: each shows the faults that it is for, and a right kernel passes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "properties/check.hpp"
#include "properties/fill.hpp"
#include "tests/properties/materialised.hpp"

namespace halfulp::properties {
namespace {

// Does any of a few seeds show it?
bool shown(const std::string& kernel, const std::string& fields) {
  for (int seed = 1; seed <= 6; ++seed) {
    const Parsed parsed = parse("flash_attention " + kernel + " tile=16x32 " + fields +
                                " seed=" + std::to_string(seed));
    EXPECT_EQ(parsed.error.what, "") << fields;
    if (judge(parsed.value).verdict == Verdict::fail) return true;
  }
  return false;
}

struct Probe {
  const char* fields;
  std::vector<std::string> faults;  // that it must show
};

// Every kernel of flash_fakes.cpp is shown by one at least.
const std::vector<Probe> kProbes{
    {"fill=A1 mask=keys:1 queries=9 keys=97",
     {"dropped", "swapped", "shifted", "unmasked", "epsilon"}},
    {"fill=A2 queries=3 keys=97", {"dropped", "doubled", "late", "last_tile"}},
    {"fill=A3 queries=3 keys=128", {"dropped", "doubled", "late", "last_tile"}},
    {"fill=A3 queries=3 keys=4", {"epsilon"}},
    {"fill=A4 queries=9 keys=97", {"denominator", "numerator"}},
    {"fill=A5 queries=3 keys=96", {"dropped", "denominator", "numerator", "swapped", "last_tile"}},
    {"fill=A6 queries=3 keys=96", {"dropped", "late", "swapped"}},
    {"fill=A1 mask=only:97 queries=3 keys=98",
     {"dropped", "swapped", "unmasked", "unguarded", "last_tile"}},
    {"fill=A8 mask=keys:2 queries=40 keys=69",
     {"dropped", "doubled", "scaled", "base", "shifted", "unmasked", "weights", "swapped"}},
    {"fill=A10 queries=9 keys=70 heads=4", {"scaled", "base", "weights"}},
    {"fill=normal mask=empty_rows:2:3 queries=5 keys=33", {"unguarded", "unmasked"}},
    {"fill=low queries=3 keys=33", {"tail"}},
    {"fill=rising queries=3 keys=97", {"denominator", "numerator"}},
    {"fill=falling queries=3 keys=97", {"late"}},
    {"fill=dominating queries=3 keys=97 heads=4", {"dropped", "swapped"}},
    {"fill=hot queries=9 keys=97", {"scaled", "base"}},
    {"fill=last_channel queries=9 keys=97", {"base"}},
    {"fill=normal mask=bias queries=9 keys=40", {"shifted", "unmasked"}},
    {"fill=normal mask=bias_far queries=9 keys=40", {"shifted", "narrowed"}},
    {"fill=normal mask=alibi:1001 queries=9 keys=300", {"shifted", "narrowed"}},
    {"fill=subnormal_q scale=0.125 queries=9 keys=40", {"scaled", "prescaled"}},
    {"fill=subnormal_q queries=9 keys=40", {"prescaled"}},
    {"fill=A1 mask=window:2:2147483647 queries=3 keys=5", {"int32"}},
    {"fill=A1 mask=window:2147483647:3 queries=7 keys=5", {"int32"}},
};

TEST(FlashFill, ProbesShowTheirFaults) {
  for (const Probe& probe : kProbes) {
    for (const char* in : {"f16", "f32", "bf16"}) {
      const std::string fields = std::string(probe.fields) + " dim=16 in=" + in;
      EXPECT_FALSE(shown("fake_right", fields)) << fields;
      for (const std::string& fault : probe.faults) {
        // Lost in the rounding of bf16, or right in it.
        const bool small = fault == "weights" || fault == "scaled" || fault == "epsilon";
        if (in == std::string("bf16") && small) continue;
        // fp32 has the bits that narrower formats lose.
        if (in == std::string("f32") && fault == "prescaled") continue;
        EXPECT_TRUE(shown("fake_" + fault, fields)) << fault << ": " << fields;
      }
    }
  }
}

gpu::Problem problem(const std::string& fields) {
  const Parsed parsed = parse("flash_attention fake_right " + fields);
  EXPECT_EQ(parsed.error.what, "") << fields;
  return find_operation("flash_attention")->materialise(parsed.value);
}

// Scores of the first head, scale included.
std::vector<double> scores(const gpu::Problem& p) {
  const auto q = numbers(p, "q"), k = numbers(p, "k");
  const auto dim = static_cast<std::size_t>(p.operand("q").extent[3]);
  const auto keys = static_cast<std::size_t>(p.operand("k").extent[2]);
  const double scale = p.scale != 0 ? p.scale : 1 / std::sqrt(static_cast<double>(dim));
  std::vector<double> result;
  for (std::size_t j = 0; j < keys; ++j) {
    double sum = 0;
    for (std::size_t d = 0; d < dim; ++d) sum += q[d] * k[j * dim + d];
    result.push_back(sum * scale);
  }
  return result;
}

TEST(FlashFill, ScoresAreWhereTheyShouldBe) {
  for (const char* in : {"f32", "f16", "bf16", "tf32"}) {
    for (const char* dim : {"8", "46", "64", "256"}) {
      for (const char* scale : {"0", "0.3", "0.01", "-0.3", "-0.01"}) {
        const auto of = [&](const std::string& fill) {
          return scores(problem("keys=97 queries=1 tile=16x32 in=" + std::string(in) +
                                " dim=" + dim + " scale=" + scale + " fill=" + fill));
        };
        const auto low = of("low"), lowest = of("lowest"), up = of("A5"), down = of("A6");
        for (std::size_t j = 0; j < 97; ++j) {
          EXPECT_LT(low[j], -2) << in << dim << scale;
          EXPECT_GT(low[j], -25);
          EXPECT_LT(lowest[j], -5e4) << in << dim << scale;
          EXPECT_GT(lowest[j], -1.3e5);
        }
        const auto most = [](const std::vector<double>& all, std::size_t tile) {
          return *std::max_element(
              all.begin() + static_cast<std::ptrdiff_t>(32 * tile),
              all.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(97, 32 * tile + 32)));
        };
        for (std::size_t tile = 1; tile < 4; ++tile) {
          EXPECT_GE(most(up, tile), most(up, tile - 1) + 127.99);
          EXPECT_LE(most(down, tile), most(down, tile - 1) - 127.99);
        }
      }
    }
  }
}

TEST(FlashFill, ValuesCancelOverKeys) {
  for (const char* keys : {"1", "2", "97", "128"}) {
    const gpu::Problem p = problem("queries=1 dim=9 in=f16 fill=A2 keys=" + std::string(keys));
    const auto v = numbers(p, "v");
    for (std::size_t d = 0; d < 9; ++d) {
      double sum = 0;
      for (std::size_t j = d; j < v.size(); j += 9) sum += v[j];
      EXPECT_EQ(sum, 0);
    }
    for (const double x : numbers(p, "q")) EXPECT_EQ(x, 0);
  }
}

TEST(FlashFill, NamesOfKeysAreExactAndDiffer) {
  for (const char* in : {"f32", "f16", "bf16"}) {
    const auto v = numbers(problem("queries=1 keys=50 dim=8 fill=A1 in=" + std::string(in)), "v");
    std::set<double> first;
    for (std::size_t j = 0; j < 50; ++j) first.insert(v[j * 8]);
    EXPECT_EQ(first.size(), 50u);
    EXPECT_EQ(v, numbers(problem("queries=1 keys=50 dim=8 fill=A1 in=" + std::string(in) +
                                 " layout=permuted"),
                         "v"));
  }
}

TEST(FlashFill, SpecialPlacesOne) {
  std::set<std::string> seen;
  for (int seed = 1; seed < 60; ++seed) {
    const gpu::Problem p = problem("batches=2 heads=3 queries=5 keys=4 dim=8 fill=special seed=" +
                                   std::to_string(seed));
    int specials = 0;
    for (const char* operand : {"q", "k", "v"}) {
      for (const double x : numbers(p, operand)) {
        if (std::isfinite(x)) continue;
        ++specials;
        seen.insert(operand);
      }
    }
    EXPECT_EQ(specials, 1) << seed;
  }
  EXPECT_EQ(seen.size(), 3u);
}

// A conversion to the next narrower format makes scores equal that are not.
TEST(FlashFill, LastBitsTellScoresApart) {
  const auto found = scores(problem("queries=1 keys=50 dim=64 fill=score_low_bits in=f32"));
  const auto [least, most] = std::ranges::minmax(found);
  EXPECT_GT(most - least, 2);
  const gpu::Problem p = problem("queries=1 keys=50 dim=64 fill=score_low_bits in=f32");
  std::set<double> rounded;
  for (const double x : numbers(p, "k")) {
    if (x != 0) rounded.insert(reference::round_to(reference::Format::tf32, x));
  }
  EXPECT_LE(rounded.size(), 5u);
}

}  // namespace
}  // namespace halfulp::properties
