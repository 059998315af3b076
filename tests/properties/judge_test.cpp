// The pipeline in this process: verdicts, reasons, worst elements; exact evaluation; records.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "properties/check.hpp"
#include "properties/judging.hpp"
#include "properties/record.hpp"
#include "properties/setup.hpp"

namespace halfulp::properties {
namespace {

Judgement judge_line(const std::string& line) {
  const Parsed parsed = parse(line);
  EXPECT_FALSE(parsed.error) << parsed.error.what;
  return judge(parsed.value);
}

TEST(Judge, ARightKernelPasses) {
  const Judgement judgement = judge_line("vector_add fake_right n=33 fill=normal");
  EXPECT_EQ(judgement.verdict, Verdict::pass) << judgement.reason;
  EXPECT_EQ(judgement.elements, 33);
  EXPECT_EQ(judgement.failed, 0);
  ASSERT_EQ(judgement.worst.size(), 1u);
  EXPECT_GE(judgement.launches, 2);
}

TEST(Judge, AWrongElementIsNamedWithItsEnclosure) {
  const Judgement judgement = judge_line("vector_add fake_wrong n=9 fill=ones");
  EXPECT_EQ(judgement.verdict, Verdict::fail);
  EXPECT_EQ(judgement.failed, 1);
  EXPECT_EQ(judgement.reason, "1 of 9 elements");
  ASSERT_EQ(judgement.worst.size(), 1u);
  const Suspect& suspect = judgement.worst.front();
  EXPECT_EQ(suspect.output_name, "z");
  EXPECT_EQ(suspect.index, std::vector<std::int64_t>{5});
  EXPECT_EQ(suspect.bits, 0x40400000u);  // 3
  EXPECT_EQ(suspect.lo, 2);
  EXPECT_EQ(suspect.hi, 2);
  EXPECT_EQ(suspect.accept_lo, 0x40000000u);
  EXPECT_TRUE(std::isinf(suspect.error_over_bound));
  EXPECT_GE(judgement.exact_checked, 1);
}

TEST(Judge, EmptyOutputsHaveNoPower) {
  const Judgement judgement = judge_line("vector_add fake_right n=0");
  EXPECT_EQ(judgement.verdict, Verdict::powerless);
  EXPECT_EQ(judgement.reason, "no output elements: only what a kernel touches was checked");
  EXPECT_GE(judgement.launches, 2);
}

TEST(Judge, WhatCannotRunIsSkipped) {
  const Judgement built = judge_line("vector_add fake_right backend=host-checked n=4");
  EXPECT_EQ(built.verdict, Verdict::skipped);
  EXPECT_EQ(built.reason, "fake_right is not built for host-checked");
}

TEST(Judge, RepeatableKernelsMustRepeat) {
  int caught = 0;
  for (int seed = 1; seed <= 60; ++seed) {
    const Judgement judgement =
        judge_line("vector_add fake_unsteady n=9 fill=special seed=" + std::to_string(seed));
    if (judgement.verdict == Verdict::pass) continue;  // no NaN among the inputs
    EXPECT_EQ(judgement.verdict, Verdict::fail);
    EXPECT_EQ(judgement.reason, "declared repeatable, but gave 2 distinct results");
    ++caught;
  }
  EXPECT_GT(caught, 5);
}

TEST(Judge, LawsAreCheckedOnRequest) {
  const Judgement judgement = judge_line("vector_add fake_right n=7 law=commutes");
  EXPECT_EQ(judgement.verdict, Verdict::pass) << judgement.reason;
  EXPECT_GE(judgement.launches, 4);
}

// An operation whose output is one fp32 element, and whose two references are what a test says.
struct Scripted {
  Expected streamed;
  reference::Enclosure exact;
};
Scripted script;

void stream(const gpu::Problem&, const gpu::Numerics&, const reference::Sink& sink) {
  sink({0,
        0,
        {&script.streamed.value, 1},
        {&script.streamed.error, 1},
        {&script.streamed.bound, 1}});
}
reference::ExactAnswers evaluate_exactly(const gpu::Problem&, const gpu::Numerics&) {
  return [](reference::Element) { return script.exact; };
}

Judgement judge_scripted(const Scripted& scripted, float got) {
  script = scripted;
  Operation operation{};
  operation.name = "scripted";
  operation.evaluate = stream;
  operation.exact = evaluate_exactly;
  gpu::Problem problem;
  gpu::Operand output;
  output.name = "z";
  output.role = gpu::Role::output;
  output.extent = {1};
  output.stride = {1};
  problem.operands.push_back(output);
  const auto* bytes = reinterpret_cast<const std::byte*>(&got);
  const std::vector<gpu::Outputs> results{{std::vector<std::byte>(bytes, bytes + sizeof got)}};
  const gpu::Numerics numerics;
  Judging judging(operation, numerics, problem, results, 7);
  operation.evaluate(problem, numerics, [&](const reference::Rows& rows) { judging.see(rows); });
  Judgement judgement;
  judging.finish(judgement);
  return judgement;
}

TEST(Judging, UndecidedElementsAreSettledExactly) {
  // The error of the fast path leaves it open whether 1 + 2^-20 lies within 2^-21 of the truth.
  const Expected fast{1, 0x1p-20, 0x1p-21};
  const float got = 1 + 0x1p-20f;
  const double near = 1 + 0x1p-20, far = 1 - 0x1p-20;
  const Judgement right = judge_scripted({fast, {near, near}}, got);
  EXPECT_EQ(right.verdict, Verdict::pass);
  EXPECT_EQ(right.exact_checked, 1);
  const Judgement wrong = judge_scripted({fast, {far, far}}, got);
  EXPECT_EQ(wrong.verdict, Verdict::fail);
  EXPECT_EQ(wrong.worst.front().lo, far);
}

TEST(Judging, AContradictingReferenceIsReportedAsOurs) {
  const Judgement judgement = judge_scripted({{1, 0, 0.25}, {1.5, 1.5}}, 3);
  EXPECT_EQ(judgement.verdict, Verdict::faulted);
  EXPECT_EQ(judgement.fault.kind, gpu::FaultKind::none);
  EXPECT_NE(judgement.reason.find("BUG IN THE REFERENCE"), std::string::npos) << judgement.reason;
}

TEST(Judging, NodesWithoutEdgesArePositiveZero) {
  const Parsed parsed = parse("scatter_normalize gather_csc nodes=2 graph=empty seed=0x1");
  ASSERT_FALSE(parsed.error) << parsed.error.what;
  const Operation& operation = *find_operation("scatter_normalize");
  const gpu::Problem problem = operation.materialise(parsed.value);
  const gpu::Numerics numerics = gpu::find_kernel("scatter_normalize", "gather_csc")->numerics;
  for (const float zero : {0.0f, -0.0f}) {
    const std::vector<float> outputs(2, zero);
    const auto bytes = std::as_bytes(std::span(outputs));
    const std::vector<gpu::Outputs> results{{std::vector<std::byte>(bytes.begin(), bytes.end())}};
    Judging judging(operation, numerics, problem, results, 7);
    operation.evaluate(problem, numerics, [&](const reference::Rows& rows) { judging.see(rows); });
    Judgement judgement;
    judging.finish(judgement);
    EXPECT_EQ(judgement.verdict, std::signbit(zero) ? Verdict::fail : Verdict::pass);
    EXPECT_EQ(judgement.failed, std::signbit(zero) ? 2 : 0);
    EXPECT_EQ(std::isinf(judgement.worst_error_over_bound), std::signbit(zero));
  }
}

TEST(Judging, WideBoundsArePowerless) {
  const Judgement judgement = judge_scripted({{1, 0, 2}, {1, 1}}, 1);
  EXPECT_EQ(judgement.verdict, Verdict::powerless);
  EXPECT_EQ(judgement.reason, "no power in z: zeros would pass");
  EXPECT_EQ(judge_scripted({{1, 0, 2}, {1, 1}}, 4).verdict, Verdict::fail);
}

// `count` elements whose truth is 1; counts what is asked exactly.
std::int64_t asked = 0;

reference::ExactAnswers count_questions(const gpu::Problem&, const gpu::Numerics&) {
  return [](reference::Element) {
    ++asked;
    return reference::Enclosure{1, 1};
  };
}

Judgement judge_ones(std::int64_t count, float got, std::uint64_t seed = 7) {
  Operation operation{};
  operation.exact = count_questions;
  gpu::Problem problem;
  gpu::Operand output;
  output.name = "z";
  output.role = gpu::Role::output;
  output.extent = {count};
  output.stride = {1};
  problem.operands.push_back(output);
  const std::vector<float> outputs(static_cast<std::size_t>(count), got);
  const auto bytes = std::as_bytes(std::span(outputs));
  const std::vector<gpu::Outputs> results{{std::vector<std::byte>(bytes.begin(), bytes.end())}};
  const gpu::Numerics numerics;
  const std::vector<double> value(outputs.size(), 1), none(outputs.size(), 0);
  asked = 0;
  Judging judging(operation, numerics, problem, results, seed);
  judging.see({0, 0, value, none, none});
  Judgement judgement;
  judging.finish(judgement);
  return judgement;
}

TEST(Judging, EveryFailingElementIsEvaluatedExactly) {
  const Judgement judgement = judge_ones(100000, 2);
  EXPECT_EQ(judgement.failed, 100000);
  EXPECT_EQ(judgement.exact_checked, 100000);
  EXPECT_EQ(judgement.reason, "100000 of 100000 elements");
  EXPECT_EQ(asked, 100000);
  EXPECT_EQ(judgement.worst.size(), 8u);
  EXPECT_EQ(judgement.worst.front().index, std::vector<std::int64_t>{0});
}

TEST(Judging, PastAMillionFailingElementsTheReasonSaysHowManyWereEvaluated) {
  const Judgement judgement = judge_ones(1050000, 2);
  EXPECT_EQ(judgement.failed, 1050000);
  EXPECT_EQ(asked, 1 << 20);
  EXPECT_EQ(judgement.reason, "1050000 of 1050000 elements, 1048576 of them evaluated exactly");
}

TEST(Judging, OnePercentIsAudited) {
  const Judgement judgement = judge_ones(100000, 1);
  EXPECT_EQ(judgement.verdict, Verdict::pass);
  EXPECT_EQ(judgement.exact_checked, asked);
  EXPECT_GT(asked, 840);  // five standard deviations
  EXPECT_LT(asked, 1160);
}

TEST(Judging, AtLeastOneElementOfAnOutputIsAudited) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    judge_ones(3, 1, seed);
    EXPECT_GE(asked, 1) << seed;
  }
}

