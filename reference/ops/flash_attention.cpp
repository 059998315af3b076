// flash_attention in double with certified errors, a few queries at a time: their products with the
// keys, the weights of each, and the values read twice (sums, then their spread about the mean).
#include "reference/ops/flash_attention.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "reference/ops/flash_attention_parts.hpp"
#include "reference/ops/flash_attention_spread.hpp"
#include "reference/require.hpp"

namespace halfulp::reference {
namespace {

std::size_t size(std::int64_t count) { return static_cast<std::size_t>(count); }

constexpr std::int64_t kQueries = kTileRows;  // at a time

// kQueries queries of one head.
class QueryGroup {
 public:
  QueryGroup(const FlashAttention& op, const AttentionModel& model, const HeadOperands& head)
      : op_(op),
        model_(model),
        head_(head),
        scores_(op, model, head),
        rows_(size(kQueries)),
        answers_(size(kQueries * op.dim)) {}

  void evaluate(std::int64_t first, std::int64_t count) {
    first_query_ = first;
    count_ = count;
    read();
    multiply();
    sum();
    for (std::int64_t r = 0; r < count; ++r) {
      for (std::int64_t d = 0; d < op_.dim; ++d) answers_[size(r * op_.dim + d)] = answer(r, d);
    }
  }

  const RowWeights& row(std::int64_t r) const { return rows_[size(r)]; }
  std::span<const AttentionAnswer> answers(std::int64_t r) const {
    return std::span(answers_).subspan(size(r * op_.dim), size(op_.dim));
  }

 private:
  // q, and which keys any of the queries may see.
  void read() {
    q_.resize(size(count_ * op_.dim));
    lines_.assign(size(count_), Line{});
    ranges_.resize(size(count_));
    keys_ = {op_.keys, 0};
    std::vector<double> finite(q_.size());
    for (std::int64_t r = 0; r < count_; ++r) {
      double* const q = q_.data() + r * op_.dim;
      op_.q.row(head_.batch, head_.head, first_query_ + r, 3, op_.dim, q);
      for (std::int64_t d = 0; d < op_.dim; ++d) {
        const double x = std::isfinite(q[d]) ? q[d] : 0;
        finite[size(r * op_.dim + d)] = x;
        lines_[size(r)].add(x, model_.dots.smallest_normal);
      }
      const KeyRange range = ranges_[size(r)] = open_keys(op_, first_query_ + r);
      if (range.first == range.last) continue;
      keys_.first = std::min(keys_.first, range.first);
      keys_.last = std::max(keys_.last, range.last);
    }
    keys_.first = std::min(keys_.first, keys_.last) / kTileColumns * kTileColumns;
    pack_rows(finite.data(), count_, op_.dim, packed_q_);
  }

  void multiply() {
    const std::int64_t columns = keys_.last - keys_.first;
    products_.resize(size(kQueries * columns));
    for (std::int64_t j = 0; j < columns; j += kTileColumns) {
      Tile tile;
      accumulate(packed_q_.data(), head_.packed_keys.data() + (keys_.first + j) * op_.dim, op_.dim,
                 model_.dots.contiguous, tile);
      for (std::int64_t r = 0; r < count_; ++r) {
        for (std::int64_t c = 0; c < std::min<std::int64_t>(kTileColumns, columns - j); ++c) {
          products_[size(r * columns + j + c)] = {tile.sum[r][c], tile.magnitude[r][c],
                                                  tile.high[r][c] - tile.low[r][c]};
        }
      }
    }
    packed_weights_.assign(size(columns * kTileRows), 0);
    for (std::int64_t r = 0; r < count_; ++r) {
      RowWeights& row = rows_[size(r)];
      const KeyRange range = ranges_[size(r)];
      const bool none = range.first == range.last;
      const auto products = none ? std::span<const ProductSums>()
                                 : std::span(std::as_const(products_))
                                       .subspan(size(r * columns + range.first - keys_.first),
                                                size(range.last - range.first));
      scores_.weigh(first_query_ + r, q_.data() + r * op_.dim, lines_[size(r)], range, products,
                    row);
      if (row.kind != RowKind::ordinary) continue;
      for (std::size_t at = 0; at < row.weight.size(); ++at) {
        const std::size_t j = size(range.first - keys_.first) + at;
        packed_weights_[j * size(kTileRows) + size(r)] = row.weight[at];
      }
    }
  }

