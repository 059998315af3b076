#include "reference/ops/incoming.hpp"

#include <algorithm>

#include "reference/require.hpp"

namespace halfulp::reference {

Incoming::Incoming(const std::int32_t* destination, std::int64_t edges, std::int64_t nodes)
    : offset_(static_cast<std::size_t>(nodes) + 1), edge_(static_cast<std::size_t>(edges)) {
  for (std::int64_t e = 0; e < edges; ++e) {
    HALFULP_REQUIRE(destination[e] >= 0 && destination[e] < nodes, "an edge ends at a node");
    ++offset_[static_cast<std::size_t>(destination[e]) + 1];
  }
  for (std::size_t n = 0; n < static_cast<std::size_t>(nodes); ++n) {
    largest_degree_ = std::max(largest_degree_, offset_[n + 1]);
    offset_[n + 1] += offset_[n];
  }
  std::vector<std::int64_t> next(offset_.begin(), offset_.end() - 1);
  for (std::int64_t e = 0; e < edges; ++e) {
    edge_[static_cast<std::size_t>(next[static_cast<std::size_t>(destination[e])]++)] = e;
  }
}

std::vector<std::int64_t> incoming_edges(const std::int32_t* destination, std::int64_t edges,
                                         std::int64_t node) {
  std::vector<std::int64_t> found;
  for (std::int64_t e = 0; e < edges; ++e) {
    if (destination[e] == node) found.push_back(e);
  }
  return found;
}

FloatRows::FloatRows(const View& view, std::int64_t dim)
    : view_(view),
      dim_(dim),
      direct_((view.format == Format::fp32 || view.format == Format::tf32) && view.stride[2] == 1 &&
              reinterpret_cast<std::uintptr_t>(view.data) % alignof(float) == 0) {
  HALFULP_REQUIRE(view.format != Format::fp64, "inputs must be exact in fp32");
  if (!direct_) {
    decoded_.resize(static_cast<std::size_t>(dim));
    converted_.resize(static_cast<std::size_t>(dim));
  }
}

const float* FloatRows::row(std::int64_t i, std::int64_t head) {
  if (direct_) {
    return static_cast<const float*>(view_.data) + i * view_.stride[0] + head * view_.stride[1];
  }
  view_.row(i, head, 0, 2, dim_, decoded_.data());
  for (std::size_t d = 0; d < converted_.size(); ++d) {
    converted_[d] = static_cast<float>(decoded_[d]);
  }
  return converted_.data();
}

}  // namespace halfulp::reference
