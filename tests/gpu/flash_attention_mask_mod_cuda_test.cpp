// The flash_attention kernels with mask functors on a device: every mask on every tile. Skipped
// with the reason where there is no device; HALFULP_REQUIRE_GPU=1 makes that a failure.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

#include "gpu/kernels/flash_attention.hpp"
#include "tests/device.hpp"
#include "tests/gpu/flash_attention_problems.hpp"

namespace halfulp::gpu {
namespace {

using test::FlashLayout;

class FlashAttentionMaskModCuda : public testing::Test {
 protected:
  void SetUp() override { HALFULP_NEED_DEVICE(unavailable_reason(Backend::cuda)); }
};

double weight_roundoff(Format storage) {
  return 1.1 * (storage == Format::f16 ? 0x1p-11 : storage == Format::bf16 ? 0x1p-8 : 0x1p-10);
}

std::string wrong(const Kernel& kernel, Format storage, const Problem& problem,
                  const std::function<bool(std::int64_t, std::int64_t)>& open) {
  const Outcome outcome = run(kernel, Backend::cuda, problem, {});
  if (outcome.fault) return std::string(name(outcome.fault.kind)) + ": " + outcome.fault.text;
  if (outcome.outputs.size() != 1) return "outputs differ between calls";
  return test::first_wrong_attention(problem, outcome.outputs[0], open, weight_roundoff(storage));
}

const Parameter* parameter(const Kernel& kernel, std::string_view name) {
  const auto found = std::ranges::find(kernel.parameters, name, &Parameter::name);
  return found == kernel.parameters.end() ? nullptr : &*found;
}

bool has_word(const Kernel& kernel, KeyMask mask) {
  const Parameter* masks = parameter(kernel, "mask");
  return masks != nullptr && std::ranges::count(masks->words, name(mask)) > 0;
}

// Calls visit(kernel, storage, tile) for kernels that know `mask` and have a device build.
template <class Visit>
void for_each_kernel(KeyMask mask, const Visit& visit) {
  for (const Kernel& kernel : kernels()) {
    const bool built = kernel.entry[static_cast<std::size_t>(Backend::cuda)] != nullptr;
    if (kernel.operation != "flash_attention" || !built || !has_word(kernel, mask)) continue;
    for (const Format storage : kernel.storage) {
      for (std::int64_t tile = 0; tile <= parameter(kernel, "tile")->high; ++tile) {
        SCOPED_TRACE(std::string(kernel.name) + " " + std::string(name(storage)) + " tile " +
                     std::to_string(tile));
        visit(kernel, storage, tile);
      }
    }
  }
}

struct MaskCase {
  KeyMask mask;
  std::function<bool(std::int64_t, std::int64_t)> open;
};

TEST_F(FlashAttentionMaskModCuda, EveryCompiledMaskIsRight) {
  constexpr std::int64_t kQueries = 130, kKeys = 170, kShift = kKeys - kQueries, kPrefix = 70;
  const MaskCase cases[] = {
      {KeyMask::causal_top_left, [](auto i, auto j) { return j <= i; }},
      {KeyMask::causal_bottom_right, [](auto i, auto j) { return j <= i + kShift; }},
      {KeyMask::prefix_lm, [](auto i, auto j) { return j <= i || (i < kPrefix && j < kPrefix); }},
      {KeyMask::window, [](auto i, auto j) { return i + kShift - 20 <= j && j <= i + kShift + 3; }},
      {KeyMask::documents, [](auto i, auto j) { return i / kPrefix == j / kPrefix; }}};
  for (const MaskCase& c : cases) {
    SCOPED_TRACE(name(c.mask));
    for_each_kernel(c.mask, [&](const Kernel& kernel, Format storage, std::int64_t tile) {
      std::vector<Setting> chosen{{"tile", tile, {}}};
      const auto& words = parameter(kernel, "mask")->words;
      chosen.push_back({"mask", std::ranges::find(words, name(c.mask)) - words.begin(), {}});
      if (parameter(kernel, "prefix") != nullptr) chosen.push_back({"prefix", kPrefix, {}});
      if (parameter(kernel, "window_left") != nullptr) {
        chosen.push_back({"window_left", 20, {}});
        chosen.push_back({"window_right", 3, {}});
      }
      const Problem problem = test::flash_attention({1, 2, kQueries, kKeys, 40}, storage,
                                                    FlashLayout::contiguous, {}, chosen);
      ASSERT_EQ(wrong(kernel, storage, problem, c.open), "");
    });
  }
}

}  // namespace
}  // namespace halfulp::gpu
