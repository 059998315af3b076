// Fills: exact probes are what they promise, random values have the right moments.
#include "properties/fill.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "properties/spec.hpp"
#include "tests/properties/materialised.hpp"

namespace halfulp::properties {
namespace {

constexpr std::string_view kAdd = "vector_add";
const std::string kScatter = "scatter_normalize";
const std::string kAttention = "graph_attention";

TEST(Fill, NormalAndUniformHaveTheirMoments) {
  for (const auto& [fill, variance] : {std::pair{"normal", 1.0104}, {"uniform", 1.0 / 3}}) {
    const auto x =
        numbers(problem_of("vector_add", "n=100000 seed=0x5 fill=" + std::string(fill)), "x");
    double sum = 0, squares = 0, largest = 0;
    for (const double value : x) {
      sum += value;
      squares += value * value;
      largest = std::max(largest, std::fabs(value));
    }
    // Five standard deviations of the mean and of the variance.
    EXPECT_LT(std::fabs(sum / 1e5), 5 * std::sqrt(variance / 1e5)) << fill;
    EXPECT_LT(std::fabs(squares / 1e5 - variance), 5 * variance * std::sqrt(2 / 1e5)) << fill;
    EXPECT_GT(largest, fill == std::string("normal") ? 3.5 : 0.99);
  }
}

TEST(Fill, ValuesDoNotDependOnTheExtents) {
  const auto small = numbers(problem_of(kAttention, "nodes=3 heads=2 dim=3 graph=ring"), "q");
  const auto large = numbers(problem_of(kAttention, "nodes=9 heads=4 dim=8 graph=ring"), "q");
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 2; ++j) {
      for (std::size_t k = 0; k < 3; ++k) {
        EXPECT_EQ(small[(i * 2 + j) * 3 + k], large[(i * 4 + j) * 8 + k]);
      }
    }
  }
}

TEST(Fill, LayoutsDoNotChangeValues) {
  const auto packed = numbers(problem_of(kAttention, "nodes=4 heads=3 dim=5 graph=ring"), "v");
  for (const char* layout : {"gap:2", "permuted", "offset:1"}) {
    EXPECT_EQ(packed, numbers(problem_of(kAttention, "nodes=4 heads=3 dim=5 graph=ring layout=" +
                                                         std::string(layout)),
                              "v"));
  }
}

// A probe's data must be the same numbers in every storage format, or its sums are not exact.
TEST(Fill, ProbesAreExactInEveryFormat) {
  for (const Fill& fill : fills()) {
    const bool own_units = fill.name == "S8" || split(fill.operations, '|')[0] == kAdd;
    const std::string operation(split(fill.operations, '|')[0]);
    const bool elsewhere = operation == "matmul" || operation == "flash_attention";
    if (!fill.probe || own_units || elsewhere) continue;
    std::map<std::string, std::vector<double>> first;
    for (const char* format : {"f32", "f16", "bf16"}) {
      const gpu::Problem problem =
          problem_of(operation, "nodes=9 heads=2 dim=16 graph=random:70 in=" + std::string(format) +
                                    " fill=" + std::string(fill.name));
      for (const gpu::Operand& operand : problem.operands) {
        // Random companions of a probe are rounded like any other value.
        const bool free = (fill.name == "G2" || fill.name == "G6") && operand.name == "k";
        const bool values = fill.name == "G5" && operand.name == "v";
        if (operand.role == gpu::Role::output || operand.format == gpu::Format::i32) continue;
        // G7 takes its logits from all bits that the format can hold.
        const bool logits = fill.name == "G7" && operand.name == "e";
        if (free || values || logits) continue;
        const auto found = numbers(problem, operand.name);
        const auto [known, is_new] = first.emplace(operand.name, found);
        EXPECT_EQ(known->second, found) << fill.name << " " << operand.name << " " << format;
      }
    }
  }
}

