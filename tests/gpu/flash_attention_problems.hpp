// Small attention problems, and what a softmax in double precision says of their outputs.
//
// q, k and v hold multiples of 1/8 in [-2, 2], masks -inf, 0 and multiples of 1/4 in [-4, 4], all
// of them exact in every storage format. What is in gaps is NaN.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gpu/backend.hpp"

namespace halfulp::gpu::test {

struct FlashSize {
  std::int64_t batches = 1, heads = 1, queries = 1, keys = 1, dim = 8;
};

// How q, k, v and out lie in memory. `mixed` gives each of them another one of the first five.
enum class FlashLayout : std::uint8_t {
  contiguous,
  padded,        // rows with gaps that keep them 16-byte aligned
  odd,           // with gaps that do not
  heads_inside,  // (batch, row, head, channel)
  offset,        // contiguous, from a base that is one element off
  mixed,
  repeated,  // all heads of q, k and v the same memory (out: contiguous)
};
inline constexpr int kFlashLayouts = 7;
const char* name(FlashLayout layout);

// Where the additive mask comes from and how it lies.
enum class FlashMaskLayout : std::uint8_t {
  absent,
  dense,
  transposed,      // queries innermost
  sliced,          // rows of a pitch above the keys, from a base that is one element off
  batch_repeated,  // zero strides: one mask for all batches,
  head_repeated,   //   for all heads,
  row_repeated,    //   one row for all queries of a head,
  all_repeated,    //   one row for all
};
inline constexpr int kFlashMaskLayouts = 8;
const char* name(FlashMaskLayout layout);

struct FlashMaskChoice {
  FlashMaskLayout layout = FlashMaskLayout::absent;
  bool in_storage_format = false;  // else f32
};

// A problem for operation "flash_attention". Of every five queries one has no open key, and one
// none among the first 70, unless the mask's rows are repeated. `settings` need not name the mask.
Problem flash_attention(const FlashSize& size, Format storage, FlashLayout layout,
                        FlashMaskChoice mask, std::vector<Setting> settings);

// Empty when every element of out is within what rounding alone may do, else the first that is not.
// `open` closes more keys: query i, key j. `weight_roundoff`: relative error of a weight as it
// multiplies v, beyond fp32's (f16: 2^-11).
std::string first_wrong_attention(
    const Problem& problem, const Outputs& outputs,
    const std::function<bool(std::int64_t, std::int64_t)>& open = nullptr,
    double weight_roundoff = 0);

}  // namespace halfulp::gpu::test
