// Attention with mask functors on the host backends: every mask against the definition of the keys
// that it opens, tiles of every class, and NaN in what is skipped.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "gpu/kernels/flash_attention_mma.hpp"
#include "tests/gpu/flash_attention_problems.hpp"

namespace halfulp::gpu {
namespace {

using test::FlashLayout;
using test::FlashMaskLayout;
using test::FlashSize;

constexpr Format kStorages[] = {Format::f16, Format::bf16, Format::tf32};

struct MaskCase {
  KeyMask mask = KeyMask::none;
  std::int64_t prefix = 0, left = 0, right = 0;
};

// By the words of KeyMask.
bool open(const MaskCase& c, const FlashSize& size, std::int64_t i, std::int64_t j) {
  const std::int64_t shift = size.keys - size.queries;
  switch (c.mask) {
    case KeyMask::causal_top_left:
      return j <= i;
    case KeyMask::causal_bottom_right:
      return j <= i + shift;
    case KeyMask::prefix_lm:
      return j <= i || (i < c.prefix && j < c.prefix);
    case KeyMask::window:
      return i + shift - c.left <= j && j <= i + shift + c.right;
    case KeyMask::documents:
      return i / c.prefix == j / c.prefix;
    default:
      return true;
  }
}

std::string print(const MaskCase& c, const FlashSize& size) {
  return std::string(name(c.mask)) + " prefix " + std::to_string(c.prefix) + " window " +
         std::to_string(c.left) + " " + std::to_string(c.right) + " queries " +
         std::to_string(size.queries) + " keys " + std::to_string(size.keys);
}

Problem problem_of(const MaskCase& c, const FlashSize& size, Format storage, std::int64_t tile) {
  std::int64_t word = 0;
  for (std::size_t i = 0; i < kFlashMasksCompiled.size(); ++i) {
    if (kFlashMasksCompiled.at(i) == c.mask) word = static_cast<std::int64_t>(i);
  }
  return test::flash_attention(size, storage, FlashLayout::contiguous,
                               {FlashMaskLayout::absent, false},
                               {{"mask", word, std::string(name(c.mask))},
                                {"prefix", c.prefix, {}},
                                {"window_left", c.left, {}},
                                {"window_right", c.right, {}},
                                {"tile", tile, {}}});
}

void check(const MaskCase& c, const FlashSize& size, Format storage, std::int64_t tile,
           Backend backend) {
  SCOPED_TRACE(print(c, size));
  const Kernel* kernel =
      find_kernel("flash_attention", c.mask == KeyMask::documents ? "mask_documents" : "mask_mod");
  ASSERT_NE(kernel, nullptr);
  const Problem problem = problem_of(c, size, storage, tile);
  const Outcome outcome = run(*kernel, backend, problem, {.order = Order::reverse, .resident = 2});
  ASSERT_EQ(outcome.fault.kind, FaultKind::none) << outcome.fault.text;
  ASSERT_EQ(outcome.outputs.size(), 1u);
  const double weight = storage == Format::f16    ? 0x1p-11
                        : storage == Format::bf16 ? 0x1p-8
                                                  : 0x1p-10;
  ASSERT_EQ(test::first_wrong_attention(
                problem, outcome.outputs[0],
                [&](std::int64_t i, std::int64_t j) { return open(c, size, i, j); }, 1.1 * weight),
            "");
}

const MaskCase kCases[] = {{KeyMask::none},
                           {KeyMask::causal_top_left},
                           {KeyMask::causal_bottom_right},
                           {.mask = KeyMask::prefix_lm, .prefix = 0},
                           {.mask = KeyMask::prefix_lm, .prefix = 1},
                           {.mask = KeyMask::prefix_lm, .prefix = 65},
                           {.mask = KeyMask::prefix_lm, .prefix = INT32_MAX},
                           {.mask = KeyMask::window, .left = 0, .right = 0},
                           {.mask = KeyMask::window, .left = 1, .right = 0},
                           {.mask = KeyMask::window, .left = 5, .right = 64},
                           {.mask = KeyMask::window, .left = INT32_MAX, .right = INT32_MAX},
                           {.mask = KeyMask::documents, .prefix = 1},
                           {.mask = KeyMask::documents, .prefix = 50},
                           {.mask = KeyMask::documents, .prefix = 64}};

TEST(FlashAttentionMaskMod, OpensTheKeysThatItsMaskSays) {
  for (const MaskCase& c : kCases) {
    check(c, {1, 2, 70, 133, 8}, Format::f16, 0, Backend::host_checked);
    check(c, {1, 1, 133, 70, 8}, Format::f16, 1, Backend::host);
  }
}

TEST(FlashAttentionMaskMod, IsRightInEveryFormatOnEveryTile) {
  for (const Format storage : kStorages) {
    for (std::int64_t tile = 0; tile < std::ssize(kFlashTilesMma); ++tile) {
      for (const MaskCase& c : {kCases[1], kCases[2], kCases[5], kCases[9]}) {
        check(c, {1, 1, 130, 150, 72}, storage, tile, Backend::host);
      }
    }
  }
}

TEST(FlashAttentionMaskMod, TinySizes) {
  for (const MaskCase& c : kCases) {
    for (const FlashSize& size :
         {FlashSize{1, 1, 1, 1, 8}, FlashSize{2, 1, 2, 5, 8}, FlashSize{1, 2, 5, 2, 8},
          FlashSize{1, 1, 3, 0, 8}, FlashSize{1, 1, 0, 3, 8}}) {
      check(c, size, Format::f16, 0, Backend::host_checked);
    }
  }
}

// A tile that no query of a block sees is not read: NaN in its keys and values changes nothing.
TEST(FlashAttentionMaskMod, SkipsTilesThatItsMaskRulesOut) {
  const FlashSize size{1, 1, 64, 192, 8};
  const MaskCase c{KeyMask::causal_top_left};
  const Problem clean = problem_of(c, size, Format::f16, 1);
  Problem spoilt = clean;
  for (Operand& operand : spoilt.operands) {
    if (operand.name != "k" && operand.name != "v") continue;
    const std::size_t from = 64 * 8 * sizeof(std::uint16_t);
    std::memset(operand.storage.data() + from, 0xff, operand.storage.size() - from);
  }
  const Kernel* kernel = find_kernel("flash_attention", "mask_mod");
  const Outcome a = run(*kernel, Backend::host, clean, {});
  const Outcome b = run(*kernel, Backend::host, spoilt, {});
  ASSERT_EQ(b.fault.kind, FaultKind::none) << b.fault.text;
  EXPECT_EQ(a.outputs, b.outputs);
}

}  // namespace
}  // namespace halfulp::gpu
