// evaluate() and exact() against a third computation: 50 digits of another arithmetic
// (cpp_bin_float), written from the definition, over every storage format and uneven layouts.
#include <gtest/gtest.h>

#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <cstring>

#include "tests/reference/ops/judge.hpp"
#include "tests/reference/ops/simulated.hpp"

namespace halfulp::reference::simulated {
namespace {

using Decimal = boost::multiprecision::number<boost::multiprecision::cpp_bin_float<50>,
                                              boost::multiprecision::et_off>;

// (rows, heads, dim) numbers stored in `format` with gaps of NaN between rows.
struct Stored {
  std::vector<std::uint16_t> half;
  std::vector<float> single;
  View view;
  Stored(Format format, std::int64_t rows, std::int64_t heads, std::int64_t dim,
         Generator& generator) {
    const std::int64_t head_stride = dim + below(generator, 3);
    const std::int64_t row_stride = heads * head_stride + below(generator, 5);
    const std::size_t size = static_cast<std::size_t>(rows * row_stride + 1);
    half.assign(size, static_cast<std::uint16_t>(encode(format, std::nan(""))));
    single.assign(size, std::nanf(""));
    view.format = format;
    view.data = format == Format::fp32 ? static_cast<void*>(single.data()) : half.data();
    view.extent[0] = rows;
    view.extent[1] = heads;
    view.extent[2] = dim;
    view.stride[0] = row_stride;
    view.stride[1] = head_stride;
    view.stride[2] = 1;
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t h = 0; h < heads; ++h) {
        for (std::int64_t d = 0; d < dim; ++d) {
          const std::size_t at = static_cast<std::size_t>(i * row_stride + h * head_stride + d);
          const float value = 2 * draw(Fill::normal, generator);
          single[at] = value;
          half[at] = static_cast<std::uint16_t>(encode(format, static_cast<double>(value)));
        }
      }
    }
  }
};

Decimal clipped(const Decimal& x) { return x < -5 ? Decimal(-5) : x > 5 ? Decimal(5) : x; }

Decimal score(const GraphAttention& op, std::int64_t edge, std::int64_t h, std::int64_t d) {
  const Decimal product =
      Decimal(op.k.at(op.source[edge], h, d)) * Decimal(op.q.at(op.destination[edge], h, d));
  return clipped(product / sqrt(Decimal(op.dim))) * Decimal(op.e.at(edge, h, d));
}

Decimal mean(const GraphAttention& op, std::int64_t node, std::int64_t h, std::int64_t d) {
  Decimal above = 0, below = Decimal(op.epsilon);
  for (std::int64_t edge = 0; edge < op.edges; ++edge) {
    if (op.destination[edge] != node) continue;
    Decimal logit = 0;
    for (std::int64_t c = 0; c < op.dim; ++c) logit += score(op, edge, h, c);
    const Decimal weight = exp(clipped(logit));
    above += weight * Decimal(op.v.at(op.source[edge], h, d));
    below += weight;
  }
  return above / below;
}

void expect_holds(const Judged& all, const Enclosure& tight, std::size_t at, const Decimal& truth) {
  const Decimal slack = abs(truth) * Decimal(1e-45);
  EXPECT_TRUE(Decimal(tight.lo) <= truth + slack && truth - slack <= Decimal(tight.hi));
  EXPECT_LE(tight.hi, std::nextafter(tight.lo, INFINITY)) << "not tight: " << truth.str(40);
  EXPECT_TRUE(abs(Decimal(all.value[at]) - truth) <= Decimal(all.error[at]) + slack)
      << all.value[at] << " +- " << all.error[at] << " and " << truth;
  EXPECT_LE(all.error[at], 1e-7 * all.bound[at] + 1e-15 * std::abs(all.value[at]));
}

TEST(Truth, GraphAttention) {
  Generator generator(11);
  for (int round = 0; round < 30; ++round) {
    const Format format = round % 3 == 0   ? Format::fp32
                          : round % 3 == 1 ? Format::fp16
                                           : Format::bf16;
    constexpr std::int64_t kDims[] = {1, 4, 5, 9, 16};
    const std::int64_t nodes = 3, heads = 2, edges = 7, dim = kDims[round % 5];
    const Stored q(format, nodes, heads, dim, generator), k(format, nodes, heads, dim, generator),
        v(format, nodes, heads, dim, generator), e(format, edges, heads, dim, generator);
    AttentionData graph = attention_data({nodes, edges, heads, dim}, Fill::normal, generator);
    GraphAttention op = graph.op;
    op.q = q.view;
    op.k = k.view;
    op.v = v.view;
    op.e = e.view;
    op.arithmetic.input = op.arithmetic.output = format;
    const Judged out = judged(op, 0, nodes * heads * dim);
    const Judged e_out = judged(op, 1, edges * heads * dim);
    for (std::int64_t i = 0; i < nodes * heads * dim; ++i) {
      expect_holds(out, exact(op, {0, i}), static_cast<std::size_t>(i),
                   mean(op, i / dim / heads, i / dim % heads, i % dim));
    }
    for (std::int64_t i = 0; i < edges * heads * dim; ++i) {
      expect_holds(e_out, exact(op, {1, i}), static_cast<std::size_t>(i),
                   score(op, i / dim / heads, i / dim % heads, i % dim));
    }
  }
}