  void sum() {
    sums_.assign(size(kQueries * op_.dim), ChannelSums{});
    for (std::int64_t d = 0; d < op_.dim; d += kTileColumns) {
      const double* const panel = head_.packed_values.data() + d * op_.keys;
      const std::int64_t channels = std::min<std::int64_t>(kTileColumns, op_.dim - d);
      Tile tile;
      accumulate(packed_weights_.data(), panel + keys_.first * kTileColumns,
                 keys_.last - keys_.first, false, tile);
      for (std::int64_t r = 0; r < count_; ++r) {
        const RowWeights& row = rows_[size(r)];
        if (row.kind != RowKind::ordinary) continue;
        Spread spread;
        for (std::int64_t c = 0; c < channels; ++c) spread.mean[c] = tile.sum[r][c] / row.sum;
        add_spread(panel + row.first * kTileColumns, row.moved.data(), row.rounded.data(),
                   row.last - row.first, spread);
        for (std::int64_t c = 0; c < channels; ++c) {
          sums_[size(r * op_.dim + d + c)] = {tile.sum[r][c], tile.magnitude[r][c],
                                              spread.spread[c], spread.rounded[c]};
        }
      }
    }
  }

  AttentionAnswer answer(std::int64_t r, std::int64_t d) const {
    const RowWeights& row = rows_[size(r)];
    AttentionAnswer given;
    const bool special = std::ranges::binary_search(head_.special_channels, d);
    const MaskedRow policy = op_.arithmetic.masked_row;
    switch (row.kind) {
      case RowKind::nan:
        given.value = std::nan("");
        break;
      case RowKind::unbounded:
        given.bound = kUnbounded;
        break;
      case RowKind::masked:
        if (policy == MaskedRow::nan) given.value = std::nan("");
        if (policy == MaskedRow::any) given.bound = kUnbounded;
        if (special && !model_.closed_ignored && policy != MaskedRow::nan) {
          given.bound = kUnbounded;
        }
        break;
      case RowKind::ordinary: {
        const ChannelSums& sums = sums_[size(r * op_.dim + d)];
        given = special ? answer_of_class(op_, model_, head_, row, d, sums)
                        : answer_of(model_, head_, row, d, sums);
        break;
      }
    }
    return given;
  }

  const FlashAttention& op_;
  const AttentionModel& model_;
  const HeadOperands& head_;
  RowScores scores_;
  std::int64_t first_query_ = 0, count_ = 0;
  KeyRange keys_;
  std::vector<double> q_, packed_q_, packed_weights_;
  std::vector<Line> lines_;
  std::vector<KeyRange> ranges_;
  std::vector<ProductSums> products_;
  std::vector<RowWeights> rows_;
  std::vector<ChannelSums> sums_;
  std::vector<AttentionAnswer> answers_;
};

}  // namespace

void evaluate(const FlashAttention& op, const Sink& sink) {
  const AttentionModel model(op);
  HeadOperands head(op, model);
  QueryGroup group(op, model, head);
  std::vector<double> value(size(op.dim)), error(value.size()), bound(value.size());
  for (std::int64_t of = 0; of < op.batches * op.heads && op.queries > 0 && op.dim > 0; ++of) {
    head.load(of / op.heads, of % op.heads);
    for (std::int64_t first = 0; first < op.queries; first += kQueries) {
      const std::int64_t count = std::min(kQueries, op.queries - first);
      group.evaluate(first, count);
      for (std::int64_t r = 0; r < count; ++r) {
        const std::span<const AttentionAnswer> answers = group.answers(r);
        for (std::size_t d = 0; d < answers.size(); ++d) {
          value[d] = answers[d].value;
          error[d] = answers[d].error;
          bound[d] = answers[d].bound;
        }
        const bool zero =
            group.row(r).kind == RowKind::masked && op.arithmetic.masked_row == MaskedRow::zero;
        sink({0, (of * op.queries + first + r) * op.dim, value, error, bound, zero});
      }
    }
  }
}

std::vector<BoundTerm> explain(const FlashAttention& op, Element element) {
  HALFULP_REQUIRE(element.output == 0, "flash_attention has one output");
  const AttentionModel model(op);
  const std::int64_t row = element.index / op.dim, d = element.index % op.dim;
  const std::int64_t of = row / op.queries;
  HeadOperands head(op, model);
  head.load(of / op.heads, of % op.heads);
  QueryGroup group(op, model, head);
  group.evaluate(row % op.queries, 1);
  const AttentionAnswer given = group.answers(0)[size(d)];
  if (group.row(0).kind == RowKind::masked) return {{"no open key", "[B27]", given.bound}};
  if (!std::isfinite(given.bound) || !std::isfinite(given.value)) {
    return {{"not finite, or undecided", "[B27]", given.bound}};
  }
  return {{"scores and exponentials", "[B24]", given.scores},
          {"rounding of weights and values", "[B25]", given.weights},
          {"sum of products", "[B25]", given.accumulation},
          {"sum of weights", "[B25]", given.denominator},
          {"division and narrowing", "[B7]", given.division}};
}

}  // namespace halfulp::reference
