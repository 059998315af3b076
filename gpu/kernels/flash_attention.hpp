// flash_attention: its arguments, shared by the launchers of every variant.
// out = softmax(scale q k^T + mask) v for q and out (batches, heads, queries, dim), k and v
// (batches, heads, keys, dim); +0 for a query without an open key.
#pragma once
#include <array>
#include <span>
#include <string_view>

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

// Words of the setting `mask`: those of kernels that read the mask from memory, and of kernels that
// have it compiled in.
std::string_view name(KeyMask mask);
inline constexpr std::array kFlashMasksInMemory{KeyMask::none, KeyMask::additive};
inline constexpr std::array kFlashMasksCompiled{KeyMask::none, KeyMask::causal_top_left,
                                                KeyMask::causal_bottom_right, KeyMask::prefix_lm,
                                                KeyMask::window};
inline constexpr std::array kFlashMasksDocuments{KeyMask::documents};

// Most queries and most keys: positions are 32 bits wide, a tile past the last included.
inline constexpr std::int64_t kFlashSizeMost = INT32_MAX - 4096;
inline constexpr std::int64_t kFlashDimLeast = 8;
inline constexpr std::int64_t kFlashDimMost = 256;

// Rows of q and keys that a block takes at a time; the index in a kernel's list of these is the
// value of its setting `tile`.
struct FlashTileSize {
  std::string_view word;
  int queries = 0, keys = 0;
};
// Of online_f32.
inline constexpr std::array kFlashTilesF32{FlashTileSize{"32x64", 32, 64},
                                           FlashTileSize{"64x64", 64, 64},
                                           FlashTileSize{"128x32", 128, 32}};

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
// wrong. `masks` are the words of the setting `mask` in the kernel's row; without that setting a
// kernel takes `additive` where there is an operand of that kind, else the first of them. Of
// `prefix`, `window_left` and `window_right` (0 to INT32_MAX, 0 unless set; prefix from 1 for
// documents) those are read that the mask has.
std::string bind(const Arguments& arguments, FlashAttention& g,
                 std::span<const KeyMask> masks = kFlashMasksInMemory);

}  // namespace halfulp::gpu
