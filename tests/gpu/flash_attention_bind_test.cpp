// What the entry points of flash_attention make of their arguments, and what they refuse: the error
// names the argument that is wrong.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "gpu/kernels/flash_attention.hpp"
#include "tests/gpu/flash_attention_problems.hpp"

namespace halfulp::gpu {
namespace {

using test::FlashLayout;
using test::FlashMaskLayout;

Problem problem(Format storage = Format::f16, FlashMaskLayout mask = FlashMaskLayout::absent,
                bool in_storage_format = false) {
  return test::flash_attention({2, 3, 5, 7, 16}, storage, FlashLayout::contiguous,
                               {mask, in_storage_format}, {});
}

Operand& operand(Problem& p, std::string_view name) {
  for (Operand& each : p.operands) {
    if (each.name == name) return each;
  }
  throw std::logic_error("no operand of that name");
}

class FlashAttentionBind : public testing::Test {
 protected:
  // Operands get memory of their own; `changed` then lies at `data` instead.
  std::string bind(Problem& p, std::span<const KeyMask> masks = kFlashMasksInMemory,
                   std::string_view changed = {}, void* data = nullptr) {
    std::vector<Argument> operands;
    for (Operand& each : p.operands) {
      const std::int64_t bytes = each.span_elements() * size_bytes(each.format);
      if (each.role == Role::output || each.storage.empty()) {
        each.storage.resize(static_cast<std::size_t>(bytes < 0 || bytes > 4096 ? 4096 : bytes));
      }
      operands.push_back({each.name == changed ? data : each.storage.data(), &each});
    }
    Arguments arguments;
    arguments.operands = operands;
    arguments.scale = p.scale;
    arguments.settings = p.settings;
    return gpu::bind(arguments, g, masks);
  }
  void expect_refused(Problem p, const std::string& what,
                      std::span<const KeyMask> masks = kFlashMasksInMemory) {
    const std::string error = bind(p, masks);
    EXPECT_EQ(error.substr(0, what.size()), what) << error;
  }
  FlashAttention g;
};

TEST_F(FlashAttentionBind, TakesSizesStridesAndTheDefaultScale) {
  Problem p = problem();
  ASSERT_EQ(bind(p), "");
  EXPECT_EQ(g.storage, Format::f16);
  EXPECT_EQ(g.batches, 2);
  EXPECT_EQ(g.heads, 3);
  EXPECT_EQ(g.queries, 5);
  EXPECT_EQ(g.keys, 7);
  EXPECT_EQ(g.dim, 16);
  EXPECT_EQ(g.q.stride[0], 3 * 5 * 16);
  EXPECT_EQ(g.k.stride[1], 7 * 16);
  EXPECT_EQ(g.out.stride[2], 16);
  EXPECT_EQ(g.v.data, operand(p, "v").storage.data());
  EXPECT_EQ(g.mask, KeyMask::none);
  EXPECT_EQ(g.additive.data, nullptr);
  EXPECT_EQ(g.scale, 0.25f);
  p.scale = -1.5f;
  ASSERT_EQ(bind(p), "");
  EXPECT_EQ(g.scale, -1.5f);
}

TEST_F(FlashAttentionBind, KnowsRowsOf16Bytes) {
  const auto aligned = [this](FlashLayout layout, std::int64_t dim) {
    Problem p = test::flash_attention({2, 3, 5, 7, dim}, Format::f16, layout, {}, {});
    alignas(16) static std::byte memory[1 << 16];
    const std::size_t offset = operand(p, "q").base_offset != 0 ? 2 : 0;
    EXPECT_EQ(bind(p, kFlashMasksInMemory, "q", memory + offset), "");
    return g.q.aligned;
  };
  EXPECT_TRUE(aligned(FlashLayout::contiguous, 16));
  EXPECT_FALSE(aligned(FlashLayout::contiguous, 12));
  EXPECT_TRUE(aligned(FlashLayout::padded, 12));
  EXPECT_FALSE(aligned(FlashLayout::offset, 16));
  EXPECT_FALSE(aligned(FlashLayout::odd, 16));
}

// An axis of one element never moves, whatever its stride says.
TEST_F(FlashAttentionBind, IgnoresStridesThatDoNotMove) {
  Problem p = test::flash_attention({1, 1, 1, 1, 16}, Format::f16, FlashLayout::contiguous,
                                    {FlashMaskLayout::dense, false}, {});
  for (const char* each : {"q", "k", "v", "mask", "out"}) {
    Operand& changed = operand(p, each);
    changed.stride = {-7, 3, 1, each == std::string_view("mask") ? 5 : 1};
  }
  ASSERT_EQ(bind(p), "");
  EXPECT_EQ(g.q.stride[0], 0);
  EXPECT_EQ(g.q.stride[2], 0);
  EXPECT_EQ(g.additive.stride[3], 0);
}

TEST_F(FlashAttentionBind, TakesMasksOfBothFormatsAndAnyStrides) {
  for (const FlashMaskLayout layout :
       {FlashMaskLayout::dense, FlashMaskLayout::transposed, FlashMaskLayout::all_repeated}) {
    for (const bool in_storage_format : {false, true}) {
      Problem p = problem(Format::bf16, layout, in_storage_format);
      ASSERT_EQ(bind(p), "");
      EXPECT_EQ(g.mask, KeyMask::additive);
      EXPECT_EQ(g.additive.format, in_storage_format ? Format::bf16 : Format::f32);
      const std::vector<std::int64_t>& stride = operand(p, "mask").stride;
      EXPECT_TRUE(std::equal(stride.begin(), stride.end(), g.additive.stride));
    }
  }
}

TEST_F(FlashAttentionBind, Tf32HasF32OutputsAndMasks) {
  Problem p = problem(Format::tf32, FlashMaskLayout::dense);
  EXPECT_EQ(bind(p), "");
  EXPECT_EQ(g.storage, Format::tf32);
  operand(p, "out").format = Format::tf32;
  expect_refused(p, "out: format tf32, needs f32");
  p = problem(Format::tf32, FlashMaskLayout::dense, true);
  expect_refused(p, "mask: format tf32, needs f32");
}

TEST_F(FlashAttentionBind, RefusesFormats) {
  Problem p = problem(Format::f32);
  operand(p, "q").format = Format::f64;
  expect_refused(p, "q: format f64, needs f32, tf32, f16 or bf16");
  p = problem();
  operand(p, "v").format = Format::bf16;
  expect_refused(p, "v: format bf16, needs f16");
  p = problem(Format::f16, FlashMaskLayout::dense);
  operand(p, "mask").format = Format::bf16;
  expect_refused(p, "mask: format bf16, needs f32 or q's f16");
}

TEST_F(FlashAttentionBind, RefusesSizes) {
  for (const std::int64_t dim : {0, 7, 257}) {
    Problem p =
        test::flash_attention({1, 1, 1, 1, dim}, Format::f16, FlashLayout::contiguous, {}, {});
    expect_refused(p, "q: extent 3 is " + std::to_string(dim));
  }
  const auto changed = [this](const char* name, std::size_t axis, std::int64_t extent,
                              const std::string& what) {
    Problem p = problem(Format::f16, FlashMaskLayout::dense);
    operand(p, name).extent[axis] = extent;
    expect_refused(p, what);
  };
  changed("q", 2, -1, "q: extent 2 is -1");
  changed("k", 2, -1, "k: extent 2 is -1");
  changed("q", 2, kFlashSizeMost + 1, "q: extent 2 is " + std::to_string(kFlashSizeMost + 1));
  changed("k", 1, 2, "k: extents (2, 2, 7, 16)");
  changed("v", 2, 8, "v: extents (2, 3, 8, 16)");
  changed("v", 3, 8, "v: extents (2, 3, 7, 8)");
  changed("mask", 0, 1, "mask: extents (1, 3, 5, 7)");
  changed("mask", 3, 5, "mask: extents (2, 3, 5, 5)");
  changed("out", 2, 7, "out: extents (2, 3, 7, 16)");
  Problem p = problem();
  operand(p, "q").extent.pop_back();
  expect_refused(p, "q: has 3 dimensions");
  p = problem();
  for (const char* each : {"q", "out"}) {
    operand(p, each).extent = {1 << 20, 1 << 20, 1 << 20, 16};
    operand(p, each).stride = {0, 0, 0, 1};
  }
  expect_refused(p, "q: 1048576 times 1048576 times 1048576 rows");
}

TEST_F(FlashAttentionBind, RefusesStrides) {
  Problem p = problem();
  operand(p, "k").stride[3] = 2;
  expect_refused(p, "k: stride 3 is 2, the innermost one must be 1");
  p = problem();
  operand(p, "v").stride[1] = -112;
  expect_refused(p, "v: stride 1 is -112");
  p = problem(Format::f16, FlashMaskLayout::dense);
  operand(p, "mask").stride[2] = -1;
  expect_refused(p, "mask: stride 2 is -1");
  p = problem();
  operand(p, "out").stride[2] = 15;
  expect_refused(p, "out: strides (240, 80, 15, 1)");
}

TEST_F(FlashAttentionBind, RefusesNullOverlapAndMissingOperands) {
  for (const char* each : {"q", "k", "v", "mask", "out"}) {
    Problem p = problem(Format::f32, FlashMaskLayout::dense);
    EXPECT_EQ(bind(p, kFlashMasksInMemory, each, nullptr),
              std::string(each) + ": null pointer for a non-empty operand");
    if (each == std::string_view("out")) continue;
    void* inside = operand(p, each).storage.data() + 16;
    const std::string error = bind(p, kFlashMasksInMemory, "out", inside);
    EXPECT_NE(error.find("out: shares memory with "), std::string::npos) << error;
    std::erase_if(p.operands, [each](const Operand& other) { return other.name == each; });
    if (each == std::string_view("mask")) continue;
    expect_refused(p, std::string(each) + ": the argument is missing");
  }
}

TEST_F(FlashAttentionBind, RefusesScales) {
  for (const float scale :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    Problem p = problem();
    p.scale = scale;
    expect_refused(p, "scale: is ");
  }
}

TEST_F(FlashAttentionBind, ReadsTheMaskThatIsSet) {
  Problem p = problem();
  p.settings = {{"mask", 3, {}}, {"prefix", 4, {}}};
  ASSERT_EQ(bind(p, kFlashMasksCompiled), "");
  EXPECT_EQ(g.mask, KeyMask::prefix_lm);
  EXPECT_EQ(g.prefix, 4);
  p.settings = {{"mask", 4, {}}, {"window_left", 2, {}}, {"window_right", 3, {}}};
  ASSERT_EQ(bind(p, kFlashMasksCompiled), "");
  EXPECT_EQ(g.mask, KeyMask::window);
  EXPECT_EQ(g.window_left, 2);
  EXPECT_EQ(g.window_right, 3);
  p.settings = {{"prefix", 1, {}}};
  ASSERT_EQ(bind(p, kFlashMasksDocuments), "");
  EXPECT_EQ(g.mask, KeyMask::documents);
  p.settings = {};
  ASSERT_EQ(bind(p, kFlashMasksCompiled), "");
  EXPECT_EQ(g.mask, KeyMask::none);
}

TEST_F(FlashAttentionBind, RefusesMasks) {
  Problem p = problem();
  p.settings = {{"mask", 2, {}}};
  expect_refused(p, "mask: is 2, needs 0 to 1");
  p.settings = {{"mask", 1, {}}};
  expect_refused(p, "mask: the argument is missing");
  p.settings = {{"mask", 4, {}}, {"window_left", -1, {}}};
  expect_refused(p, "window_left: is -1", kFlashMasksCompiled);
  p.settings = {{"mask", 4, {}}, {"window_right", std::int64_t{INT32_MAX} + 1, {}}};
  expect_refused(p, "window_right: is 2147483648", kFlashMasksCompiled);
  p.settings = {{"mask", 3, {}}, {"prefix", -1, {}}};
  expect_refused(p, "prefix: is -1", kFlashMasksCompiled);
  p.settings = {};
  expect_refused(p, "prefix: is 0, needs 1", kFlashMasksDocuments);
  p = problem(Format::f16, FlashMaskLayout::dense);
  p.settings = {{"mask", 0, {}}};
  expect_refused(p, "mask: an operand, but the setting says none");
  p.settings = {};
  expect_refused(p, "mask: an operand, but the setting says none", kFlashMasksCompiled);
}

}  // namespace
}  // namespace halfulp::gpu
