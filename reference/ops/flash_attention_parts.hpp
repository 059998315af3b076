// The steps of the flash attention reference, shared by evaluate, exact and explain. Internal to
// reference/ops.
//
// Of one batch and head: its keys and values in double (HeadOperands). Of one query: the weights of
// its keys with what may be wrong with them (RowWeights), from products of q and k; then one answer
// a channel, from sums over the weighted values.
#pragma once
#include <span>
#include <vector>

#include "reference/ops/flash_attention.hpp"
#include "reference/ops/matmul_blocks.hpp"
#include "reference/ops/matmul_bound.hpp"
#include "reference/rounding_error.hpp"

namespace halfulp::reference {

void check(const FlashAttention& op);

// Keys [first, last) that the closed form leaves open to a query; first == last where none.
struct KeyRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
};
KeyRange open_keys(const FlashAttention& op, std::int64_t query);

// A batch's and head's rows of a view, as a view of (rows, dim); turned: (dim, rows).
View head_view(const View& view, std::int64_t batch, std::int64_t head, bool turned);

// What all rows of an operation share. Weights are exp(score - maximum), at most 1.
struct AttentionModel {
  explicit AttentionModel(const FlashAttention& op);

  MatmulModel dots;    // q k^T
  MatmulModel values;  // weights times v
  RoundingModel rounding;
  DivisionError division;
  double unit = 0;  // u
  bool tensor_core = false;

  double scale = 1;            // as near to the truth as a double is
  double scale_error = 0;      // relative, of the kernel's factor [B24]
  double scale_in_double = 0;  // relative, of `scale`
  bool scale_exact = false;    // scaling rounds nothing

  bool base_2 = false;
  bool log2e_first = false;
  double exp_ulps = 0;   // (k + 1/2) 2^-23
  double exp_slope = 0;  // for an argument of 1
  double exp_tiny = 0;   // of an exponential below the normal range, absolute
  double rescales = 0;
  double lazy = 0;       // natural logarithm
  double lazy_most = 1;  // e^lazy

  double weight_unit = 0;  // relative rounding of a weight; 0: it stays as it is
  bool weight_nearest = false;
  double weight_tiny = 0;    // absolute, below `weight_normal`
  double weight_normal = 0;  // smallest normal weight
  bool weight_sum_rounded = false;
  bool product_apart = false;
  bool closed_ignored = false;  // NaN and infinities of closed keys
};

// Keys and values of one batch and head, read once. What is not finite counts as 0 here, and is
// listed.
class HeadOperands {
 public:
  HeadOperands(const FlashAttention& op, const AttentionModel& model);
  void load(std::int64_t batch, std::int64_t head);

  std::int64_t batch = 0;
  std::int64_t head = 0;
  std::vector<double> packed_keys;    // panels of kTileColumns keys
  std::vector<double> packed_values;  // panels of kTileColumns channels
  std::vector<double> values;         // (keys, dim)
  std::vector<Line> key_lines;
  std::vector<Line> channel_lines;
  std::vector<std::int64_t> special_keys;      // with NaN or an infinity in k
  std::vector<std::int64_t> special_channels;  // the same in v, of whatever key
  double key_largest = 0;

 private:
  const FlashAttention& op_;
  const AttentionModel& model_;
  std::vector<double> line_;
};

enum class RowKind : std::uint8_t {
  ordinary,
  masked,     // no open key
  nan,        // every channel is NaN
  unbounded,  // nothing can be concluded of any channel
};

// The keys of one query. Arrays hold one number for each key of the range [first, last).
struct RowWeights {
  RowKind kind = RowKind::masked;
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::vector<double> weight;    // 0 for keys that are not open
  std::vector<double> moved;     // how far the kernel's weight may be from it, by v - o
  std::vector<double> rounded;   // the same by v
  std::vector<double> argument;  // score - maximum, relative error of the exponential, on the way
  std::vector<double> error;
  std::vector<unsigned char> open;

  double count = 0;  // open keys
  double sum = 0;    // of weights
  double moved_sum = 0;
  double rounded_sum = 0;  // that the kernel's denominator has, too
  double smallest = 1;     // weight of an open key
  double steps = 0;        // tensor core steps that hold an open key, at most
  double rescale_roundings = 0;
  double double_error = 0;   // relative, of weights in double
  double lost = 0;           // absolute, of any weight, below the normal range
  bool exact = false;        // every weight is 1, or next to nothing, in every kernel [B26]
  double units = 0;          // so many are 1
  double negligible = 0;     // sum of all others, in every kernel, at most
  bool closed_keys = false;  // some keys are not open
};

// Forms the weights of single queries.
class RowScores {
 public:
  RowScores(const FlashAttention& op, const AttentionModel& model, const HeadOperands& head);
  // From the products with q, one a key of [first, last). `q` (dim).
  void weigh(std::int64_t query, const double* q, const Line& q_line, KeyRange range,
             std::span<const ProductSums> products, RowWeights& row);

 private:
  void open_and_mask(std::int64_t query, KeyRange range, RowWeights& row);
  void take_special(const double* q, const Line& q_line, RowWeights& row);
  bool score(const Line& q_line, std::span<const ProductSums> products, RowWeights& row);
  double argument_error(const RowWeights& row, std::size_t at, double rescales) const;
  double from_one(const RowWeights& row, std::size_t at) const;
  void weigh_key(RowWeights& row, std::size_t at) const;
  void find_units(RowWeights& row);
  void finish(RowWeights& row);

  const FlashAttention& op_;
  const AttentionModel& model_;
  const HeadOperands& head_;
  std::vector<double> mask_, scaled_, dot_, score_error_, double_error_;
  std::vector<double> k_;
  std::vector<unsigned char> dot_exact_;
  double mask_most_ = 0;       // of open keys: scores are formed without it
  double score_most_ = 0;      // score + mask_most_ is the largest score
  double scaled_at_most_ = 0;  // scaled product of the largest score
  double error_most_ = 0;
};

// One channel: its sums over the keys, from which its answer follows.
struct ChannelSums {
  double sum = 0;        // sum w v
  double magnitude = 0;  // sum w |v|
  double spread = 0;     // sum moved |v - o|
  double rounded = 0;    // sum rounded |v|
};
struct AttentionAnswer {
  double value = 0;
  double error = 0;
  double bound = 0;
  // The bound's parts, inflated.
  double scores = 0;
  double weights = 0;
  double accumulation = 0;
  double denominator = 0;
  double division = 0;
};
// `channel` numbers it; `head` gives its values where sums do not decide.
AttentionAnswer answer_of(const AttentionModel& model, const HeadOperands& head,
                          const RowWeights& row, std::int64_t channel, const ChannelSums& sums);
// [B27] The channel holds NaN or infinities.
AttentionAnswer answer_of_class(const FlashAttention& op, const AttentionModel& model,
                                const HeadOperands& head, const RowWeights& row,
                                std::int64_t channel, const ChannelSums& sums);

}  // namespace halfulp::reference
