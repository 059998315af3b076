// Operations from case to truth: a seed's problems have the same bits everywhere, operands are
// those the kernels expect, and the truth that the pipeline gets is that of the problem's own
// values.
#include "properties/operation.hpp"

#include <cmath>
#include <map>

#include "properties/fill.hpp"
#include "properties/graph_case.hpp"
#include "properties/spec.hpp"
#include "tests/properties/digest.hpp"
#include "tests/properties/materialised.hpp"

namespace halfulp::properties {
namespace {

struct Golden {
  std::string_view operation;
  std::string_view fill;
  std::uint64_t digest;
};

std::string sizes_of(std::string_view operation) {
  if (operation == "matmul") return "m=11 n=7 k=300";
  if (operation == "flash_attention") {
    return "batches=2 heads=3 queries=5 keys=70 dim=9 mask=bias:20";
  }
  return operation == "vector_add" ? "n=57" : "nodes=11 heads=2 dim=16 graph=random:40";
}

std::uint64_t digest_of(std::string_view operation, std::string_view fill) {
  Digest digest;
  for (const char* format : {"f32", "f16", "bf16"}) {
    digest.add(problem_of(std::string(operation), sizes_of(operation) + " seed=0x51f2 in=" +
                                                      format + " fill=" + std::string(fill)));
  }
  return digest.value();
}

// Written once: the meaning of every seed in every report. A change here breaks the replay of old
// case lines.
constexpr Golden kGolden[] = {
    {"vector_add", "ones", 0x158763cd213c6161},
    {"vector_add", "integers", 0x409f0b45b0e9eea4},
    {"vector_add", "one_hot", 0x528dd09eade48091},
    {"vector_add", "uniform", 0x5c63e8a79f02856b},
    {"vector_add", "normal", 0x836579936be2012c},
    {"vector_add", "positive", 0x30ff8ceb99d625f8},
    {"vector_add", "wide", 0x4502b9721360b710},
    {"vector_add", "cancelling", 0xe0788fa217460d3a},
    {"vector_add", "subnormal", 0x25b2c5fe671325b0},
    {"vector_add", "huge", 0x940cb86f301b3760},
    {"vector_add", "special", 0x94bc27938b4f4ff7},
    {"vector_add", "address", 0x630bd41b777a116c},
    {"vector_add", "ties", 0x6a5b5a522d62e366},
    {"vector_add", "overflow", 0xf1161ebe297b0b53},
    {"scatter_normalize", "ones", 0x6ba00386a0b8fccf},
    {"scatter_normalize", "integers", 0x32a5920a1a1ec7da},
    {"scatter_normalize", "one_hot", 0xb7dcfbc2eb9e9a6f},
    {"scatter_normalize", "uniform", 0xc115575a673c0fff},
    {"scatter_normalize", "normal", 0xe651bab4156c1b6},
    {"scatter_normalize", "positive", 0x6a667ab431d98ceb},
    {"scatter_normalize", "wide", 0x3597d199e61d7ed7},
    {"scatter_normalize", "cancelling", 0x961009dbaed0cc7b},
    {"scatter_normalize", "subnormal", 0xd5a9f5fb5aba74ec},
    {"scatter_normalize", "huge", 0x28ef6f2d69d3447},
    {"scatter_normalize", "special", 0xeda2d9d52664c0e0},
    {"scatter_normalize", "S1", 0x32a5920a1a1ec7da},
    {"scatter_normalize", "S2", 0x6ba00386a0b8fccf},
    {"scatter_normalize", "S3", 0x4b9c5091ea27fcff},
    {"scatter_normalize", "S4", 0x429804a7d4960b4f},
    {"scatter_normalize", "S5", 0xcb2e65ad37b264f3},
    {"scatter_normalize", "S5-ties", 0x8a3771e8c5ff945a},
    {"scatter_normalize", "S6", 0x62a3260f766296ae},
    {"scatter_normalize", "S8", 0x925ed4455b2598c6},
    {"graph_attention", "ones", 0xb1d5412bbe8a59ac},
    {"graph_attention", "integers", 0x9b4d123a18f6740e},
    {"graph_attention", "one_hot", 0x3f35782aa855670c},
    {"graph_attention", "uniform", 0xe70c1b35e98fc311},
    {"graph_attention", "normal", 0xda47e4130957a22b},
    {"graph_attention", "positive", 0xd16e94b7fa848604},
    {"graph_attention", "wide", 0x14756be32fe42797},
    {"graph_attention", "cancelling", 0x23f8a5f4020d5bf1},
    {"graph_attention", "subnormal", 0xde030856bcc57169},
    {"graph_attention", "huge", 0xe3455b1ca99ddf97},
    {"graph_attention", "special", 0xa74fe408e85e352},
    {"graph_attention", "saturating", 0x10ccb9b8087b0381},
    {"graph_attention", "clip", 0x53ad1a784378c3f1},
    {"graph_attention", "G2", 0xaf9104d20a443c95},
    {"graph_attention", "G3", 0x4599ea474cc0b201},
    {"graph_attention", "G4", 0x2df546018f704e3b},
    {"graph_attention", "G4-unbalanced", 0xafb516117b5f03b},
    {"graph_attention", "G5", 0xb0c89c72072543d8},
    {"graph_attention", "G6", 0xcb1901f2bf3e12a6},
    {"graph_attention", "G7", 0x52fbafbf9a4e2732},
    {"matmul", "ones", 0xc56dd76ab93b8b6},
    {"matmul", "integers", 0x5b850772f494164e},
    {"matmul", "uniform", 0xcac28473de9c3b73},
    {"matmul", "normal", 0xbd0cc78f57091862},
    {"matmul", "positive", 0xc7dd537dc5798e9f},
    {"matmul", "wide", 0x461c865fd1bf6b45},
    {"matmul", "cancelling", 0x2c399595e1435c0c},
    {"matmul", "subnormal", 0x111256d875d3c64c},
    {"matmul", "huge", 0x18daf46943519575},
    {"matmul", "special", 0x864d94e007136794},
    {"matmul", "M1", 0x4a4e0b1b53ca2336},
    {"matmul", "M2", 0x2e2927b7bb9f2db0},
    {"matmul", "M3", 0x7e99fad3f3fcf4f6},
    {"matmul", "M4", 0xce60416a64afb146},
    {"matmul", "M4-left", 0xab11c62982f2bb49},
    {"matmul", "M4-low", 0x9f415ab29d1f7559},
    {"matmul", "M5", 0x9ccf596219641c56},
    {"matmul", "M6", 0x7c98d7ac3d0f4d66},
    {"matmul", "M7", 0x623896cccb388051},
    {"matmul", "M8", 0x2917655a9dc9fe76},
    {"matmul", "chunks", 0xb884a281bf5ea114},
    {"matmul", "low_bit", 0xcd0f8bc4547e6566},
    {"flash_attention", "ones", 0xaad0d4f388059f10},
    {"flash_attention", "integers", 0x52b01fef19339194},
    {"flash_attention", "uniform", 0x8343f04924b2281f},
    {"flash_attention", "normal", 0x648c47d5bd9ee23d},
    {"flash_attention", "positive", 0xf354b85ef168a9b},
    {"flash_attention", "wide", 0xf0aff074e9dcad30},
    {"flash_attention", "cancelling", 0xb2e9e6fff639966b},
    {"flash_attention", "subnormal", 0xb71a3628d11eb375},
    {"flash_attention", "huge", 0xed1e8beb6d10f7ad},
    {"flash_attention", "special", 0xa6ce11311ca0558b},
    {"flash_attention", "A1", 0xe0d445adca3e3324},
    {"flash_attention", "A2", 0x6896736bf922083c},
    {"flash_attention", "A3", 0x2c9254c0f2e29aee},
    {"flash_attention", "A4", 0xde9ea64ff0fe0a82},
    {"flash_attention", "A5", 0x8c65562570d5ec6},
    {"flash_attention", "A6", 0xdfab0b992617b4d6},
    {"flash_attention", "A8", 0x40196fee00e40b3d},
    {"flash_attention", "A10", 0xa8287ccd3b95a74a},
    {"flash_attention", "rising", 0xc34ca779187fdc36},
    {"flash_attention", "falling", 0x873b7c4287348c36},
    {"flash_attention", "low", 0xd4190b68edd8c362},
    {"flash_attention", "lowest", 0x35f6315de390fc8a},
    {"flash_attention", "dominating", 0x2f3812ec0a875256},
    {"flash_attention", "hot", 0x249018099f055a0a},
    {"flash_attention", "last_channel", 0x8e39323f05f66877},
    {"flash_attention", "score_low_bits", 0xccc962d63084dd0f},
    {"flash_attention", "subnormal_q", 0xa5d289fb4a545822},
    {"flash_attention", "large_products", 0x9b6cf8522487cdc3},
};

TEST(Operation, SameSeedSameBits) {
  std::size_t next = 0;
  for (const Operation& operation : operations()) {
    for (const std::string_view fill : split(fill_words(operation.name), '|')) {
      const std::uint64_t found = digest_of(operation.name, fill);
      if (next >= std::size(kGolden) || kGolden[next].fill != fill ||
          kGolden[next].operation != operation.name || kGolden[next].digest != found) {
        ADD_FAILURE() << std::hex << "    {\"" << operation.name << "\", \"" << fill << "\", 0x"
                      << found << "},";
      }
      ++next;
    }
  }
  EXPECT_EQ(next, std::size(kGolden));
}

TEST(Operation, GraphsAndLayoutsHaveTheSameBitsToo) {
  Digest digest;
  for (const char* fields :
       {"graph=hub:30:shuffled layout=mixed", "graph=power:50:sorted layout=gap:3",
        "graph=duplicates:99:isolated_first layout=permuted", "graph=batch:3 layout=broadcast",
        "graph=bipartite:20 layout=offset:1", "graph=real:ligand_1hpv:1"}) {
    digest.add(
        problem_of("graph_attention", "nodes=40 heads=3 dim=5 seed=0x77 " + std::string(fields)));
  }
  EXPECT_EQ(digest.value(), 0xfd6b8f1cdc488451u);
}

TEST(Operation, OperandsAreThoseOfTheKernels) {
  const auto names = [](const gpu::Problem& problem) {
    std::vector<std::string> result;
    for (const gpu::Operand& operand : problem.operands) result.push_back(operand.name);
    return result;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(names(problem_of("vector_add", "n=3")), (Names{"x", "y", "z"}));
  EXPECT_EQ(names(problem_of("scatter_normalize", "nodes=3")),
            (Names{"values", "scores", "destination", "column_pointer", "edge_id", "out"}));
  const gpu::Problem attention = problem_of("graph_attention", "nodes=3 heads=2 dim=5 graph=chain");
  EXPECT_EQ(names(attention), (Names{"q", "k", "v", "e", "source", "destination", "column_pointer",
                                     "column_source", "edge_id", "out", "e_out"}));
  EXPECT_EQ(attention.operand("e").extent, (std::vector<std::int64_t>{2, 2, 5}));
  EXPECT_EQ(attention.operand("out").extent, (std::vector<std::int64_t>{3, 2, 5}));
  EXPECT_EQ(ids(attention, "column_pointer"), (std::vector<std::int32_t>{0, 0, 1, 2}));
  EXPECT_TRUE(attention.operand("out").storage.empty());
  EXPECT_EQ(attention.epsilon, 1e-6f);
}

// Truth of every element, by output.
std::vector<std::vector<double>> truth(const std::string& operation, const gpu::Problem& problem,
                                       const gpu::Numerics& numerics) {
  std::vector<std::vector<double>> values;
  for (const gpu::Operand& operand : problem.operands) {
    if (operand.role == gpu::Role::output) {
      values.emplace_back(static_cast<std::size_t>(operand.count()), -12345.0);
    }
  }
  find_operation(operation)->evaluate(problem, numerics, [&](const reference::Rows& rows) {
    for (std::size_t i = 0; i < rows.value.size(); ++i) {
      values[static_cast<std::size_t>(rows.output)][static_cast<std::size_t>(rows.first) + i] =
          rows.value[i];
    }
  });
  return values;
}

TEST(Operation, TruthOfScatterIsThatOfItsValues) {
  for (const char* layout : {"packed", "gap:3", "permuted", "broadcast", "mixed"}) {
    const gpu::Problem problem =
        problem_of("scatter_normalize",
                   "nodes=5 heads=2 dim=3 graph=random:14 eps=1 layout=" + std::string(layout));
    const auto values = numbers(problem, "values"), scores = numbers(problem, "scores");
    const auto destination = ids(problem, "destination");
    const auto found = truth("scatter_normalize", problem, {.division = gpu::Division::ieee}).at(0);
    for (std::size_t i = 0; i < found.size(); ++i) {
      const std::size_t node = i / 6, head = i / 3 % 2, channel = i % 3;
      double numerator = 0, denominator = 1;
      for (std::size_t edge = 0; edge < destination.size(); ++edge) {
        if (static_cast<std::size_t>(destination[edge]) != node) continue;
        numerator += values[(edge * 2 + head) * 3 + channel];
        denominator += scores[edge * 2 + head];
      }
      const double expected = numerator / denominator;
      EXPECT_LE(std::fabs(found[i] - expected), 1e-12 * std::fabs(expected)) << layout << " " << i;
    }
  }
}

TEST(Operation, TruthOfAttentionIsThatOfItsValues) {
  const gpu::Problem problem = problem_of(
      "graph_attention", "nodes=5 heads=2 dim=3 graph=random:14:shuffled layout=mixed eps=0.001");
  const auto q = numbers(problem, "q"), k = numbers(problem, "k"), v = numbers(problem, "v");
  const auto e = numbers(problem, "e");
  const auto source = ids(problem, "source"), destination = ids(problem, "destination");
  gpu::Numerics numerics;
  numerics.scale = gpu::Scale::reciprocal;
  numerics.exponential = gpu::Exponential::expf;
  const auto found = truth("graph_attention", problem, numerics);
  std::vector<double> sums(30, 0.0), weights(10, static_cast<double>(0.001f)), scores(84, 0.0);
  for (std::size_t edge = 0; edge < source.size(); ++edge) {
    const auto from = static_cast<std::size_t>(source[edge]);
    const auto to = static_cast<std::size_t>(destination[edge]);
    for (std::size_t head = 0; head < 2; ++head) {
      double logit = 0;
      for (std::size_t d = 0; d < 3; ++d) {
        const auto at = [&](std::size_t row) { return (row * 2 + head) * 3 + d; };
        const double t = std::clamp(k[at(from)] * q[at(to)] / std::sqrt(3.0), -5.0, 5.0);
        scores[at(edge)] = t * e[at(edge)];
        logit += scores[at(edge)];
      }
      const double weight = std::exp(std::clamp(logit, -5.0, 5.0));
      weights[to * 2 + head] += weight;
      for (std::size_t d = 0; d < 3; ++d) {
        sums[(to * 2 + head) * 3 + d] += weight * v[(from * 2 + head) * 3 + d];
      }
    }
  }
  for (std::size_t i = 0; i < sums.size(); ++i) {
    EXPECT_LE(std::fabs(found[0][i] - sums[i] / weights[i / 3]), 1e-12) << i;
  }
  for (std::size_t i = 0; i < scores.size(); ++i) {
    EXPECT_LE(std::fabs(found[1][i] - scores[i]), 1e-12) << i;
  }
}

TEST(Operation, SummaryOfAGraph) {
  const Parsed parsed =
      parse("graph_attention " + first_kernel("graph_attention") + " nodes=4 graph=star");
  EXPECT_EQ(graph_summary(parsed.value),
            "4 nodes, 3 edges, in-degree 0..3, 3 without incoming edges");
}

TEST(Operation, OversizedProblemsNameTheField) {
  const std::string start = "graph_attention " + first_kernel("graph_attention") + " ";
  const auto error = [&](const std::string& fields) { return parse(start + fields).error.what; };
  EXPECT_NE(error("nodes=1000000000000").find("nodes=1000000000000: expected an integer"),
            std::string::npos);
  EXPECT_NE(
      error("nodes=100000000 heads=4 dim=32").find("nodes=100000000: the operands would take"),
      std::string::npos);
  EXPECT_NE(error("nodes=3 dim=1000000 heads=60000").find("dim=1000000: the operands would take"),
            std::string::npos);
  EXPECT_NE(error("nodes=10 dim=1000 graph=random:100000000").find("100000000 edges"),
            std::string::npos);
  EXPECT_NE(error("fill=G3 dim=5").find("dim=5: fill=G3 needs 1, 4, 16, 64 or 256"),
            std::string::npos);
  EXPECT_NE(error("eps=0").find("eps=0: expected a number from"), std::string::npos);
  EXPECT_NE(error("law=nothing").find("expected one of none, edge_permutation"), std::string::npos);
}

}  // namespace
}  // namespace halfulp::properties