TEST(Fill, TiesLieHalfwayBetweenNeighbours) {
  using reference::Format;
  for (const auto& [name, format] :
       {std::pair{"f32", Format::fp32}, {"f16", Format::fp16}, {"bf16", Format::bf16}}) {
    const gpu::Problem problem =
        problem_of("vector_add", "n=2000 fill=ties in=" + std::string(name));
    const auto x = numbers(problem, "x"), y = numbers(problem, "y");
    int ties = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double sum = x[i] + y[i];  // exact: at most 49 bits
      const double low = reference::round_to(format, sum, reference::Rounding::downward);
      const double high = reference::round_to(format, sum, reference::Rounding::upward);
      ties += high - low > 0 && sum - low == high - sum;
    }
    EXPECT_GT(ties, 700) << name;
    EXPECT_LT(ties, 1900) << name;
  }
}

TEST(Fill, OverflowReachesBothSides) {
  const gpu::Problem problem = problem_of("vector_add", "n=200 fill=overflow in=f16");
  const auto x = numbers(problem, "x"), y = numbers(problem, "y");
  std::set<double> sums;
  for (std::size_t i = 0; i < x.size(); ++i) sums.insert(std::fabs(x[i] + y[i]));
  EXPECT_EQ(sums, (std::set<double>{65504, 65512, 65520, 65528, 65536}));
}

TEST(Fill, SpecialPlacesOne) {
  for (int seed = 1; seed < 40; ++seed) {
    int specials = 0;
    const gpu::Problem problem =
        problem_of(kAttention, "nodes=5 heads=2 dim=3 graph=random:9 fill=special seed=" +
                                   std::to_string(seed));
    for (const char* name : {"q", "k", "v", "e"}) {
      for (const double value : numbers(problem, name)) specials += !std::isfinite(value);
    }
    EXPECT_EQ(specials, 1) << seed;
  }
}

// The sum of a node's scores must stay away from zero, or nothing can be concluded from the
// quotient.
TEST(Fill, DenominatorsStayAwayFromZero) {
  for (const std::string_view fill : split(fill_words(kScatter), '|')) {
    if (fill == "S6" || fill == "special") continue;
    const gpu::Problem problem =
        problem_of(kScatter, "nodes=20 heads=2 dim=1 graph=random:100 fill=" + std::string(fill));
    const auto scores = numbers(problem, "scores");
    const auto destination = ids(problem, "destination");
    std::map<std::pair<int, int>, std::pair<double, double>> sums;
    for (std::size_t edge = 0; edge < destination.size(); ++edge) {
      for (int head = 0; head < 2; ++head) {
        const double score = scores[edge * 2 + static_cast<std::size_t>(head)];
        auto& [sum, size] = sums[{destination[edge], head}];
        sum += score;
        size += std::fabs(score);
      }
    }
    for (const auto& [node, sum] : sums) {
      EXPECT_GE(std::fabs(sum.first), sum.second / 4) << fill;
      EXPECT_GT(sum.second, 0) << fill;
    }
  }
}

TEST(Fill, S3NamesEveryEdge) {
  const auto values =
      numbers(problem_of(kScatter, "nodes=2 dim=12 graph=random:60 fill=S3"), "values");
  std::set<std::vector<double>> codes;
  for (std::size_t edge = 0; edge < 60; ++edge) {
    const auto row = values.begin() + static_cast<std::ptrdiff_t>(edge * 12);
    codes.insert({row, row + 12});
    for (std::ptrdiff_t bit = 0; bit < 6; ++bit) EXPECT_EQ(row[2 * bit] + row[2 * bit + 1], 1);
  }
  EXPECT_EQ(codes.size(), 60u);
}

TEST(Fill, S4Cancels) {
  const gpu::Problem problem = problem_of(kScatter, "nodes=3 graph=random:60 fill=S4");
  const auto values = numbers(problem, "values");
  std::map<int, double> sums;
  std::map<int, int> large;
  for (std::size_t edge = 0; edge < 60; ++edge) {
    const int node = ids(problem, "destination")[edge];
    sums[node] += values[edge];
    large[node] += std::fabs(values[edge]) == 4096;
  }
  for (const auto& [node, count] : large) {
    EXPECT_EQ(count, 2);
    EXPECT_LT(std::fabs(sums[node]), 60);
  }
}

