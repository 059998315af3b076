// Single elements of flash attention: sums of products as integers, then intervals of 50 digits.
// The weights of a query are formed once for all of its channels.
#include <algorithm>
#include <cmath>
#include <memory>

#include "reference/exact_sum.hpp"
#include "reference/multiprecision.hpp"
#include "reference/ops/flash_attention_parts.hpp"
#include "reference/require.hpp"

namespace halfulp::reference {
namespace {

std::size_t size(std::int64_t count) { return static_cast<std::size_t>(count); }

class ExactAttention {
 public:
  explicit ExactAttention(const FlashAttention& op)
      : op_(op),
        root_(square_root(Interval(static_cast<double>(op.dim)))),
        q_(size(op.dim)),
        k_(q_.size()) {}
  ExactAttention(const ExactAttention&) = delete;
  ExactAttention& operator=(const ExactAttention&) = delete;

  Enclosure operator()(Element element) {
    HALFULP_REQUIRE(element.output == 0, "flash_attention has one output");
    const std::int64_t d = element.index % op_.dim, row = element.index / op_.dim;
    if (row != row_) weigh(row);
    row_ = row;
    if (keys_.empty()) {
      const bool nan = op_.arithmetic.masked_row == MaskedRow::nan;
      return nan ? Enclosure{std::nan(""), std::nan("")} : Enclosure{};
    }
    const std::int64_t of = row / op_.queries;
    Interval numerator(0.0);
    for (std::size_t at = 0; at < keys_.size(); ++at) {
      const double v = op_.v.at(of / op_.heads, of % op_.heads, keys_[at], d);
      if (std::isfinite(v)) {
        add_product(numerator, weights_[at], v);
      } else {
        numerator = numerator + weights_[at] * Interval(v);
      }
    }
    if (numerator.is_nan() || denominator_.is_nan()) return {std::nan(""), std::nan("")};
    return enclosure(numerator / denominator_);
  }

 private:
  // scale q . k, and the mask apart, so that large masks of equal size cancel.
  Interval scaled(std::int64_t of, std::int64_t key) {
    op_.k.row(of / op_.heads, of % op_.heads, key, 3, op_.dim, k_.data());
    ExactSum dot;
    dot.add_products(q_.data(), k_.data(), op_.dim);
    const Interval sum = dot.is_finite() ? Interval(dot.dyadic()) : Interval(dot.special());
    return op_.scale != 0 ? sum * Interval(op_.scale) : sum / root_;
  }

  void weigh(std::int64_t row) {
    const std::int64_t of = row / op_.queries, query = row % op_.queries;
    op_.q.row(of / op_.heads, of % op_.heads, query, 3, op_.dim, q_.data());
    const KeyRange range = open_keys(op_, query);
    keys_.clear();
    weights_.clear();
    std::vector<double> masks;
    double most = -INFINITY;
    for (std::int64_t key = range.first; key < range.last; ++key) {
      const bool masked = op_.mask.data != nullptr;
      const double mask = masked ? op_.mask.at(of / op_.heads, of % op_.heads, query, key) : 0;
      if (mask == -INFINITY) continue;
      keys_.push_back(key);
      masks.push_back(mask);
      most = std::max(most, mask);
    }
    Interval largest;
    for (std::size_t at = 0; at < keys_.size(); ++at) {
      const Interval score = scaled(of, keys_[at]) + (Interval(masks[at]) - Interval(most));
      if (at == 0 || !(score.hi <= largest.hi)) largest = score;
      weights_.push_back(score);
    }
    // Any one number close to the largest score serves; it cancels.
    const Interval shift(largest.hi, largest.hi);
    denominator_ = Interval(0.0);
    for (Interval& weight : weights_) {
      weight = exponential(weight - shift);
      denominator_ = denominator_ + weight;
    }
  }

  FlashAttention op_;
  Interval root_;
  std::vector<double> q_, k_;
  std::int64_t row_ = -1;
  std::vector<std::int64_t> keys_;  // open ones
  std::vector<Interval> weights_;
  Interval denominator_;
};

}  // namespace

ExactAnswers exact_answers(const FlashAttention& op) {
  check(op);
  const auto answers = std::make_shared<ExactAttention>(op);
  return [=](Element element) { return (*answers)(element); };
}

Enclosure exact(const FlashAttention& op, Element element) { return exact_answers(op)(element); }

}  // namespace halfulp::reference