TEST(Truth, ScatterNormalize) {
  Generator generator(12);
  for (int round = 0; round < 60; ++round) {
    const Format format = round % 2 == 0 ? Format::fp32 : Format::fp16;
    const std::int64_t nodes = 2, heads = 3, edges = 9, dim = 4;
    const Stored values(format, edges, heads, dim, generator),
        scores(format, edges, heads, 1, generator);
    ScatterData graph = scatter_data({nodes, edges, heads, dim}, Fill::normal, generator);
    ScatterNormalize op = graph.op;
    op.values = values.view;
    op.scores = scores.view;
    op.arithmetic.input = op.arithmetic.output = format;
    const Judged out = judged(op, 0, nodes * heads * dim);
    for (std::int64_t i = 0; i < nodes * heads * dim; ++i) {
      const std::int64_t node = i / dim / heads, h = i / dim % heads, d = i % dim;
      Decimal above = 0, below = Decimal(op.epsilon);
      for (std::int64_t edge = 0; edge < edges; ++edge) {
        if (op.destination[edge] != node) continue;
        above += Decimal(op.values.at(edge, h, d));
        below += Decimal(op.scores.at(edge, h));
      }
      expect_holds(out, exact(op, {0, i}), static_cast<std::size_t>(i), above / below);
    }
  }
}

// What neighbours share must not depend on who asked before.
template <class Op>
void expect_same_in_any_order(const Op& op, int output, std::int64_t elements,
                              Generator& generator) {
  const ExactAnswers answers = exact_answers(op);
  for (std::int64_t asked = 0; asked < 3 * elements; ++asked) {
    std::int64_t i = asked < elements ? asked : 2 * elements - 1 - asked;
    if (i < 0) i = below(generator, elements);
    const Enclosure one = exact(op, {output, i}), shared = answers({output, i});
    EXPECT_TRUE(std::memcmp(&one, &shared, sizeof one) == 0 ||
                (std::isnan(one.lo) && std::isnan(shared.lo)))
        << i << ": " << one.lo << " and " << shared.lo;
  }
}

TEST(Truth, ExactAnswersDoNotDependOnTheirOrder) {
  Generator generator(14);
  for (const Fill fill : {Fill::normal, Fill::saturated, Fill::wide, Fill::huge, Fill::extreme}) {
    const Sizes sizes{4, 9, 2, 5};
    const AttentionData attention = attention_data(sizes, fill, generator);
    expect_same_in_any_order(attention.op, 0, 4 * 2 * 5, generator);
    expect_same_in_any_order(attention.op, 1, 9 * 2 * 5, generator);
    const ScatterData scatter = scatter_data(sizes, fill, generator);
    expect_same_in_any_order(scatter.op, 0, 4 * 2 * 5, generator);
  }
}

TEST(Truth, SizesOfZeroGiveNoRowsOrZeros) {
  Generator generator(13);
  for (const Sizes& sizes :
       {Sizes{0, 0, 1, 4}, Sizes{3, 0, 2, 4}, Sizes{3, 0, 0, 4}, Sizes{3, 2, 2, 0}}) {
    AttentionData data = attention_data(sizes, Fill::normal, generator);
    std::int64_t elements = 0;
    evaluate(data.op, [&](const Rows& rows) { elements += std::ssize(rows.value); });
    EXPECT_EQ(elements, (sizes.nodes + sizes.edges) * sizes.heads * sizes.dim);
    ScatterData scatter = scatter_data(sizes, Fill::normal, generator);
    elements = 0;
    evaluate(scatter.op, [&](const Rows& rows) { elements += std::ssize(rows.value); });
    EXPECT_EQ(elements, sizes.nodes * sizes.heads * sizes.dim);
  }
}

}  // namespace
}  // namespace halfulp::reference::simulated
