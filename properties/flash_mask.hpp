// Masks of flash_attention: what the field `mask` says of a query and a key.
//
//   none
//   causal_top_left             key j is open to query i for j <= i
//   causal_bottom_right         for j <= i + keys - queries
//   prefix_lm:P                 for j <= i, or both below P
//   window:L:R                  for i + keys - queries - L <= j <= i + keys - queries + R
//   documents:N                 for i and j in the same run of N positions
// These are closed forms: a kernel whose row lists the word is told by its settings, any other gets
// them as a dense operand of 0 and -infinity. What follows is always dense:
//   bias[:P]                    finite, on a grid of 2^-6 in [-2, 2); P percent of cells closed
//   bias_far[:P]                for each query around a number of magnitude 2^4 to 2^9, within 2 of
//                               it, with all the bits of an fp32 number; P percent of cells closed
//   alibi:N                     (j - i) N / 1024, half as much in each of the next three heads
//   random:P                    P percent of the cells closed, 0 elsewhere
//   large:P, lowest:P           -10000, or the lowest finite number, in P percent of the cells
//   keys:N                      N keys open to each query, at random
//   only:J                      key J open, to all
//   closed:B:E                  keys B to E - 1 closed, to all
//   empty_rows:B:E              queries B to E - 1 have no open key
//   padded_left:N, padded_right:N   0 to N keys closed there, as many as the batch draws
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace halfulp::properties {

enum class MaskFamily : std::uint8_t {
  none,
  causal_top_left,
  causal_bottom_right,
  prefix_lm,
  window,
  documents,
  empty_rows,
  closed,
  only,
  keys,
  random,
  bias,
  bias_far,
  alibi,
  large,
  lowest,
  padded_left,
  padded_right,
};
inline constexpr int kMaskFamilies = 18;
std::string_view name(MaskFamily family);

// What is wrong with the text of a mask field, or empty.
std::string mask_error(std::string_view text);

struct Mask {
  MaskFamily family = MaskFamily::none;
  std::int64_t arguments[2] = {0, 0};  // in the order of the text
  int count = 0;                       // of them
};
Mask parse_mask(std::string_view text);  // asserts that mask_error is empty
std::string print(const Mask& mask);

// Told by settings where the kernel knows the word.
bool closed_form(const Mask& mask);
// Axes, letters of "bhqk", along which a stride of 0 may stand: what the mask says does not differ
// there, or is a draw that others may share.
std::string_view broadcast_axes(MaskFamily family);

struct MaskShape {
  std::int64_t batches = 0, heads = 0, queries = 0, keys = 0;
};
// What is added to the scores of one query: 0, -infinity, or a finite number, `lowest` the lowest
// one of the operand's format. row.size() == keys. Depends on the seed and on these places alone.
struct MaskRow {
  std::uint64_t seed = 1;
  std::int64_t batch = 0, head = 0, query = 0;
  double lowest = 0;
};
void mask_row(const Mask& mask, const MaskShape& shape, const MaskRow& place,
              std::span<double> row);

}  // namespace halfulp::properties
