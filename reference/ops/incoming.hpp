// What the graph operations share in walking a graph: the edges of each destination together, and
// rows of stored numbers as floats. Internal to reference/ops.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "reference/answer.hpp"

namespace halfulp::reference {

// The edges that end at each node, by counting sort; edges of one node keep their physical order.
class Incoming {
 public:
  Incoming(const std::int32_t* destination, std::int64_t edges, std::int64_t nodes);

  std::span<const std::int64_t> edges_of(std::int64_t node) const {
    const std::size_t first = static_cast<std::size_t>(offset_[static_cast<std::size_t>(node)]);
    const std::size_t last = static_cast<std::size_t>(offset_[static_cast<std::size_t>(node) + 1]);
    return std::span(edge_).subspan(first, last - first);
  }
  std::int64_t largest_degree() const { return largest_degree_; }

 private:
  std::vector<std::int64_t> offset_;
  std::vector<std::int64_t> edge_;
  std::int64_t largest_degree_ = 0;
};

// The edges that end at one node, without sorting the rest.
std::vector<std::int64_t> incoming_edges(const std::int32_t* destination, std::int64_t edges,
                                         std::int64_t node);

// Rows along the last dimension of a (rows, heads, dim) view, every stored format but fp64 being
// exact in float. Points into the view where that is possible, else into its own buffer until the
// next call.
class FloatRows {
 public:
  FloatRows(const View& view, std::int64_t dim);
  const float* row(std::int64_t i, std::int64_t head);

 private:
  const View& view_;
  std::int64_t dim_;
  bool direct_;
  std::vector<double> decoded_;
  std::vector<float> converted_;
};

}  // namespace halfulp::reference
