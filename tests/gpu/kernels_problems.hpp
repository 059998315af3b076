// Small problems for the kernel and backend tests, and what a naive double loop says of their
// outputs.
//
// Inputs are multiples of 1/16 in [-4, 4], exact in every storage format, so the naive loops see
// exactly what the kernels see. Nothing here is shared with reference/ or properties/.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gpu/backend.hpp"

namespace halfulp::gpu::test {

// How the float operands lie in memory.
enum class Layout : std::uint8_t { contiguous, gapped, permuted, broadcast, offset };
inline constexpr Layout kLayouts[] = {Layout::contiguous, Layout::gapped, Layout::permuted,
                                      Layout::broadcast, Layout::offset};
const char* name(Layout layout);

struct Shape {
  const char* label;
  std::int64_t nodes, heads, dim;
  std::vector<std::pair<int, int>> edges;  // source, destination
};
// Graphs and widths that differ in every way the kernels branch on.
std::vector<Shape> shapes();
// One hub of this in-degree among other nodes, edges in no order.
Shape hub(const char* label, int in_degree, std::int64_t heads, std::int64_t dim);

Problem vector_add(std::int64_t n, Format storage, Layout layout);
Problem scatter_normalize(const Shape& shape, Format storage, Layout layout);
Problem graph_attention(const Shape& shape, Format storage, Layout layout);

// The value of element `row_major_index` of an operand, from `storage` bytes laid out like the
// operand.
double value_at(const Operand& operand, const std::vector<std::byte>& storage,
                std::int64_t row_major_index);

// The right answer of one output element and how far rounding alone may move it.
struct Expected {
  double value = 0;
  double bound = 0;
};
// All elements of each output, row-major.
std::vector<std::vector<Expected>> expected(const Problem& problem);

// Empty when every element of `outputs` is within its bound, else the first that is not.
std::string first_wrong(const Problem& problem, const Outputs& outputs);

}  // namespace halfulp::gpu::test