TEST(Record, RoundTripsEveryField) {
  Judgement judgement;
  judgement.verdict = Verdict::faulted;
  judgement.reason = "quote \" and newline \n and \x01";
  judgement.fault = {gpu::FaultKind::out_of_bounds, "z[3]"};
  judgement.worst_error_over_bound = std::numeric_limits<double>::infinity();
  judgement.elements = 1;
  judgement.failed = 2;
  judgement.unbounded = 3;
  judgement.exact_checked = 4;
  judgement.launches = 5;
  judgement.advice = {6, 7, 1.5, "c[1,2]"};
  judgement.kernel_seconds = 0.1;
  Suspect suspect;
  suspect.output = 1;
  suspect.output_name = "e_out";
  suspect.index = {1, 2, 3};
  suspect.bits = 0xfedcba9876543210u;
  suspect.got = std::numeric_limits<double>::quiet_NaN();
  suspect.lo = -std::numeric_limits<double>::infinity();
  suspect.hi = 0.1;
  suspect.bound = 0x1.23456789abcdfp-700;
  judgement.worst.push_back(suspect);
  Judgement back;
  const std::string record = to_record(judgement);
  EXPECT_EQ(record.find('\n'), std::string::npos);
  ASSERT_TRUE(from_record(record, back));
  EXPECT_EQ(to_record(back), record);
  EXPECT_EQ(back.reason, judgement.reason);
  EXPECT_EQ(back.fault.kind, judgement.fault.kind);
  EXPECT_EQ(back.worst[0].bits, suspect.bits);
  EXPECT_EQ(back.advice.where, "c[1,2]");
  EXPECT_EQ(back.advice.beyond, 7);
  EXPECT_EQ(back.worst[0].bound, suspect.bound);
  EXPECT_TRUE(std::isnan(back.worst[0].got));
  EXPECT_FALSE(from_record("{\"verdict\":\"pass\"}", back));
  EXPECT_FALSE(from_record("not json", back));
}

}  // namespace
}  // namespace halfulp::properties
