#include "tests/reference/ops/simulated.hpp"

#include <algorithm>
#include <cmath>

namespace halfulp::reference::simulated {
namespace {

constexpr float kSmallestNormal = 0x1p-126f;

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

float flushed(float x, bool flush) { return flush && std::abs(x) < kSmallestNormal ? 0 * x : x; }

float in_half(float x) { return static_cast<float>(round_to(Format::fp16, x)); }

// One operation after another, as the style says.
class Machine {
 public:
  Machine(const Style& style, bool half, Generator& generator)
      : style_(style), half_(half), generator_(generator) {}

  float multiply(float x, float y) const { return out(in(x)*in(y)); }
  float divide(float x, float y) const { return out(in(x) / in(y)); }
  float add(float x, float y) const {
    const bool flush = style_.flush || style_.flush_atomic;
    const float sum = flushed(flushed(x, flush) + flushed(y, flush), flush);
    return half_ ? in_half(sum) : sum;
  }
  float multiply_add(float x, float y, float z) const {
    if (!style_.fma || half_ || style_.flush_atomic) return add(multiply(x, y), z);
    return out(std::fma(in(x), in(y), in(z)));
  }

  float sum(std::vector<float> leaves) {
    if (leaves.empty()) return 0;
    if (style_.flush_atomic) leaves.insert(leaves.begin(), 0.0f);
    switch (style_.tree) {
      case Tree::reverse:
        std::reverse(leaves.begin(), leaves.end());
        [[fallthrough]];
      case Tree::forward: {
        float total = leaves[0];
        for (std::size_t i = 1; i < leaves.size(); ++i) total = add(total, leaves[i]);
        return total;
      }
      case Tree::pairwise:
        while (leaves.size() > 1) {
          std::vector<float> next;
          for (std::size_t i = 0; i + 1 < leaves.size(); i += 2) {
            next.push_back(add(leaves[i], leaves[i + 1]));
          }
          if (leaves.size() % 2 == 1) next.push_back(leaves.back());
          leaves = std::move(next);
        }
        return leaves[0];
      default:
        while (leaves.size() > 1) {
          const std::size_t last = leaves.size() - 1;
          std::swap(leaves[index(below(generator_, std::int64_t(last) + 1))], leaves[last]);
          std::size_t other = index(below(generator_, std::int64_t(last)));
          leaves[other] = add(leaves[other], leaves[last]);
          leaves.pop_back();
        }
        return leaves[0];
    }
  }

