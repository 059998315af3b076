// Simulated kernels: float arithmetic in every order, tree and contraction that the declared
// Arithmetic allows, and data that stress it. Independent of the bounds they test.
#pragma once
#include <cstdint>
#include <random>
#include <vector>

#include "reference/ops/graph_attention.hpp"
#include "reference/ops/scatter_normalize.hpp"

namespace halfulp::reference::simulated {

using Generator = std::mt19937_64;
std::int64_t below(Generator& generator, std::int64_t limit);  // uniform in [0, limit)
double uniform(Generator& generator);                          // in [0, 1)

enum class Tree { forward, reverse, pairwise, random, kinds };
enum class Scale { reciprocal, division, prescaled_query };

// How one legal kernel computes.
struct Style {
  Tree tree = Tree::forward;
  bool fma = false;  // products go into additions unrounded
  int lanes = 1;     // partial sums, combined by `tree`
  Scale scale = Scale::reciprocal;
  bool reciprocal = false;       // n * (1 / d) for n / d
  bool flush = false;            // subnormal operands and results become zero
  bool flush_atomic = false;     // in the sums over edges only
  int epsilon_place = 0;         // leaf of the denominator; -1: the last addition
  double exp_push = 0;           // exp is off by this part of what its model allows, -1..1
  bool exp_adversarial = false;  // in the direction that moves the mean
};
Style random_style(Generator& generator);
Arithmetic arithmetic_of(const Style& style);

// Planted faults.
struct Fault {
  bool half_accumulator = false;  // sums in fp16
  bool no_epsilon = false;
  bool drop_edge = false;  // the last in-edge of a node
  bool no_outer_clamp = false;
};

enum class Fill { normal, small_integers, wide, cancelling, saturated, tiny, huge, extreme, kinds };
float draw(Fill fill, Generator& generator);

// Storage of the operands of one case.
struct AttentionData {
  std::vector<float> q, k, v, e;
  std::vector<std::int32_t> source, destination;
  GraphAttention op;
};
struct Sizes {
  std::int64_t nodes = 1, edges = 1, heads = 1, dim = 4;
};
// Fresh operands; q, k, v and e each from `fill`, or mixed.
AttentionData attention_data(const Sizes& sizes, Fill fill, Generator& generator);

struct ScatterData {
  std::vector<float> values, scores;
  std::vector<std::int32_t> destination;
  ScatterNormalize op;
};
ScatterData scatter_data(const Sizes& sizes, Fill fill, Generator& generator);

// Results before the last rounding, which for fp32 outputs is that of the last operation.
struct AttentionResult {
  std::vector<double> out, e_out;
};
AttentionResult run(const GraphAttention& op, const Style& style, Generator& generator,
                    const Fault& fault = {});
std::vector<double> run(const ScatterNormalize& op, const Style& style, Generator& generator,
                        const Fault& fault = {});

View view_of(std::vector<float>& data, std::int64_t rows, std::int64_t heads, std::int64_t dim);

// The first `elements` elements of an output, in order.
struct Judged {
  std::vector<double> value, error, bound;
};
template <class Op>
Judged judged(const Op& op, int output, std::int64_t elements) {
  Judged all;
  const std::size_t size = static_cast<std::size_t>(elements);
  all.value.resize(size, -12345);
  all.error.resize(size, -1);
  all.bound.resize(size, -1);
  evaluate(op, [&](const Rows& rows) {
    if (rows.output != output) return;
    for (std::size_t i = 0; i < rows.value.size(); ++i) {
      const std::size_t at = static_cast<std::size_t>(rows.first) + i;
      if (at >= size) return;
      all.value[at] = rows.value[i];
      all.error[at] = rows.error[i];
      all.bound[at] = rows.bound[i];
    }
  });
  return all;
}

}  // namespace halfulp::reference::simulated
