// Attention on a device; part of `halfulp bench gpu`.
#pragma once
#include <string>
#include <vector>

#include "properties/bench.hpp"

namespace halfulp::properties {

// Kernels of flash_attention that pass the filters, each at the quickest of its tiles: three shapes
// in f16, bf16, tf32 and f32 (those without tensor cores not in bf16), without a mask, causal, and
// with a prefix of half the keys; median time, TFLOP/s of the open pairs of queries and keys, and
// GB/s of q, k, v and out, once each, beside the copy bandwidth. Nothing where no kernel passes.
// Needs a usable device, with 16 GB of memory for the workspaces of `naive`.
void bench_flash(const Say& say, const std::vector<std::string>& filters, double copy_bytes_per_s);

}  // namespace halfulp::properties
