// Layouts whose strides are 2^30 elements and more, and what of an operand lies next to each other
// in them.
//
//   operand.stride = wide_strides(operand.extent, {.apart = {0, 0, kApart, 0}});
//   for (const Run& run : runs_of(operand)) ... run.count elements from run.offset on
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpu/problem.hpp"

namespace halfulp::gpu::test {

// Each axis steps over all that those inside of it reach, over `apart` elements more, and on to a
// multiple of kWideUnit elements and `odd` more. So layouts that differ in `apart` alone are
// aligned alike, and kernels take the same path for them.
struct WideLayout {
  std::vector<std::size_t> order = {};   // axes, outermost first; empty: as in the extents
  std::vector<std::int64_t> apart = {};  // by axis, multiples of kWideUnit; empty: 0 for all
  std::int64_t odd = 0;                  // elements, of the base address as well
  bool inner_strided = false;            // else the stride of the innermost axis is 1
};
inline constexpr std::int64_t kWideUnit = 64;

std::vector<std::int64_t> wide_strides(const std::vector<std::int64_t>& extent,
                                       const WideLayout& layout);

// Elements whose addresses follow on each other: those of row-major indices first, first + step,
// ... lie at offset, offset + 1, ... elements after the base.
struct Run {
  std::int64_t offset = 0;
  std::int64_t first = 0;
  std::int64_t step = 1;
  std::int64_t count = 0;
};
std::vector<Run> runs_of(const Operand& operand);

}  // namespace halfulp::gpu::test
