// Strides and runs.
#include "tests/gpu/wide_layout.hpp"

#include <algorithm>
#include <numeric>

namespace halfulp::gpu::test {

std::vector<std::int64_t> wide_strides(const std::vector<std::int64_t>& extent,
                                       const WideLayout& layout) {
  std::vector<std::size_t> order = layout.order;
  if (order.empty()) {
    order.resize(extent.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
  }
  std::vector<std::int64_t> stride(extent.size(), 1);
  std::int64_t reach = 0;  // of the axes inside
  for (std::size_t i = order.size(); i-- > 0;) {
    const std::size_t axis = order[i];
    if (i + 1 < order.size() || layout.inner_strided) {
      const std::int64_t units = (reach + kWideUnit) / kWideUnit + 1;
      stride[axis] = units * kWideUnit + layout.odd;
      if (!layout.apart.empty()) stride[axis] += layout.apart[axis];
    }
    reach += std::max<std::int64_t>(extent[axis] - 1, 0) * stride[axis];
  }
  return stride;
}

std::vector<Run> runs_of(const Operand& operand) {
  std::vector<Run> runs;
  if (operand.count() == 0) return runs;
  std::size_t inner = operand.extent.size();
  for (std::size_t axis = 0; axis < operand.extent.size(); ++axis) {
    if (operand.stride[axis] == 1) inner = axis;
  }
  Run run{.count = 1};
  if (inner < operand.extent.size()) {
    run.count = operand.extent[inner];
    for (std::size_t axis = inner + 1; axis < operand.extent.size(); ++axis) {
      run.step *= operand.extent[axis];
    }
  }
  for (std::int64_t index = 0; index < operand.count(); ++index) {
    if (index / run.step % run.count != 0) continue;
    run.first = index;
    run.offset = storage_index(operand, index);
    runs.push_back(run);
  }
  return runs;
}

}  // namespace halfulp::gpu::test