TEST(Fill, S5SumsToPowersOfTwo) {
  for (int degree = 1; degree < 70; ++degree) {
    const auto scores = numbers(
        problem_of(kScatter, "nodes=1 graph=hub:" + std::to_string(degree) + " fill=S5 in=bf16"),
        "scores");
    double sum = 0;
    for (const double score : scores) sum += score;
    EXPECT_GE(sum, 32);
    EXPECT_EQ(std::exp2(std::round(std::log2(sum))), sum) << degree;
  }
}

TEST(Fill, S5TiesEndHalfwayBetweenStoredNumbers) {
  using reference::Format;
  for (const auto& [name, format] : {std::pair{"f16", Format::fp16}, {"bf16", Format::bf16}}) {
    int ties = 0, quotients = 0;
    for (const int degree : {1, 2, 3, 5, 8, 31, 64, 100, 1025, 4097}) {
      const gpu::Problem problem =
          problem_of(kScatter, "nodes=1 dim=8 graph=hub:" + std::to_string(degree) +
                                   " eps=1 fill=S5-ties in=" + name);
      double below = 1;
      for (const double score : numbers(problem, "scores")) below += score;
      EXPECT_EQ(below, 32) << degree;
      std::vector<double> above(8);
      const auto values = numbers(problem, "values");
      for (std::size_t i = 0; i < values.size(); ++i) above[i % 8] += values[i];
      for (const double sum : above) {
        const double low = reference::round_to(format, sum / 32, reference::Rounding::downward);
        const double high = reference::round_to(format, sum / 32, reference::Rounding::upward);
        ties += high > low && sum / 32 - low == high - sum / 32;
        ++quotients;
      }
    }
    EXPECT_GE(ties, 4) << name << ": of " << quotients;
  }
}

// Products, and logits before their clip, of a graph attention problem.
struct Logits {
  std::vector<double> t;
  std::vector<double> logit;
};
Logits logits(const gpu::Problem& problem) {
  Logits result;
  const auto q = numbers(problem, "q"), k = numbers(problem, "k"), e = numbers(problem, "e");
  const auto source = ids(problem, "source"), destination = ids(problem, "destination");
  const auto heads = static_cast<std::size_t>(problem.operand("q").extent[1]);
  const auto dim = static_cast<std::size_t>(problem.operand("q").extent[2]);
  for (std::size_t edge = 0; edge < source.size(); ++edge) {
    for (std::size_t head = 0; head < heads; ++head) {
      double sum = 0;
      for (std::size_t d = 0; d < dim; ++d) {
        const auto at = [&](std::size_t row) { return (row * heads + head) * dim + d; };
        const double t = q[at(static_cast<std::size_t>(destination[edge]))] *
                         k[at(static_cast<std::size_t>(source[edge]))] /
                         std::sqrt(static_cast<double>(dim));
        result.t.push_back(t);
        sum += std::clamp(t, -5.0, 5.0) * e[at(edge)];
      }
      result.logit.push_back(sum);
    }
  }
  return result;
}

TEST(Fill, G3HitsTheClipExactly) {
  const auto found =
      logits(problem_of(kAttention, "nodes=9 heads=2 dim=16 graph=random:70 fill=G3 in=bf16"));
  const std::set<double> t(found.t.begin(), found.t.end());
  for (const double value : {5.0, -5.0, 5.125, -5.125, 4.875, -4.875}) {
    EXPECT_TRUE(t.contains(value)) << value;
  }
}

