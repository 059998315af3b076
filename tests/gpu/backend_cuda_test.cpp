// The cuda backend on a device: every kernel on the problems of the host tests, and planted faults.
// Skipped with the reason where there is no device; HALFULP_REQUIRE_GPU=1 makes that a failure.
#include <gtest/gtest.h>

#include <string>

#include "tests/device.hpp"
#include "tests/gpu/kernels_problems.hpp"
#include "tests/gpu/planted/planted.hpp"

namespace halfulp::gpu {
namespace {

using test::Layout;
using test::planted;

class CudaBackendTest : public testing::Test {
 protected:
  void SetUp() override { HALFULP_NEED_DEVICE(unavailable_reason(Backend::cuda)); }
};

Problem small() { return test::vector_add(37, Format::f32, Layout::contiguous); }

std::string wrong(const Kernel& kernel, const Problem& problem) {
  const Outcome outcome = run(kernel, Backend::cuda, problem, {});
  if (outcome.fault) return std::string(name(outcome.fault.kind)) + ": " + outcome.fault.text;
  if (kernel.numerics.repeatable && outcome.outputs.size() != 1) return "outputs differ";
  for (const Outputs& outputs : outcome.outputs) {
    if (std::string text = test::first_wrong(problem, outputs); !text.empty()) return text;
  }
  return {};
}

TEST_F(CudaBackendTest, VectorAddKernelsAreRight) {
  for (const Kernel& kernel : kernels()) {
    if (kernel.operation != "vector_add") continue;
    for (const Format storage : kernel.storage) {
      for (const Layout layout : test::kLayouts) {
        for (const std::int64_t n : {0, 1, 2, 3, 7, 9, 127, 128, 129, 513, 4099, 1000003}) {
          EXPECT_EQ(wrong(kernel, test::vector_add(n, storage, layout)), "")
              << kernel.name << " " << name(storage) << " " << test::name(layout) << " " << n;
        }
      }
    }
  }
}

TEST_F(CudaBackendTest, GraphKernelsAreRight) {
  std::vector<test::Shape> shapes = test::shapes();
  shapes.push_back(test::hub("4097", 4097, 2, 3));
  shapes.push_back(test::hub("65536", 65536, 1, 1));
  for (const Kernel& kernel : kernels()) {
    if (kernel.operation != "scatter_normalize" && kernel.operation != "graph_attention") continue;
    for (const Format storage : kernel.storage) {
      for (const Layout layout : test::kLayouts) {
        for (const test::Shape& shape : shapes) {
          const Problem problem = kernel.operation == "scatter_normalize"
                                      ? test::scatter_normalize(shape, storage, layout)
                                      : test::graph_attention(shape, storage, layout);
          EXPECT_EQ(wrong(kernel, problem), "")
              << kernel.operation << " " << kernel.name << " " << name(storage) << " "
              << test::name(layout) << " " << shape.label;
        }
      }
    }
  }
}

void expect_fault(std::string_view kernel, FaultKind kind, std::string_view part_of_text) {
  const Outcome outcome = run(planted(kernel), Backend::cuda, small(), {});
  EXPECT_EQ(name(outcome.fault.kind), name(kind)) << kernel << ": " << outcome.fault.text;
  EXPECT_NE(outcome.fault.text.find(part_of_text), std::string::npos) << outcome.fault.text;
}

TEST_F(CudaBackendTest, PlantedFaultsAreReported) {
  expect_fault("past_end", FaultKind::out_of_bounds, "past the end of z");
  expect_fault("before_begin", FaultKind::out_of_bounds, "before z");
  expect_fault("workspace", FaultKind::out_of_bounds, "workspace sums");
  expect_fault("lost_tail", FaultKind::never_written, "element 36");
  expect_fault("nothing", FaultKind::never_written, "element 0");
  expect_fault("input", FaultKind::input_overwritten, "element 3");
  expect_fault("launch_error", FaultKind::launch_error, "");
  // A refused launch leaves nothing behind.
  EXPECT_EQ(wrong(*find_kernel("vector_add", "scalar"), small()), "");
}

// Its operands are written on the stream of the call by a slow producer, and it does not wait.
TEST_F(CudaBackendTest, WhatLaunchesOnAnotherStreamIsCaught) {
  for (const std::int64_t n : {1, 37, 4099}) {
    const Problem problem = test::vector_add(n, Format::f32, Layout::contiguous);
    const Outcome outcome = run(planted("other_stream"), Backend::cuda, problem, {});
    EXPECT_EQ(name(outcome.fault.kind), name(FaultKind::never_written)) << outcome.fault.text;
  }
  EXPECT_EQ(wrong(*find_kernel("vector_add", "scalar"), small()), "");
}

TEST_F(CudaBackendTest, GapsOfStridedOutputsAreGuarded) {
  const test::Shape shape{"gaps", 3, 2, 5, {{0, 1}, {2, 1}}};
  const Outcome outcome = run(planted("gap"), Backend::cuda,
                              test::scatter_normalize(shape, Format::f32, Layout::gapped), {});
  EXPECT_EQ(name(outcome.fault.kind), name(FaultKind::out_of_bounds)) << outcome.fault.text;
}

double first_output(const Problem& problem, const Outcome& outcome) {
  EXPECT_FALSE(outcome.fault) << outcome.fault.text;
  if (outcome.outputs.empty()) return -1;
  return test::value_at(problem.operand("z"), outcome.outputs[0].at(0), 0);
}

// The third launch finds everything as the second one left it.
TEST_F(CudaBackendTest, BlocksThatWaitForOneAnother) {
  for (const std::int64_t blocks : {1, 2, 100}) {
    const Problem problem = test::vector_add(blocks, Format::f32, Layout::contiguous);
    for (const char* kernel : {"sum", "hand_over"}) {
      const Outcome outcome = run(planted(kernel), Backend::cuda, problem, {});
      EXPECT_FALSE(outcome.fault) << kernel << ": " << outcome.fault.text;
      EXPECT_EQ(outcome.launches, 3);
    }
    EXPECT_EQ(time_kernel(planted("hand_over"), Backend::cuda, problem, 5).repeats, 5);
  }
}

TEST_F(CudaBackendTest, LocksLeftSetAndWrittenPastTheirEnd) {
  expect_fault("sum_left_set", FaultKind::locks_left_set, "word 1 is left at 37");
  expect_fault("lock_past_end", FaultKind::out_of_bounds, "0 bytes past the end of");
  // Neither is still there in the next run.
  EXPECT_FALSE(run(planted("sum"), Backend::cuda, small(), {}).fault);
}

TEST_F(CudaBackendTest, DynamicSharedMemoryAndResidency) {
  const Problem problem = test::vector_add(1, Format::f32, Layout::contiguous);
  EXPECT_GE(first_output(problem, run(planted("shared"), Backend::cuda, problem, {})), 1);
  EXPECT_EQ(first_output(problem, run(planted("resident_none"), Backend::cuda, problem, {})), 0);
  expect_fault("shared_too_large", FaultKind::launch_error,
               "233472 bytes of dynamic shared memory");
  EXPECT_EQ(time_kernel(planted("shared_too_large"), Backend::cuda, problem, 5).repeats, 0);
  EXPECT_FALSE(run(planted("shared"), Backend::cuda, problem, {}).fault);
}

TEST_F(CudaBackendTest, TimesKernelsAndCopies) {
  const Problem problem = test::vector_add(1 << 20, Format::f32, Layout::contiguous);
  const Timing timing = time_kernel(*find_kernel("vector_add", "vec4"), Backend::cuda, problem, 5);
  EXPECT_EQ(timing.repeats, 5);
  EXPECT_GT(timing.minimum_us, 0);
  EXPECT_GT(copy_bandwidth_bytes_per_s(Backend::cuda, 1 << 26), 1e9);
  EXPECT_FALSE(device_name(Backend::cuda).empty());
}

// Last, since it costs the process its device.
TEST_F(CudaBackendTest, ZStickyErrorsAreCrashes) {
  expect_fault("misaligned", FaultKind::crashed, "misaligned");
  expect_fault("past_end", FaultKind::crashed, "before this call");
}

}  // namespace
}  // namespace halfulp::gpu
