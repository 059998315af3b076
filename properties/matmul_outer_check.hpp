// Judges products that are too large to be computed here by sums in fp64 that the device took
// [B28], their own error added to the bound; a sample of whole rows is computed here all the same.
//
//   if (needs_outer_check(op)) check = matmul_outer_check(op, product, seed, sink);
#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include "gpu/product_in_double.hpp"
#include "properties/operation.hpp"
#include "reference/ops/matmul.hpp"

namespace halfulp::properties {

// So many products take one core 0.7 s.
inline constexpr double kOuterCheckProducts = 0x1p33;
bool needs_outer_check(const reference::Matmul& op);

// As gpu::product_in_double for the operands of `op`.
using ProductInDouble = std::function<std::string(const gpu::RowsInDoubleSink&)>;

// Streams every element once. Rows that the device did not get to are computed here, unless it
// gave none: then nothing is streamed. The sample is drawn by the seed: as many rows as come
// to `sample_products` products (0.4 s on one core), at least one.
OuterCheck matmul_outer_check(const reference::Matmul& op, const ProductInDouble& product,
                              std::uint64_t seed, const reference::Sink& sink,
                              double sample_products = 0x1p32);

}  // namespace halfulp::properties
