// The product of a matmul problem in fp64 by cuBLAS on the device: a quick look at large ones.
//
//   const std::string error = product_in_double(problem, [&](const RowsInDouble& rows) { ... });
//
// Not for use beside run().
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "gpu/problem.hpp"

namespace halfulp::gpu {

// Whole rows of two matrices (m, n), the first of them `first`.
struct RowsInDouble {
  std::int64_t first = 0;
  std::span<const double> value;      // a b
  std::span<const double> magnitude;  // |a| |b|
};
using RowsInDoubleSink = std::function<void(const RowsInDouble&)>;

// Of operands a (m, k) and b (k, n) of any strides: f16, bf16, or fp32 numbers (f32 and tf32),
// which are widened exactly. Sums in IEEE fp64, to nearest, fused or not, in any order.
// Streams each row once, in ascending order. Returns why not: no device, no library, no memory, or
// a device lost on the way, which ends the rows. Empty: all rows were streamed.
std::string product_in_double(const Problem& problem, const RowsInDoubleSink& sink);

}  // namespace halfulp::gpu
