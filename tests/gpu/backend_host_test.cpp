// The host backends: planted faults are reported with their kind and place, guards and poison work,
// and all schedules of a small launch are run.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>
#include <string>

#include "gpu/backends/host.hpp"
#include "gpu/backends/image.hpp"
#include "gpu/simt/session.hpp"
#include "tests/gpu/kernels_problems.hpp"
#include "tests/gpu/planted/planted.hpp"

namespace halfulp::gpu {
namespace {

using test::Layout;
using test::planted;

Problem small() { return test::vector_add(37, Format::f32, Layout::contiguous); }

void expect_fault(std::string_view kernel, Backend backend, const Problem& problem, FaultKind kind,
                  std::string_view part_of_text) {
  const Outcome outcome = run(planted(kernel), backend, problem, {});
  EXPECT_EQ(name(outcome.fault.kind), name(kind)) << kernel << ": " << outcome.fault.text;
  EXPECT_NE(outcome.fault.text.find(part_of_text), std::string::npos) << outcome.fault.text;
}

TEST(HostBackendTest, GuardBandsShowStrayWrites) {
  expect_fault("past_end", Backend::host, small(), FaultKind::out_of_bounds, "past the end of z");
  expect_fault("before_begin", Backend::host, small(), FaultKind::out_of_bounds, "before z");
  expect_fault("workspace", Backend::host, small(), FaultKind::out_of_bounds, "workspace sums");
}

TEST(HostBackendTest, GapsOfStridedOutputsAreGuarded) {
  const test::Shape shape{"gaps", 3, 2, 5, {{0, 1}, {2, 1}}};
  expect_fault("gap", Backend::host, test::scatter_normalize(shape, Format::f32, Layout::gapped),
               FaultKind::out_of_bounds, "gap of out");
}

TEST(HostBackendTest, ElementsNeverWrittenAreFound) {
  expect_fault("lost_tail", Backend::host, small(), FaultKind::never_written, "element 36");
  expect_fault("nothing", Backend::host, small(), FaultKind::never_written, "element 0");
}

TEST(HostBackendTest, OverwrittenInputsAreFound) {
  expect_fault("input", Backend::host, small(), FaultKind::input_overwritten, "element 3");
}

TEST(HostBackendTest, ReadingThePoisonShowsAsDistinctOutputs) {
  const Outcome outcome = run(planted("accumulate"), Backend::host, small(), {});
  EXPECT_FALSE(outcome.fault) << outcome.fault.text;
  EXPECT_EQ(outcome.outputs.size(), 2u);
}

// Atomic sums depend on who comes first, and the two launches of a call run under two orders: what
// lets a kernel that wrongly declares itself repeatable be seen.
TEST(HostBackendTest, TheOrderOfAtomicsShowsAsDistinctOutputs) {
  Problem problem = test::scatter_normalize({"order", 1, 1, 1, {{0, 0}, {0, 0}, {0, 0}}},
                                            Format::f32, Layout::contiguous);
  const float values[3] = {1.0f, 0x1p30f, -0x1p30f};
  std::memcpy(problem.operands[0].storage.data(), values, sizeof values);
  const Kernel* atomic = find_kernel("scatter_normalize", "atomic_coo");
  const Outcome outcome = run(*atomic, Backend::host, problem, {});
  EXPECT_FALSE(outcome.fault) << outcome.fault.text;
  EXPECT_EQ(outcome.outputs.size(), 2u);
  const Kernel* gather = find_kernel("scatter_normalize", "gather_csc");
  EXPECT_EQ(run(*gather, Backend::host, problem, {}).outputs.size(), 1u);
}

TEST(HostBackendTest, RefusedLaunchesAreReported) {
  expect_fault("launch_error", Backend::host, small(), FaultKind::launch_error, "");
}

TEST(HostBackendTest, WaitingInVainIsADeadlock) {
  expect_fault("wait", Backend::host, small(), FaultKind::deadlock, "planted_kernels.cuh");
}

TEST(HostBackendTest, DivergentBarriersAreReported) {
  expect_fault("divergence", Backend::host, small(), FaultKind::divergence, "planted_kernels.cuh");
}

TEST(HostBackendTest, MisalignedVectorAccessesCrash) {
  expect_fault("misaligned", Backend::host, small(), FaultKind::crashed, "");
}

Status before_the_guard(const Arguments& arguments) {
  arguments["x"].as<float>()[-160] = 1;
  return {};
}
Status before_the_workspace(const Arguments& arguments) {
  static_cast<float*>(arguments.workspaces->take("sums", 256))[-200] = 1;
  return {};
}

// Up to the page's start nothing may be written; before it is a fence.
TEST(HostBackendTest, WritesBetweenAGuardAndItsFenceAreFound) {
  const Outcome operand = host_run(before_the_guard, Backend::host, small(), {});
  EXPECT_EQ(name(operand.fault.kind), name(FaultKind::out_of_bounds));
  EXPECT_EQ(operand.fault.text, "write at 640 bytes (element 160) before x");
  const Outcome workspace = host_run(before_the_workspace, Backend::host, small(), {});
  EXPECT_EQ(name(workspace.fault.kind), name(FaultKind::out_of_bounds));
  EXPECT_EQ(workspace.fault.text, "write at about 797 bytes before workspace sums");
}

TEST(CheckedHostBackendTest, NamesTheAccess) {
  if (!simt::checker_available()) GTEST_SKIP() << "no checker in a sanitizer build";
  constexpr Backend kChecked = Backend::host_checked;
  expect_fault("past_end", kChecked, small(), FaultKind::out_of_bounds, "planted_kernels.cuh");
  expect_fault("before_begin", kChecked, small(), FaultKind::out_of_bounds, "z");
  expect_fault("workspace", kChecked, small(), FaultKind::out_of_bounds, "sums");
  expect_fault("input", kChecked, small(), FaultKind::input_overwritten, "y");
  expect_fault("race", kChecked, small(), FaultKind::race, "sums");
  expect_fault("accumulate", kChecked, small(), FaultKind::uninitialised, "z");
  expect_fault("wait", kChecked, small(), FaultKind::deadlock, "planted_kernels.cuh");
  expect_fault("divergence", kChecked, small(), FaultKind::divergence, "planted_kernels.cuh");
}

TEST(HostBackendTest, ExhaustiveSearchRunsEverySchedule) {
  Problem problem = test::vector_add(2, Format::f32, Layout::contiguous);
  const Schedule schedule{.order = Order::exhaustive, .resident = 2};
  const Outcome outcome = run(planted("order"), Backend::host, problem, schedule);
  ASSERT_FALSE(outcome.fault) << outcome.fault.text;
  EXPECT_TRUE(outcome.schedules_exhausted);
  std::set<double> first_tickets;
  for (const Outputs& outputs : outcome.outputs) {
    first_tickets.insert(test::value_at(problem.operand("z"), outputs[0], 0));
  }
  EXPECT_EQ(first_tickets, (std::set<double>{0, 1}));
}

TEST(HostBackendTest, ExhaustiveSearchStopsAtItsLimitAndSaysSo) {
  const Problem problem = test::vector_add(3, Format::f32, Layout::contiguous);
  const Schedule schedule{.order = Order::exhaustive, .resident = 3, .schedules_max = 1};
  const Outcome outcome = run(planted("order"), Backend::host, problem, schedule);
  ASSERT_FALSE(outcome.fault) << outcome.fault.text;
  EXPECT_FALSE(outcome.schedules_exhausted);
  EXPECT_EQ(outcome.launches, 2);
}

TEST(HostBackendTest, IsAlwaysAvailableAndTimesKernels) {
  EXPECT_TRUE(available(Backend::host));
  EXPECT_TRUE(available(Backend::host_checked));
  EXPECT_FALSE(device_name(Backend::host).empty());
  const Timing timing =
      time_kernel(*find_kernel("vector_add", "scalar"), Backend::host, small(), 3);
  EXPECT_EQ(timing.repeats, 3);
  EXPECT_GT(timing.minimum_us, 0);
  EXPECT_LE(timing.minimum_us, timing.median_us);
  EXPECT_GT(copy_bandwidth_bytes_per_s(Backend::host, 1 << 20), 0);
}

TEST(ImageTest, PoisonIsASignallingNanAndThenFinite) {
  for (const Format format : {Format::f32, Format::f16, Format::bf16}) {
    Operand operand{"x", format, Role::output, {1}, {1}, 0, {}};
    std::vector<std::byte> bytes(static_cast<std::size_t>(size_bytes(format)));
    fill_pattern(bytes, poison_bits(format, Fill::nan), size_bytes(format));
    EXPECT_TRUE(std::isnan(test::value_at(operand, bytes, 0))) << name(format);
    fill_pattern(bytes, guard_bits(format), size_bytes(format));
    EXPECT_TRUE(std::isnan(test::value_at(operand, bytes, 0))) << name(format);
    fill_pattern(bytes, poison_bits(format, Fill::large), size_bytes(format));
    EXPECT_GT(test::value_at(operand, bytes, 0), 5e4) << name(format);
    EXPECT_TRUE(std::isfinite(test::value_at(operand, bytes, 0))) << name(format);
  }
}

TEST(ImageTest, BasesAreAlignedAndThenMovedByTheOffset) {
  Problem problem = test::vector_add(3, Format::f16, Layout::contiguous);
  problem.operands[1].base_offset = 5;
  Image image(problem);
  EXPECT_EQ(image.data_offset(0) % kAlignmentBytes, 0);
  EXPECT_EQ(image.data_offset(1) % kAlignmentBytes, 10);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(image.bytes().data()) % 256, 0u);
}

TEST(ImageTest, EveryByteOutsideTheOutputsIsWatched) {
  const Problem problem = test::vector_add(3, Format::f16, Layout::offset);
  Image image(problem);
  image.poison(Fill::nan);
  ASSERT_FALSE(image.inspect());
  const auto out = static_cast<std::size_t>(image.data_offset(2));
  for (std::size_t i = 0; i < image.bytes().size(); ++i) {
    const bool guard_padding_or_input = i < out || i >= out + 6;
    image.bytes()[i] ^= std::byte{1};
    EXPECT_EQ(static_cast<bool>(image.inspect()), guard_padding_or_input) << "byte " << i;
    image.bytes()[i] ^= std::byte{1};
  }
}

}  // namespace
}  // namespace halfulp::gpu
