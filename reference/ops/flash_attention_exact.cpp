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
    const auto value = [&](std::size_t at) {
      return op_.v.at(of / op_.heads, of % op_.heads, keys_[at], d);
    };
    // The distance from the value of a key with the largest weight, so that equal values cancel.
    const double origin = std::isfinite(value(largest_)) ? value(largest_) : 0;
    Interval numerator(0.0);
    for (std::size_t at = 0; at < keys_.size(); ++at) {
      const double v = value(at);
      if (v == origin) continue;
      numerator = numerator + weights_[at] * (Interval(v) - Interval(origin));
    }
    if (numerator.is_nan() || denominator_.is_nan()) return {std::nan(""), std::nan("")};
    return enclosure(Interval(origin) + numerator / denominator_);
  }

 private:
  // One key's score: scale dot + mask.
  struct Score {
    Dyadic dot;
    bool exact = false;  // `dot` is all of it
    double mask = 0;
    Interval value;  // less the largest mask, so that large masks of equal size cancel

    bool same_as(const Score& other) const {
      return exact && other.exact && mask == other.mask && dot.negative == other.dot.negative &&
             dot.significand == other.dot.significand && dot.exponent == other.dot.exponent;
    }
  };

  Score score(std::int64_t of, std::int64_t key, double mask, double mask_most) {
    op_.k.row(of / op_.heads, of % op_.heads, key, 3, op_.dim, k_.data());
    ExactSum dot;
    dot.add_products(q_.data(), k_.data(), op_.dim);
    Score score;
    score.dot = dot.dyadic();
    score.exact = dot.is_finite() && !score.dot.sticky;
    score.mask = mask;
    const Interval sum = dot.is_finite() ? Interval(score.dot) : Interval(dot.special());
    const Interval scaled = op_.scale != 0 ? sum * Interval(op_.scale) : sum / root_;
    score.value = scaled + (Interval(mask) - Interval(mask_most));
    return score;
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
    std::vector<Score> scores;
    std::size_t& largest = largest_ = 0;
    for (std::size_t at = 0; at < keys_.size(); ++at) {
      scores.push_back(score(of, keys_[at], masks[at], most));
      if (!(scores[at].value.hi <= scores[largest].value.hi)) largest = at;  // NaN too
    }
    denominator_ = Interval(0.0);
    for (const Score& each : scores) {
      const bool one = each.same_as(scores[largest]);  // though its score may be irrational
      const Interval weight = one ? Interval(1.0) : exponential(each.value - scores[largest].value);
      weights_.push_back(weight);
      denominator_ = denominator_ + weight;
    }
  }

  FlashAttention op_;
  Interval root_;
  std::vector<double> q_, k_;
  std::int64_t row_ = -1;
  std::vector<std::int64_t> keys_;  // open ones
  std::vector<Interval> weights_;
  std::size_t largest_ = 0;  // the open key with the largest weight
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
