// The steps of the graph attention reference, shared by evaluate, exact and explain. Internal to
// reference/ops.
//
// For one edge and head: rows of scores s (ScoreRow), their sum and its error (Logit), and the
// weight exp(clamp(sum)) with its relative error (Weight). For one node and head: WeightedMean.
#pragma once
#include <span>
#include <vector>

#include "reference/ops/graph_attention.hpp"
#include "reference/ops/incoming.hpp"
#include "reference/rounding_error.hpp"

namespace halfulp::reference {

inline constexpr double kClip = 5;

// What all scores of an operation share.
struct ScoreModel {
  RoundingModel rounding;
  double scale = 1;           // 1 / sqrt(dim)
  double scale_error = 0;     // relative error of a scaled product, in general
  bool exact_scale = false;   // dim is a power of four: only the product rounds
  bool last_rounding = true;  // the rounding of t * e is that of the output itself
  double flush_last = 0;      // what flushing that rounding loses
  ClampNan clamp_nan = ClampNan::propagate;
};
ScoreModel score_model(const GraphAttention& op);

// Scores of one edge and head, dim of each: the truth, the error of `value`, the bound of e_out,
// and the error of s as the logit's sum meets it.
struct ScoreRow {
  double* value;
  double* error;
  double* bound;
  double* sum_error;
};
// The ordinary case; rows with NaN, infinities or what may become one end with a sum of sum_error
// that is not finite.
void score_row(const ScoreModel& model, const float* k, const float* q, const float* e,
               std::int64_t dim, const ScoreRow& row);

enum class Certainty : std::uint8_t { certain, unbounded };

// clamp(sum s) and what a kernel may make of it.
struct Logit {
  double value = 0;  // clamped; NaN when the answer is NaN
  double error = 0;  // of the clamped logit; 0 when every order gives `value`
  Certainty certainty = Certainty::certain;
  bool imprecise = false;  // the error in double is not negligible: take the exact sum
};
Logit logit_of(const ScoreModel& model, const ScoreRow& row, std::int64_t dim);
// The same for rows with NaN or infinities; corrects the row too [B13].
Logit classify_row(const ScoreModel& model, const float* k, const float* q, const float* e,
                   std::int64_t dim, const ScoreRow& row);

struct Weight {
  double value = 1;
  double error = 0;         // relative, all of it
  double error_of_exp = 0;  // relative, were the logit exact
  Certainty certainty = Certainty::certain;
};
Weight weight_of(const Arithmetic& arithmetic, const Logit& logit);

// The clamped logit of an edge and head, to a double ulp. Slow.
Enclosure logit_exact(const GraphAttention& op, std::int64_t edge, std::int64_t head);

// Loads rows, forms scores and weights of an edge and head.
class EdgeScores {
 public:
  explicit EdgeScores(const GraphAttention& op);
  // Fills row() and returns the weight.
  Weight weigh(std::int64_t edge, std::int64_t head, const float* q, const ScoreRow& row);

 private:
  const GraphAttention& op_;
  ScoreModel model_;
  FloatRows k_, e_;
};

// The weights of a node and head, and what is common to its dim outputs [B12].
struct Mean {
  std::span<const Weight> weights;
  double denominator = 0;
  double denominator_error = 0;      // of the kernel's sum
  double denominator_error_any = 0;  // without use of exactness, for the error of double
  double denominator_least = 0;      // the kernel's denominator is at least this; <= 0: unbounded
  double weight_error_largest = 0;
  bool weights_exact = true;       // every weight is 1 in every order
  bool denominator_exact = false;  // every order gives `denominator`
  bool unbounded = false;
  bool nan = false;
  double largest = 0;  // largest finite number of the compute format
  SumError numerator;
};
Mean mean_of(const GraphAttention& op, std::span<const Weight> weights);

// One output: its parts, from which value, error and bound follow.
struct Channel {
  double sum = 0;          // sum w v
  double magnitude = 0;    // sum w |v|
  double spread = 0;       // sum w error |v - o|
  bool sum_exact = false;  // every order gives `sum` exactly
};
struct Answer {
  double value = 0;
  double error = 0;
  double bound = 0;
};
Answer answer_of(const Mean& mean, const DivisionError& division, const Channel& channel);
// [B13] Classes: v holds NaN or infinities in this channel.
Answer answer_of_class(const Mean& mean, std::span<const double> v);

}  // namespace halfulp::reference
