// Layouts: distinct elements have distinct places, gaps hold NaN, only inputs are broadcast.
#include "properties/layout.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "reference/format.hpp"

namespace halfulp::properties {
namespace {

gpu::Operand laid_out(std::string_view layout, gpu::Role role = gpu::Role::input,
                      std::uint64_t seed = 1, std::uint32_t number = 0) {
  gpu::Operand operand;
  operand.name = "values";
  operand.role = role;
  operand.extent = {4, 3, 5};
  lay_out(operand, layout, seed, number);
  fill_gaps(operand);
  return operand;
}

std::size_t distinct_places(const gpu::Operand& operand) {
  std::set<std::int64_t> places;
  for (std::int64_t i = 0; i < operand.count(); ++i) places.insert(storage_index(operand, i));
  EXPECT_LT(*places.rbegin(), operand.span_elements());
  return places.size();
}

TEST(Layout, StridesAreAsNamed) {
  using Strides = std::vector<std::int64_t>;
  EXPECT_EQ(laid_out("packed").stride, (Strides{15, 5, 1}));
  EXPECT_EQ(laid_out("gap:2").stride, (Strides{23, 7, 1}));
  EXPECT_EQ(laid_out("permuted").stride, (Strides{5, 20, 1}));
  EXPECT_EQ(laid_out("offset:3").stride, (Strides{15, 5, 1}));
  EXPECT_EQ(laid_out("offset:3").base_offset, 3);
  EXPECT_EQ(laid_out("packed").base_offset, 0);
}

TEST(Layout, ElementsDoNotCollide) {
  for (const char* layout : {"packed", "gap:1", "gap:7", "permuted", "offset:5"}) {
    EXPECT_EQ(distinct_places(laid_out(layout)), 60u) << layout;
  }
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    EXPECT_EQ(distinct_places(laid_out("mixed", gpu::Role::output, seed)), 60u);
    EXPECT_EQ(distinct_places(laid_out("broadcast", gpu::Role::output, seed)), 60u);
  }
}

TEST(Layout, SomeInputsAreBroadcast) {
  int outermost = 0, middle = 0, neither = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const gpu::Operand operand = laid_out("broadcast", gpu::Role::input, seed);
    EXPECT_EQ(operand.stride[2], 1);
    outermost += operand.stride[0] == 0;
    middle += operand.stride[1] == 0;
    neither += operand.stride[0] != 0 && operand.stride[1] != 0;
  }
  EXPECT_EQ(outermost + middle + neither, 100);
  EXPECT_GT(outermost, 10);
  EXPECT_GT(middle, 10);
  EXPECT_GT(neither, 20);
}

TEST(Layout, MixedDiffersBetweenOperands) {
  std::set<std::vector<std::int64_t>> strides;
  for (std::uint32_t number = 0; number < 20; ++number) {
    strides.insert(laid_out("mixed", gpu::Role::input, 1, number).stride);
  }
  EXPECT_GE(strides.size(), 4u);
}

TEST(Layout, GapsHoldNan) {
  const gpu::Operand operand = laid_out("gap:2");
  std::set<std::int64_t> places;
  for (std::int64_t i = 0; i < operand.count(); ++i) places.insert(storage_index(operand, i));
  int gaps = 0;
  for (std::int64_t i = 0; i < operand.span_elements(); ++i) {
    if (places.contains(i)) continue;
    ++gaps;
    const auto bits = get(operand, operand.storage.data(), i);
    EXPECT_TRUE(std::isnan(reference::decode(reference::Format::fp32, bits)));
  }
  EXPECT_EQ(gaps, operand.span_elements() - 60);
}

TEST(Layout, IndicesStayContiguous) {
  for (const char* layout : {"gap:3", "permuted", "broadcast", "mixed", "offset:1"}) {
    gpu::Operand operand;
    operand.format = gpu::Format::i32;
    operand.extent = {9};
    lay_out(operand, layout, 3, 2);
    EXPECT_EQ(operand.stride, std::vector<std::int64_t>{1}) << layout;
  }
}

}  // namespace
}  // namespace halfulp::properties
