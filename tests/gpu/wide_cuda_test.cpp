// Every kernel on a device, on operands that reach over 16 GiB each: the same bits as on operands
// whose rows lie next to each other. Skipped with the reason where there is no device, or less
// memory; HALFULP_REQUIRE_GPU=1 makes the former a failure.
//
// One axis at a time reaches so far, in steps of 2^30 elements and more where it has few of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/device.hpp"
#include "tests/gpu/kernels_problems.hpp"
#include "tests/gpu/wide_call.hpp"
#include "tests/gpu/wide_problems.hpp"

namespace halfulp::gpu {
namespace {

using test::WideLayout;
using test::WideResult;

constexpr std::int64_t kReachBytes = std::int64_t{1} << 34;
constexpr std::int64_t kRangeBytes = kReachBytes + (std::int64_t{1} << 24);
constexpr std::int64_t kRanges = 6;  // float operands of graph_attention

// Axis `axis` outermost in all operands that have it, and its last element kReachBytes and more
// from the base in those of that name; "all": in all of them.
std::vector<WideLayout> reaching(const Problem& problem, std::vector<WideLayout> layouts,
                                 std::size_t axis, const std::string& operand_name) {
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    const Operand& operand = problem.operands[i];
    const std::size_t axes = operand.extent.size();
    WideLayout& layout = layouts[i];
    if (!test::is_stretchable(operand) || axis >= axes || operand.extent[axis] < 2) continue;
    if (layout.order.empty()) {
      for (std::size_t other = 0; other < axes; ++other) layout.order.push_back(other);
    }
    if (layout.order.back() == axis && !layout.inner_strided) continue;
    const auto at = std::ranges::find(layout.order, axis);
    std::rotate(layout.order.begin(), at, at + 1);
    if (operand_name != "all" && operand_name != operand.name) continue;
    const std::int64_t steps = (operand.extent[axis] - 1) * size_bytes(operand.format);
    const std::int64_t units = kReachBytes / (steps * test::kWideUnit) + 1;
    layout.apart.assign(axes, 0);
    layout.apart[axis] = units * test::kWideUnit;
  }
  return layouts;
}

bool any_apart(const std::vector<WideLayout>& layouts) {
  return std::ranges::any_of(layouts, [](const WideLayout& one) { return !one.apart.empty(); });
}

class WideCuda : public testing::Test {
 protected:
  void SetUp() override {
    HALFULP_NEED_DEVICE(unavailable_reason(Backend::cuda));
    memory_ = test::wide_memory_cuda(kRanges * kRangeBytes);
    if (!memory_->failure().empty()) GTEST_SKIP() << memory_->failure();
  }

  void compare(EntryPoint entry, const Problem& problem, const std::vector<WideLayout>& layouts,
               bool in_turn) {
    std::vector<std::string> names{"all"};
    for (const Operand& operand : problem.operands) {
      if (in_turn && test::is_stretchable(operand)) names.push_back(operand.name);
    }
    for (std::size_t axis = 0; axis < 4; ++axis) {
      if (!any_apart(reaching(problem, layouts, axis, "all"))) continue;
      const WideResult near =
          test::call_on_device(entry, problem, reaching(problem, layouts, axis, "none"), *memory_);
      for (const std::string& name : names) {
        const std::vector<WideLayout> wide_layouts = reaching(problem, layouts, axis, name);
        if (!any_apart(wide_layouts)) continue;
        const WideResult wide = test::call_on_device(entry, problem, wide_layouts, *memory_);
        ASSERT_EQ(wide.no_memory, "");
        ASSERT_EQ(test::first_difference(problem, wide, near), "")
            << name << " apart, axis " << axis;
      }
    }
  }

  void compare(const Kernel& kernel, Format storage) {
    const EntryPoint entry = kernel.entry[static_cast<std::size_t>(Backend::cuda)];
    const std::vector<Problem> problems = test::wide_problems(kernel, storage);
    for (std::size_t i = 0; entry != nullptr && i < problems.size(); ++i) {
      const std::vector<std::vector<WideLayout>> all = test::near_layouts(problems[i]);
      for (std::size_t layout = 0; layout < all.size(); ++layout) {
        if (i > 0 && layout != turn_ % all.size()) continue;
        SCOPED_TRACE(std::string(kernel.operation) + " " + std::string(kernel.name) + " " +
                     std::string(name(storage)) + " problem " + std::to_string(i) + " layout " +
                     std::to_string(layout));
        compare(entry, problems[i], all[layout], layout < 2 && storage == kernel.storage[0]);
        if (HasFatalFailure()) return;
      }
      ++turn_;
    }
  }

  // A sum of more than 2^32 elements, of which four windows are known.
  void compare_long(const Kernel& kernel, Format storage) {
    constexpr std::int64_t kWindow = 64;
    const std::int64_t size = size_bytes(storage);
    const std::int64_t n = kReachBytes / size + 1000;
    const std::int64_t windows[] = {0, (std::int64_t{1} << 31) - kWindow / 2,
                                    (std::int64_t{1} << 32) - kWindow / 2, n - kWindow};
    const Problem sum = test::vector_add(4 * kWindow, storage, test::Layout::contiguous);
    const EntryPoint entry = kernel.entry[static_cast<std::size_t>(Backend::cuda)];
    const WideResult near = test::call_on_device(entry, sum, std::vector<WideLayout>(3), *memory_);
    ASSERT_EQ(near.no_memory + near.wrong, "");
    Problem wide = sum;
    std::vector<Argument> arguments;
    for (Operand& operand : wide.operands) {
      operand.extent = {n};
      arguments.push_back({memory_->take(n * size), &operand});
      ASSERT_NE(arguments.back().data, nullptr);
      std::vector<std::byte> elements = operand.storage;
      elements.resize(static_cast<std::size_t>(4 * kWindow * size), std::byte{0xff});
      for (std::int64_t i = 0; i < 4; ++i) {
        memory_->write(arguments.back().as<std::byte>() + windows[i] * size,
                       std::span(elements).subspan(static_cast<std::size_t>(i * kWindow * size),
                                                   static_cast<std::size_t>(kWindow * size)));
      }
    }
    WideResult far{.wrong = test::launch_on_device(entry, wide, arguments)};
    far.outputs.emplace_back(static_cast<std::size_t>(4 * kWindow * size));
    for (std::int64_t i = 0; i < 4; ++i) {
      memory_->read(std::span(far.outputs[0])
                        .subspan(static_cast<std::size_t>(i * kWindow * size),
                                 static_cast<std::size_t>(kWindow * size)),
                    arguments[2].as<std::byte>() + windows[i] * size);
    }
    memory_->clear();
    EXPECT_EQ(test::first_difference(sum, far, near), "")
        << kernel.name << " " << name(storage) << ", " << n << " elements";
  }

  std::unique_ptr<test::WideMemory> memory_;

 private:
  std::size_t turn_ = 0;  // which layout it is where one has to do
};

// In one test: no two of these fit a device at a time.
TEST_F(WideCuda, AnswersHaveTheSameBits) {
  for (const Kernel& kernel : kernels()) {
    for (const Format storage : kernel.storage) {
      compare(kernel, storage);
      if (kernel.operation == "vector_add") compare_long(kernel, storage);
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace halfulp::gpu