  // sum x y, in lanes.
  float dot(const std::vector<float>& x, const std::vector<float>& y) {
    std::vector<std::size_t> order(x.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    if (style_.tree == Tree::random) std::shuffle(order.begin(), order.end(), generator_);
    if (style_.tree == Tree::reverse) std::reverse(order.begin(), order.end());
    if (!style_.fma) {
      std::vector<float> products;
      for (const std::size_t i : order) products.push_back(multiply(x[i], y[i]));
      return sum(products);
    }
    std::vector<float> lane(index(style_.lanes), 0.0f);
    for (std::size_t i = 0; i < order.size(); ++i) {
      float& total = lane[i % lane.size()];
      total = multiply_add(x[order[i]], y[order[i]], total);
    }
    return sum(lane);
  }

  // n / d before its last rounding.
  double quotient(float n, float d) const {
    if (style_.reciprocal) return static_cast<double>(in(n)) * divide(1, d);
    return static_cast<double>(in(n)) / static_cast<double>(in(d));
  }

 private:
  float in(float x) const { return flushed(x, style_.flush); }
  float out(float x) const { return flushed(x, style_.flush); }

  Style style_;
  bool half_;
  Generator& generator_;
};

float clamped(float x) { return x < -5 ? -5 : x > 5 ? 5 : x; }

float denominator_sum(Machine& machine, std::vector<float> weights, float epsilon,
                      const Style& style, const Fault& fault) {
  if (fault.no_epsilon) return machine.sum(std::move(weights));
  if (style.epsilon_place < 0) return machine.add(machine.sum(std::move(weights)), epsilon);
  const std::ptrdiff_t place = std::min<std::ptrdiff_t>(style.epsilon_place, std::ssize(weights));
  weights.insert(weights.begin() + place, epsilon);
  return machine.sum(std::move(weights));
}

std::vector<std::vector<std::int64_t>> edges_by_node(const std::int32_t* destination,
                                                     std::int64_t edges, std::int64_t nodes,
                                                     const Fault& fault) {
  std::vector<std::vector<std::int64_t>> incoming(index(nodes));
  for (std::int64_t e = 0; e < edges; ++e) incoming[index(destination[e])].push_back(e);
  if (fault.drop_edge) {
    for (auto& list : incoming) {
      if (!list.empty()) list.pop_back();
    }
  }
  return incoming;
}

}  // namespace

std::int64_t below(Generator& generator, std::int64_t limit) {
  return static_cast<std::int64_t>(generator() % static_cast<std::uint64_t>(limit));
}

double uniform(Generator& generator) { return static_cast<double>(generator() >> 11) * 0x1p-53; }

Style random_style(Generator& generator) {
  Style style;
  style.tree = static_cast<Tree>(below(generator, static_cast<int>(Tree::kinds)));
  style.fma = below(generator, 2) == 0;
  style.lanes = 1 << below(generator, 4);
  style.scale = static_cast<Scale>(below(generator, 3));
  style.reciprocal = below(generator, 3) == 0;
  style.flush = below(generator, 6) == 0;
  style.flush_atomic = below(generator, 6) == 0;
  style.epsilon_place = static_cast<int>(below(generator, 4)) - 1;
  style.exp_adversarial = below(generator, 2) == 0;
  style.exp_push = style.exp_adversarial ? 1 : 2 * uniform(generator) - 1;
  return style;
}

Arithmetic arithmetic_of(const Style& style) {
  Arithmetic arithmetic;
  arithmetic.flush_to_zero = style.flush;
  arithmetic.atomic_flush_to_zero = style.flush_atomic;
  arithmetic.division_roundings = style.reciprocal ? 2.01 : 1;
  return arithmetic;
}

float draw(Fill fill, Generator& generator) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += uniform(generator);  // near enough to normal
  const double sign = below(generator, 2) == 0 ? -1 : 1;
  switch (fill) {
    case Fill::small_integers:
      return static_cast<float>(below(generator, 7) - 3);
    case Fill::wide:
      return static_cast<float>(
          sign * std::ldexp(1 + uniform(generator), static_cast<int>(below(generator, 40)) - 20));
    case Fill::cancelling:
      return static_cast<float>(sign * (1 + 0x1p-12 * uniform(generator)));
    case Fill::saturated:
      return static_cast<float>(sign * (2 + 3 * uniform(generator)));
    case Fill::tiny:
      return static_cast<float>(
          sign * std::ldexp(1 + uniform(generator), -static_cast<int>(below(generator, 150))));
    case Fill::huge:
      return static_cast<float>(
          sign * std::ldexp(1 + uniform(generator), static_cast<int>(below(generator, 127))));
    case Fill::extreme:
      return draw(static_cast<Fill>(below(generator, static_cast<int>(Fill::extreme))), generator);
    default:
      return static_cast<float>(sum);
  }
}

View view_of(std::vector<float>& data, std::int64_t rows, std::int64_t heads, std::int64_t dim) {
  View view;
  view.data = data.data();
  view.extent[0] = rows;
  view.extent[1] = heads;
  view.extent[2] = dim;
  view.stride[0] = heads * dim;
  view.stride[1] = dim;
  view.stride[2] = 1;
  return view;
}

AttentionData attention_data(const Sizes& sizes, Fill fill, Generator& generator) {
  AttentionData data;
  const std::int64_t row = sizes.heads * sizes.dim;
  const auto filled = [&](std::int64_t count) {
    std::vector<float> values(index(count));
    const bool mixed = below(generator, 4) == 0;
    const Fill other = mixed ? Fill::normal : fill;
    for (float& value : values) value = draw(other, generator);
    return values;
  };
  data.q = filled(sizes.nodes * row);
  data.k = filled(sizes.nodes * row);
  data.v = filled(sizes.nodes * row);
  data.e = filled(sizes.edges * row);
  for (std::int64_t i = 0; i < sizes.edges; ++i) {
    data.source.push_back(static_cast<std::int32_t>(below(generator, sizes.nodes)));
    data.destination.push_back(static_cast<std::int32_t>(below(generator, sizes.nodes)));
  }
  GraphAttention& op = data.op;
  op.nodes = sizes.nodes;
  op.edges = sizes.edges;
  op.heads = sizes.heads;
  op.dim = sizes.dim;
  op.epsilon = 1e-6f;
  op.q = view_of(data.q, sizes.nodes, sizes.heads, sizes.dim);
  op.k = view_of(data.k, sizes.nodes, sizes.heads, sizes.dim);
  op.v = view_of(data.v, sizes.nodes, sizes.heads, sizes.dim);
  op.e = view_of(data.e, sizes.edges, sizes.heads, sizes.dim);
  op.source = data.source.data();
  op.destination = data.destination.data();
  return data;
}

ScatterData scatter_data(const Sizes& sizes, Fill fill, Generator& generator) {
  ScatterData data;
  const bool positive = below(generator, 2) == 0;
  for (std::int64_t i = 0; i < sizes.edges * sizes.heads * sizes.dim; ++i) {
    data.values.push_back(draw(fill, generator));
  }
  for (std::int64_t i = 0; i < sizes.edges * sizes.heads; ++i) {
    const float score = draw(fill, generator);
    data.scores.push_back(positive ? std::abs(score) : score);
  }
  for (std::int64_t i = 0; i < sizes.edges; ++i) {
    data.destination.push_back(static_cast<std::int32_t>(below(generator, sizes.nodes)));
  }
  ScatterNormalize& op = data.op;
  op.nodes = sizes.nodes;
  op.edges = sizes.edges;
  op.heads = sizes.heads;
  op.dim = sizes.dim;
  op.epsilon = 1e-6f;
  op.values = view_of(data.values, sizes.edges, sizes.heads, sizes.dim);
  op.scores = view_of(data.scores, sizes.edges, sizes.heads, 1);
  op.destination = data.destination.data();
  return data;
}

namespace {

float scaled_product(const Machine& machine, const Style& style, float k, float q, double root) {
  const float factor = static_cast<float>(1 / root);
  switch (style.scale) {
    case Scale::division:
      return machine.divide(machine.multiply(k, q), static_cast<float>(root));
    case Scale::prescaled_query:
      return machine.multiply(k, machine.multiply(q, factor));
    default:
      return machine.multiply(machine.multiply(k, q), factor);
  }
}

}  // namespace

AttentionResult run(const GraphAttention& op, const Style& style, Generator& generator,
                    const Fault& fault) {
  AttentionResult result;
  const std::int64_t row = op.heads * op.dim;
  result.out.resize(index(op.nodes * row));
  result.e_out.resize(index(op.edges * row));
  Style scores_style = style;
  scores_style.flush_atomic = false;
  Machine scores(scores_style, false, generator);
  Machine sums(style, fault.half_accumulator, generator);
  const double root = std::sqrt(static_cast<double>(op.dim));
  const auto incoming = edges_by_node(op.destination, op.edges, op.nodes, fault);
  for (std::int64_t i = 0; i < op.nodes; ++i) {
    const std::vector<std::int64_t>& edges = incoming[index(i)];
    for (std::int64_t h = 0; h < op.heads; ++h) {
      std::vector<float> weights;
      std::vector<double> logits;
      for (const std::int64_t edge : edges) {
        std::vector<float> t, e;
        for (std::int64_t d = 0; d < op.dim; ++d) {
          const float k = static_cast<float>(op.k.at(op.source[edge], h, d));
          const float q = static_cast<float>(op.q.at(i, h, d));
          t.push_back(clamped(scaled_product(scores, style, k, q, root)));
          e.push_back(static_cast<float>(op.e.at(edge, h, d)));
          const double s = static_cast<double>(t.back()) * e.back();
          const bool lost = style.flush &&
                            (std::abs(s) < kSmallestNormal || std::abs(e.back()) < kSmallestNormal);
          result.e_out[index((edge * op.heads + h) * op.dim + d)] = lost ? 0 : s;
        }
        const float sum = scores.dot(t, e);
        logits.push_back(fault.no_outer_clamp ? sum : clamped(sum));
      }
      // exp_push of the model 2.5 * 2^-23, less the rounding to float
      const auto weight = [&](double logit, double push) {
        if (logit == 0) return 1.0f;
        return static_cast<float>(std::exp(logit) * (1 + push * 2 * 0x1p-23));
      };
      for (std::int64_t d = 0; d < op.dim; ++d) {
        std::vector<float> v;
        for (const std::int64_t edge : edges) {
          v.push_back(static_cast<float>(op.v.at(op.source[edge], h, d)));
        }
        double above = 0, total = op.epsilon;
        for (std::size_t j = 0; j < v.size(); ++j) {
          above += std::exp(logits[j]) * static_cast<double>(v[j]);
          total += std::exp(logits[j]);
        }
        weights.clear();
        for (std::size_t j = 0; j < v.size(); ++j) {
          const bool up = static_cast<double>(v[j]) > above / total;
          weights.push_back(
              weight(logits[j], style.exp_adversarial ? (up ? 1 : -1) : style.exp_push));
        }
        const float numerator = sums.dot(weights, v);
        const float denominator =
            denominator_sum(sums, weights, static_cast<float>(op.epsilon), style, fault);
        result.out[index((i * op.heads + h) * op.dim + d)] =
            edges.empty() ? 0 : sums.quotient(numerator, denominator);
      }
    }
  }
  return result;
}

std::vector<double> run(const ScatterNormalize& op, const Style& style, Generator& generator,
                        const Fault& fault) {
  std::vector<double> out(index(op.nodes * op.heads * op.dim));
  Machine sums(style, fault.half_accumulator, generator);
  const auto incoming = edges_by_node(op.destination, op.edges, op.nodes, fault);
  for (std::int64_t i = 0; i < op.nodes; ++i) {
    const std::vector<std::int64_t>& edges = incoming[index(i)];
    for (std::int64_t h = 0; h < op.heads; ++h) {
      std::vector<float> scores;
      for (const std::int64_t e : edges) {
        scores.push_back(static_cast<float>(op.scores.at(e, h)));
      }
      const float denominator =
          denominator_sum(sums, scores, static_cast<float>(op.epsilon), style, fault);
      for (std::int64_t d = 0; d < op.dim; ++d) {
        std::vector<float> values;
        for (const std::int64_t e : edges) {
          values.push_back(static_cast<float>(op.values.at(e, h, d)));
        }
        out[index((i * op.heads + h) * op.dim + d)] =
            edges.empty() ? 0 : sums.quotient(sums.sum(values), denominator);
      }
    }
  }
  return out;
}

}  // namespace halfulp::reference::simulated
