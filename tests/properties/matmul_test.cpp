// matmul from case line to verdict, with kernels of plain loops.
#include <gtest/gtest.h>
#include <rapidcheck/Random.h>

#include <cmath>
#include <functional>

#include "properties/check.hpp"
#include "properties/fill.hpp"
#include "properties/kept_problem.hpp"
#include "properties/report.hpp"
#include "properties/setup.hpp"
#include "properties/spec.hpp"
#include "tests/properties/materialised.hpp"

namespace halfulp::properties {
namespace {

Case case_of(const std::string& kernel_and_fields) {
  const Parsed parsed = parse("matmul " + kernel_and_fields);
  EXPECT_EQ(parsed.error.what, "") << kernel_and_fields;
  return parsed.error ? Case{} : parsed.value;
}

gpu::Problem problem(const std::string& fields) {
  const Case c = case_of("fake_right " + fields);
  return find_operation("matmul")->materialise(c);
}

std::string error_of(const std::string& line) { return parse(line).error.what; }

TEST(Matmul, LinesReadBack) {
  for (const char* line :
       {"matmul fake_right backend=host in=f16 m=65 n=3 k=129 fill=M1 seed=0x1",
        "matmul fake_right backend=host in=tf32 m=1 n=1 k=0 transpose=ab tile=64x64x32 group=8 "
        "splits=3 programs=7 two_tile=1 fill=normal layout=gap:3 seed=0x7"}) {
    const Parsed parsed = parse(line);
    ASSERT_EQ(parsed.error.what, "");
    EXPECT_EQ(print(parsed.value), line);
    EXPECT_EQ(parse(print(parsed.value)).value, parsed.value);
  }
}

TEST(Matmul, ParametersAreThoseOfTheKernel) {
  EXPECT_EQ(error_of("matmul fake_plain programs=4"),
            "programs=4: fake_plain takes no launch parameters");
  EXPECT_EQ(error_of("matmul fake_right tile=8x8x8"),
            "tile=8x8x8: fake_right takes 32x32x32, 64x64x32");
  EXPECT_EQ(error_of("matmul fake_right splits=17"), "splits=17: fake_right takes 1 to 16");
  const gpu::Problem two = problem("tile=64x64x32 splits=3");
  ASSERT_EQ(two.settings.size(), 5u);
  EXPECT_EQ(two.settings[0].name, "tile");
  EXPECT_EQ(two.settings[0].value, 1);
  EXPECT_EQ(two.settings[0].word, "64x64x32");
  EXPECT_EQ(two.settings[2].value, 3);
  EXPECT_EQ(problem("m=1").settings[0].word, "32x32x32");
}

TEST(Matmul, TransposedOperandsHoldTheSameNumbers) {
  const gpu::Problem plain = problem("m=5 n=4 k=3 layout=gap:2");
  const gpu::Problem turned = problem("m=5 n=4 k=3 layout=gap:2 transpose=ab");
  EXPECT_EQ(plain.operand("a").stride, (std::vector<std::int64_t>{5, 1}));
  EXPECT_EQ(turned.operand("a").stride, (std::vector<std::int64_t>{1, 7}));
  EXPECT_EQ(turned.operand("b").stride, (std::vector<std::int64_t>{1, 5}));
  EXPECT_EQ(turned.operand("c").stride, (std::vector<std::int64_t>{6, 1}));
  for (const char* name : {"a", "b"}) EXPECT_EQ(numbers(plain, name), numbers(turned, name));
}

// Reads beyond a row must show: gaps between rows are NaN, whatever the fill.
TEST(Matmul, GapsHoldNaN) {
  for (const char* transpose : {"none", "ab"}) {
    const gpu::Problem p =
        problem("in=f16 m=5 n=4 k=3 fill=M1 layout=gap:2 transpose=" + std::string(transpose));
    for (const char* name : {"a", "b"}) {
      const gpu::Operand& operand = p.operand(name);
      std::int64_t nans = 0;
      for (std::int64_t i = 0; i < operand.span_elements(); ++i) {
        const auto bits = get(operand, operand.storage.data(), i);
        nans += std::isnan(reference::decode(reference::Format::fp16, bits)) ? 1 : 0;
      }
      EXPECT_EQ(nans, operand.span_elements() - operand.count());
      EXPECT_GT(nans, 0);
    }
  }
}

TEST(Matmul, RightKernelsPassEveryFill) {
  for (const std::string_view fill : split(fill_words("matmul"), '|')) {
    for (const char* in : {"f32", "f16", "bf16", "tf32"}) {
      for (const char* sizes : {"m=9 n=7 k=70", "m=17 n=3 k=1", "m=2 n=9 k=300", "m=3 n=3 k=0"}) {
        const Case c = case_of("fake_right " + std::string(sizes) + " seed=0x9 in=" + in +
                               " fill=" + std::string(fill));
        const Judgement j = judge(c);
        EXPECT_EQ(name(j.verdict), "pass") << print(c) << " " << j.reason;
      }
    }
  }
}

TEST(Matmul, OneLostProductFails) {
  for (const char* in : {"f32", "f16", "bf16", "tf32"}) {
    const Case c = case_of("fake_dropped m=3 n=2 k=100 fill=M1 in=" + std::string(in));
    const Judgement j = judge(c);
    EXPECT_EQ(name(j.verdict), "fail") << in;
    EXPECT_EQ(j.failed, 1) << in;
  }
}

TEST(Matmul, ReportsNameTileProgramsAndK) {
  // 3 x 2 tiles of 3 blocks of k, in groups of 2 rows; all 6 are shared by 7 programs.
  const Case c = case_of(
      "fake_dropped_tile m=70 n=40 k=90 fill=normal tile=32x32x32 group=2 programs=7 seed=0x3");
  const Judgement j = judge(c);
  ASSERT_EQ(name(j.verdict), "fail");
  ASSERT_EQ(j.notes.size(), 2u);
  // Tile (1, 0) is number 1 of the order: iterations 3 to 5 of 18, and 18 = 4 * 3 + 3 * 2.
  EXPECT_NE(j.notes[0].find("tile (1, 0) of 3 x 2, number 1; computed by program 1 (k 0 to 89)"),
            std::string::npos)
      << j.notes[0];
  EXPECT_NE(j.notes[1].find("k 60 were left out (weight -1.00"), std::string::npos) << j.notes[1];
}

// Takes the first proposal that still fails, until none does.
Case smallest(Case c, const std::function<bool(const Case&)>& fails) {
  const Operation& operation = *find_operation("matmul");
  for (bool progress = true; progress;) {
    progress = false;
    for (const Case& simpler : operation.shrinks(c)) {
      EXPECT_LT(operation.weight(simpler), operation.weight(c)) << print(simpler);
      if (!fails(simpler)) continue;
      c = simpler;
      progress = true;
      break;
    }
  }
  return c;
}

TEST(Matmul, ShrinksToWhatMatters) {
  const Case c = case_of(
      "fake_right in=bf16 m=200 n=77 k=300 transpose=ab tile=64x64x32 group=5 splits=4 programs=9 "
      "two_tile=1 fill=M5 layout=gap:3 order=burst resident=7 seed=0xabc");
  EXPECT_EQ(print(smallest(c, [](const Case&) { return true; })),
            "matmul fake_right backend=host in=f32 m=0 n=0 k=0 tile=32x32x32 programs=1 fill=ones "
            "seed=0x1");
  const auto shared = [](const Case& tried) {
    return tried.integer("k") > 64 && tried.integer("m") > 0 && tried.integer("programs") > 2;
  };
  EXPECT_EQ(print(smallest(c, shared)),
            "matmul fake_right backend=host in=f32 m=1 n=0 k=65 tile=32x32x32 programs=3 fill=ones "
            "seed=0x1");
}

// What the host executor would take minutes for is skipped by its sizes: the same everywhere.
TEST(Matmul, CasesBeyondTheHostExecutorAreSkipped) {
  const auto skip = [](const std::string& line) { return set_up(parse(line).value).skip; };
  EXPECT_EQ(skip("matmul fake_right m=1 n=1 k=16777216 in=f16"),
            "its tiles hold 2^34 products, and backend host takes up to 2^31; cuda takes them all");
  EXPECT_EQ(skip("matmul fake_right m=1 n=1 k=2097152 in=f16"), "");
  EXPECT_NE(skip("matmul fake_right m=1 n=1 k=2097152 in=f16 tile=64x64x32"), "");
  EXPECT_EQ(skip("matmul fake_plain m=1 n=1 k=16777216 in=f16"), "");  // it has no tiles
  EXPECT_NE(skip("matmul tile backend=host-checked m=1 n=1 k=2097152 in=f16"), "");
  const std::string cuda = skip("matmul tile backend=cuda m=1 n=1 k=16777216 in=f16");
  EXPECT_EQ(cuda.find("products"), std::string::npos) << cuda;
}

// Sums of positive numbers that are always rounded down: within the bound of any order, and far
// beyond what roundings that are independent would make.
TEST(Matmul, AdviceNamesErrorsBeyondTheStatisticalBound) {
  const std::string fields = "m=3 n=4 k=5000 in=f32 fill=positive";
  const Judgement right = judge(case_of("fake_right " + fields), {.advise_always = true});
  EXPECT_EQ(right.verdict, Verdict::pass);
  EXPECT_EQ(right.advice.elements, 12);
  EXPECT_EQ(right.advice.beyond, 0);
  const Judgement biased = judge(case_of("fake_biased " + fields), {.advise_always = true});
  EXPECT_EQ(biased.verdict, Verdict::pass) << biased.reason;
  EXPECT_EQ(biased.advice.beyond, 12);
  EXPECT_GT(biased.advice.worst, 2);
  const std::string report = case_report(case_of("fake_biased " + fields), biased);
  EXPECT_NE(report.find("advice: 12 of 12 elements beyond the statistical bound, the worst"),
            std::string::npos)
      << report;
}

TEST(Matmul, AdviceIsForEveryEighthCaseUnlessAsked) {
  int advised = 0;
  for (int seed = 1; seed <= 400; ++seed) {
    const Case c = case_of("fake_right m=2 n=2 k=3 seed=" + std::to_string(seed));
    advised += judge(c).advice.elements > 0;
  }
  EXPECT_GT(advised, 25);
  EXPECT_LT(advised, 75);
}

void expect_same(const gpu::Problem& found, const gpu::Problem& expected, const Case& c) {
  ASSERT_EQ(found.operands.size(), expected.operands.size());
  for (std::size_t i = 0; i < found.operands.size(); ++i) {
    EXPECT_EQ(found.operands[i].format, expected.operands[i].format) << print(c);
    EXPECT_EQ(found.operands[i].extent, expected.operands[i].extent) << print(c);
    EXPECT_EQ(found.operands[i].stride, expected.operands[i].stride) << print(c);
    EXPECT_EQ(found.operands[i].base_offset, expected.operands[i].base_offset) << print(c);
    EXPECT_EQ(found.operands[i].storage, expected.operands[i].storage) << print(c);
  }
  ASSERT_EQ(found.settings.size(), expected.settings.size());
  for (std::size_t i = 0; i < found.settings.size(); ++i) {
    EXPECT_EQ(found.settings[i].name, expected.settings[i].name);
    EXPECT_EQ(found.settings[i].value, expected.settings[i].value);
    EXPECT_EQ(found.settings[i].word, expected.settings[i].word);
  }
}

// One problem serves kernel after kernel, and is the one that each of them would have made.
TEST(Matmul, AKeptProblemIsTheOneThatTheNextKernelAsksFor) {
  const Operation& operation = *find_operation("matmul");
  const gpu::Kernel& kernel = *gpu::find_kernel("matmul", "fake_right");
  KeptProblem kept;
  for (int seed = 1; seed <= 120; ++seed) {
    rc::Random random(static_cast<std::uint64_t>(seed));
    const Case first = operation.generate(kernel, gpu::Backend::host, random, seed % 40);
    Case next = make_case("matmul", "fake_plain");
    for (const Field& field : operation.fields) {
      if (!field.parameter) next.set(field.name, std::string(first.text(field.name)));
    }
    const std::int64_t made = kept.made();
    expect_same(kept.problem(operation, first), operation.materialise(first), first);
    expect_same(kept.problem(operation, next), operation.materialise(next), next);
    EXPECT_LE(kept.made(), made + 1) << print(first);
  }
}

TEST(Matmul, AnyOtherInputIsMadeAnew) {
  const Operation& operation = *find_operation("matmul");
  KeptProblem kept;
  const std::string fields = "m=3 n=4 k=5 in=f16 fill=normal ";
  kept.problem(operation, case_of("fake_right " + fields));
  for (const char* other :
       {"m=4", "n=5", "k=6", "in=bf16", "fill=M1", "seed=0x2", "transpose=a", "layout=gap:2"}) {
    Case c = case_of("fake_right " + fields);
    const std::string text = other;
    const std::size_t equals = text.find('=');
    c.set(text.substr(0, equals), text.substr(equals + 1));
    const std::int64_t made = kept.made();
    expect_same(kept.problem(operation, c), operation.materialise(c), c);
    EXPECT_EQ(kept.made(), made + 1) << other;
  }
}

}  // namespace
}  // namespace halfulp::properties