TEST(Fill, G4IsBalancedOrNot) {
  for (const int dim : {1, 2, 5, 64}) {
    const std::string fields =
        "nodes=7 heads=2 graph=random:40 dim=" + std::to_string(dim) + " fill=";
    const auto balanced = logits(problem_of(kAttention, fields + "G4"));
    for (const double t : balanced.t) EXPECT_GT(std::fabs(t), 6);
    for (const double logit : balanced.logit) EXPECT_EQ(logit, 0);
    const auto unbalanced = logits(problem_of(kAttention, fields + "G4-unbalanced"));
    for (const double logit : unbalanced.logit) EXPECT_GE(std::fabs(logit), 5);
    EXPECT_LT(*std::min_element(unbalanced.logit.begin(), unbalanced.logit.end()), 0);
    EXPECT_GT(*std::max_element(unbalanced.logit.begin(), unbalanced.logit.end()), 0);
  }
}

TEST(Fill, G5IsAtTheLowerClip) {
  const auto found =
      logits(problem_of(kAttention, "nodes=7 heads=2 dim=3 graph=random:40 fill=G5"));
  for (const double logit : found.logit) EXPECT_LE(logit, -5);
}

TEST(Fill, G7HasOneLogitThatMatters) {
  const gpu::Problem problem =
      problem_of(kAttention, "nodes=9 heads=2 dim=4 graph=random:40 fill=G7");
  const auto found = logits(problem);
  const auto destination = ids(problem, "destination");
  std::map<std::size_t, int> seen;
  for (std::size_t edge = 0; edge < destination.size(); ++edge) {
    const int rank = seen[static_cast<std::size_t>(destination[edge])]++;
    for (std::size_t head = 0; head < 2; ++head) {
      const double logit = found.logit[edge * 2 + head];
      EXPECT_EQ(static_cast<double>(static_cast<float>(logit)), logit);
      if (rank == 0) {
        EXPECT_EQ(logit, 0);
      } else if (rank == 1) {
        EXPECT_TRUE(logit > std::log(128) && logit < 4.89) << logit;
      } else {
        EXPECT_EQ(logit, -5);
      }
    }
  }
}

TEST(Fill, G2AndG6HaveNoQuery) {
  for (const char* fill : {"G2", "G6"}) {
    const gpu::Problem problem =
        problem_of(kAttention, "nodes=30 dim=12 graph=ring fill=" + std::string(fill));
    for (const double value : numbers(problem, "q")) EXPECT_EQ(value, 0);
  }
  const auto v = numbers(problem_of(kAttention, "nodes=60 dim=12 graph=ring fill=G6"), "v");
  std::set<std::vector<double>> codes;
  for (auto row = v.begin(); row != v.end(); row += 12) codes.insert({row, row + 12});
  EXPECT_EQ(codes.size(), 60u);
}

TEST(Fill, ClipIsWithinTwoSteps) {
  for (const int dim : {1, 3, 16, 33, 128}) {
    const auto found = logits(problem_of(
        kAttention, "nodes=40 heads=2 graph=random:80 fill=clip dim=" + std::to_string(dim)));
    int near = 0, above = 0;
    for (const double t : found.t) {
      const double distance = std::fabs(t) - 5;
      near += std::fabs(distance) < 3 * 0x1p-21;  // a step is at most 2^-21 here
      above += distance > 0 && distance < 3 * 0x1p-21;
    }
    EXPECT_GT(near, static_cast<int>(found.t.size()) / 4) << dim;
    EXPECT_GT(above, 0) << dim;
    EXPECT_LT(above, near) << dim;
  }
}

TEST(Fill, SaturatingReachesBothClips) {
  for (const int dim : {1, 16, 64, 128}) {
    const auto found = logits(problem_of(
        kAttention, "nodes=7 heads=2 graph=random:60 fill=saturating dim=" + std::to_string(dim)));
    const auto beyond = [](const std::vector<double>& values) {
      return std::count_if(values.begin(), values.end(),
                           [](double value) { return std::fabs(value) > 5; });
    };
    EXPECT_GT(beyond(found.t), 0) << dim;
    EXPECT_LT(beyond(found.t), static_cast<std::ptrdiff_t>(found.t.size())) << dim;
    EXPECT_GT(beyond(found.logit), 0) << dim;
    EXPECT_LT(beyond(found.logit), static_cast<std::ptrdiff_t>(found.logit.size())) << dim;
  }
}

}  // namespace
}  // namespace halfulp::properties
