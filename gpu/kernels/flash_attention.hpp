// flash_attention: its arguments, shared by the launchers of every variant.
// out = softmax(scale q k^T + mask) v for q (batches, heads, queries, dim), k and v (batches, heads,
// keys, dim); +0 for a query without an open key.
#pragma once
#include "gpu/kernels/binding.hpp"

namespace halfulp::gpu {

// Row (batch, head, i) starts batch * stride[0] + head * stride[1] + i * stride[2] elements after
// data; its dim channels are contiguous.
struct HeadRows {
  void* data = nullptr;
  std::int64_t stride[3] = {0, 0, 0};
  bool aligned = false;  // every row starts at a multiple of 16 bytes
};

// Added to the scaled scores: element (batch, head, query, key), any strides of 0 and more.
struct AdditiveMask {
  const void* data = nullptr;   // nullptr: none
  Format format = Format::f32;  // f32 or the storage format (f32 where that is tf32)
  std::int64_t stride[4] = {0, 0, 0, 0};
};

// Which keys a query may see, by the words of the setting `mask`. Aligned at the top left: key j is
// open to query i for j <= i; at the bottom right: for j <= i + keys - queries. prefix_lm: the
// former, or both i and j below the setting `prefix`. window: i + keys - queries - window_left <= j
// <= i + keys - queries + window_right. documents: i and j in the same run of `prefix` positions.
enum class KeyMask : std::uint8_t {
  none,
  additive,
  causal_top_left,
  causal_bottom_right,
  prefix_lm,
  window,
  documents,
};

struct FlashAttention {
  Format storage = Format::f32;  // f32, tf32, f16 or bf16; out is f32 where that is tf32
  std::int64_t batches = 0;
  std::int64_t heads = 0;
  std::int64_t queries = 0;
  std::int64_t keys = 0;
  std::int64_t dim = 0;  // 8 to 256
  HeadRows q, k, v, out;
  AdditiveMask additive;
  KeyMask mask = KeyMask::none;
  std::int64_t prefix = 0;
  std::int64_t window_left = 0, window_right = 0;
  float scale = 1;  // 1/sqrtf(dim) unless given
};

// Fills `g` from operands q, k, v, mask (optional) and out; the error names the argument that is
// wrong. Settings that say which keys are open are read where the kernel's row declares them.
std::string bind(const Arguments& arguments, FlashAttention& g);

}  // namespace halfulp::gpu
