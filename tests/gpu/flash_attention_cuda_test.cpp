// Every flash_attention kernel that reads its mask from memory, on a device, on every tile.
// Skipped with the reason where there is no device; HALFULP_REQUIRE_GPU=1 makes that a failure.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/device.hpp"
#include "tests/gpu/flash_attention_problems.hpp"

namespace halfulp::gpu {
namespace {

using test::FlashLayout;
using test::FlashMaskChoice;
using test::FlashMaskLayout;
using test::FlashSize;

class FlashAttentionCuda : public testing::Test {
 protected:
  void SetUp() override { HALFULP_NEED_DEVICE(unavailable_reason(Backend::cuda)); }
};

// What rounded weights and tensor cores may be off by, beyond fp32.
double weight_roundoff(const Kernel& kernel, Format storage) {
  if (!kernel.numerics.tensor_cores) return 0;
  return 1.1 * (storage == Format::f16 ? 0x1p-11 : storage == Format::bf16 ? 0x1p-8 : 0x1p-10);
}

std::string wrong(const Kernel& kernel, Format storage, const Problem& problem) {
  const Outcome outcome = run(kernel, Backend::cuda, problem, {});
  if (outcome.fault) return std::string(name(outcome.fault.kind)) + ": " + outcome.fault.text;
  if (outcome.outputs.size() != 1) return "outputs differ between calls";
  return test::first_wrong_attention(problem, outcome.outputs[0], nullptr,
                                     weight_roundoff(kernel, storage));
}

// Calls visit(kernel, storage, settings) for each tile of what has a device build, with a trace of
// the three.
template <class Visit>
void for_each_kernel(const Visit& visit) {
  for (const Kernel& kernel : kernels()) {
    const bool built = kernel.entry[static_cast<std::size_t>(Backend::cuda)] != nullptr;
    if (kernel.operation != "flash_attention" || !built) continue;
    std::int64_t tiles = 0;
    bool in_memory = false;
    for (const Parameter& parameter : kernel.parameters) {
      if (parameter.name == "tile") tiles = parameter.high;
      if (parameter.name == "mask") in_memory = std::ranges::count(parameter.words, "additive") > 0;
    }
    if (!in_memory) continue;
    for (const Format storage : kernel.storage) {
      for (std::int64_t tile = 0; tile <= tiles; ++tile) {
        SCOPED_TRACE(std::string(kernel.name) + " " + std::string(name(storage)) + " tile " +
                     std::to_string(tile));
        visit(kernel, storage, std::vector<Setting>{{"tile", tile, {}}});
      }
    }
  }
}

TEST_F(FlashAttentionCuda, EveryLayoutAndMaskIsRight) {
  for_each_kernel([](const Kernel& kernel, Format storage, const std::vector<Setting>& settings) {
    for (int layout = 0; layout < test::kFlashLayouts; ++layout) {
      for (int mask = 0; mask < test::kFlashMaskLayouts; ++mask) {
        const auto lies = static_cast<FlashLayout>(layout);
        const bool stored = layout % 2 == 0 && storage != Format::tf32;
        const FlashMaskChoice choice{static_cast<FlashMaskLayout>(mask), stored};
        const Problem problem =
            test::flash_attention({2, 3, 37, 71, 24}, storage, lies, choice, settings);
        ASSERT_EQ(wrong(kernel, storage, problem), "")
            << test::name(lies) << ", mask " << test::name(choice.layout);
      }
    }
  });
}

// Empty ones, those of one element, those around tiles, the smallest and the largest dim, and more
// heads than a grid is wide in y and z.
TEST_F(FlashAttentionCuda, EverySizeIsRight) {
  constexpr FlashSize kSizes[] = {{0, 2, 3, 4, 8},      {2, 0, 3, 4, 8},      {2, 2, 0, 4, 8},
                                  {2, 2, 3, 0, 8},      {1, 1, 1, 1, 8},      {1, 2, 17, 33, 9},
                                  {1, 1, 64, 64, 64},   {1, 1, 129, 127, 80}, {1, 1, 63, 65, 256},
                                  {1, 1, 33, 257, 255}, {65536, 1, 1, 3, 16}};
  for_each_kernel([&](const Kernel& kernel, Format storage, const std::vector<Setting>& settings) {
    for (const FlashSize& size : kSizes) {
      for (const FlashMaskLayout mask : {FlashMaskLayout::absent, FlashMaskLayout::dense}) {
        const Problem problem =
            test::flash_attention(size, storage, FlashLayout::odd, {mask, false}, settings);
        ASSERT_EQ(wrong(kernel, storage, problem), "")
            << size.batches << " " << size.heads << " " << size.queries << " " << size.keys << " "
            << size.dim << ", mask " << test::name(mask);
      }
    }
  });
}

}  // namespace
}  // namespace halfulp::gpu
