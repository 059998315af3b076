// What each build of the calibration kernels has: launches on memory that a caller has staged.
#pragma once
#include <cstdint>

#include "gpu/calibration.hpp"
#include "gpu/simt/status.hpp"

namespace halfulp::gpu {

struct ProductsCall {
  Format format;
  const std::uint32_t *a, *b, *c;
  std::uint32_t* d;
  std::int64_t count;
};
struct ApplyCall {
  Instruction instruction;
  const std::uint32_t *a, *b;
  std::uint32_t* out;
  std::int64_t count;
};
// `out`: kSweepWords for each range.
struct SweepCall {
  Instruction function;
  UlpLimit limit;
  std::uint32_t stride;
  std::uint32_t ranges;  // a power of two
  std::uint32_t* out;
};
// Argument, numerator, result, inputs in the domain, then the two halves of a double: ulps off.
inline constexpr int kSweepWords = 6;

namespace host {
simt::Status calibration_products(const ProductsCall& call, void* stream);
simt::Status calibration_apply(const ApplyCall& call, void* stream);
simt::Status calibration_sweep(const SweepCall& call, void* stream);
}  // namespace host
namespace cuda {
simt::Status calibration_products(const ProductsCall& call, void* stream);
simt::Status calibration_apply(const ApplyCall& call, void* stream);
simt::Status calibration_sweep(const SweepCall& call, void* stream);
}  // namespace cuda

}  // namespace halfulp::gpu
