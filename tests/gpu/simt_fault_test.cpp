// Every planted fault is found: by the checker in round robin and reverse order, with its kind,
// place and operand; and, where a schedule can show it, by values or a report in the plain build.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/gpu/simt_run.hpp"

namespace halfulp::gpu::simt_test {
namespace {

using simt::FaultKind;

struct Planted {
  const char* kernel;
  Plant plant;
  std::vector<FaultKind> kinds;   // any of these
  std::vector<std::string> text;  // each is part of the report
};

void PrintTo(const Planted& planted, std::ostream* out) {
  *out << planted.kernel << " " << static_cast<int>(planted.plant);
}

#define SKIP_WITHOUT_CHECKER() \
  if (!simt::checker_available()) GTEST_SKIP() << "no checker in a sanitizer build"

class SimtFault : public testing::TestWithParam<Planted> {};

TEST_P(SimtFault, CheckedInEveryOrder) {
  SKIP_WITHOUT_CHECKER();
  const Planted& planted = GetParam();
  for (const simt::Order order :
       {simt::Order::round_robin, simt::Order::reverse, simt::Order::burst}) {
    const Result result = run(planted.kernel, planted.plant, config_of(order, true));
    SCOPED_TRACE("order " + std::to_string(static_cast<int>(order)) + ": " + result.fault.text);
    EXPECT_TRUE(std::count(planted.kinds.begin(), planted.kinds.end(), result.fault.kind))
        << simt::name(result.fault.kind);
    for (const std::string& part : planted.text) {
      EXPECT_NE(result.fault.text.find(part), std::string::npos) << "no '" << part << "'";
    }
    EXPECT_EQ(result.status, result.fault.text);
  }
}

const std::string kFile = "simt_kernels.cpp:";
INSTANTIATE_TEST_SUITE_P(
    Planted, SimtFault,
    testing::Values(
        Planted{"neighbour_sum",
                Plant::first,
                {FaultKind::race, FaultKind::uninitialised},
                {kFile, "tile"}},
        Planted{"warp_broadcast",
                Plant::first,
                {FaultKind::race, FaultKind::uninitialised},
                {kFile, "first"}},
        Planted{"buffer_reuse",
                Plant::first,
                {FaultKind::race},
                {kFile, "buffer, element ", "block (", "thread ("}},
        Planted{"buffer_reuse",
                Plant::second,
                {FaultKind::race, FaultKind::uninitialised},
                {kFile, "buffer"}},
        Planted{"staged_copy", Plant::first, {FaultKind::async_copy}, {kFile, "dynamic shared"}},
        Planted{"staged_copy",
                Plant::second,
                {FaultKind::race, FaultKind::async_copy, FaultKind::uninitialised},
                {kFile, "dynamic shared"}},
        Planted{"staged_copy",
                Plant::third,
                {FaultKind::out_of_bounds},
                {kFile, "read of 16 bytes", "0 bytes past the end of x"}},
        Planted{"publish",
                Plant::first,
                {FaultKind::race},
                {kFile, "workspace, element", "block (0,0,0)"}},
        Planted{"publish",
                Plant::second,
                {FaultKind::race},
                {kFile, "workspace, element", "block (0,0,0)"}},
        Planted{"last_block_sums", Plant::first, {FaultKind::race}, {kFile, "workspace"}},
        Planted{"last_block_sums", Plant::second, {FaultKind::race}, {kFile, "workspace"}},
        Planted{"locked_increment",
                Plant::first,
                {FaultKind::race},
                {kFile, "counters, element 0 (byte 0)"}},
        Planted{
            "divergent_barrier", Plant::first, {FaultKind::divergence}, {kFile, "__syncthreads"}},
        Planted{"divergent_barrier",
                Plant::second,
                {FaultKind::deadlock},
                {kFile, "__syncthreads", "__syncwarp", "64 threads"}},
        Planted{"warp_sum", Plant::first, {FaultKind::divergence}, {kFile, "not in"}},
        Planted{"warp_sum", Plant::second, {FaultKind::divergence}, {kFile, "has exited"}},
        Planted{"warp_sum",
                Plant::third,
                {FaultKind::divergence},
                {kFile, "__shfl_down_sync", "__shfl_xor_sync"}},
        Planted{"out_of_bounds",
                Plant::first,
                {FaultKind::out_of_bounds},
                {kFile, "read of 4 bytes", "0 bytes past the end of x"}},
        Planted{"out_of_bounds",
                Plant::second,
                {FaultKind::out_of_bounds},
                {kFile, "write of 4 bytes", "4 bytes before the start of y"}},
        Planted{"out_of_bounds",
                Plant::third,
                {FaultKind::out_of_bounds},
                {kFile, "atomic of 4 bytes", "0 bytes past the end of flags"}},
        Planted{"out_of_bounds_shared",
                Plant::first,
                {FaultKind::out_of_bounds},
                {kFile, "0 bytes past the end of tile"}},
        Planted{"out_of_bounds_shared",
                Plant::second,
                {FaultKind::out_of_bounds},
                {kFile, "0 bytes past the end of dynamic shared"}},
        Planted{"out_of_bounds_shared",
                Plant::third,
                {FaultKind::out_of_bounds},
                {kFile, "ldmatrix.x1"}},
        Planted{"uninitialised", Plant::first, {FaultKind::uninitialised}, {kFile, "tile"}},
        Planted{"uninitialised", Plant::second, {FaultKind::uninitialised}, {kFile, "y, element"}},
        Planted{"uninitialised",
                Plant::third,
                {FaultKind::uninitialised},
                {kFile, "y, element", "atomic"}},
        Planted{
            "misuse", Plant::first, {FaultKind::input_written}, {kFile, "x, element 3 (byte 12)"}},
        Planted{"misuse", Plant::second, {FaultKind::misaligned}, {kFile, "load of 16 bytes"}},
        Planted{"misuse", Plant::third, {FaultKind::misaligned}, {kFile, "cp.async of 8 bytes"}},
        Planted{"histogram", Plant::first, {FaultKind::race}, {kFile, "y, element"}}));

TEST(SimtFaults, StaleFlagIsARaceInTheNextLaunch) {
  SKIP_WITHOUT_CHECKER();
  const Result result =
      run("publish_twice", Plant::third, config_of(simt::Order::round_robin, true));
  EXPECT_EQ(result.fault.kind, FaultKind::race) << result.fault.text;
  EXPECT_NE(result.fault.text.find("workspace"), std::string::npos) << result.fault.text;
  EXPECT_EQ(result.report.launches, 2);
}

// Plain build: at least one schedule of those that the backend uses gives other values than the
// right kernel.
struct Wrong {
  const char* kernel;
  Plant plant;
  int outputs;
};
class SimtFaultPlain : public testing::TestWithParam<Wrong> {};
void PrintTo(const Wrong& wrong, std::ostream* out) { *out << wrong.kernel; }

TEST_P(SimtFaultPlain, SomeOrderShowsIt) {
  const Wrong& wrong = GetParam();
  const std::vector<float> right =
      run(wrong.kernel, Plant::none, config_of(simt::Order::round_robin, false)).y;
  int shown = 0;
  for (const simt::Config& config : configs(false)) {
    const Result result = run(wrong.kernel, wrong.plant, config);
    shown +=
        result.fault || !std::equal(right.begin(), right.begin() + wrong.outputs, result.y.begin());
  }
  EXPECT_GT(shown, 0);
}

INSTANTIATE_TEST_SUITE_P(Planted, SimtFaultPlain,
                         testing::Values(Wrong{"neighbour_sum", Plant::first, 384},
                                         Wrong{"warp_broadcast", Plant::first, 384},
                                         Wrong{"buffer_reuse", Plant::first, 384},
                                         Wrong{"buffer_reuse", Plant::second, 384},
                                         Wrong{"staged_copy", Plant::first, kInputs},
                                         Wrong{"staged_copy", Plant::second, kInputs},
                                         Wrong{"out_of_bounds_shared", Plant::second, 384}));

}  // namespace
}  // namespace halfulp::gpu::simt_test
