// The reference must enclose every golden answer, by its fast path (value +- error) and its exact
// one.
#include <gtest/gtest.h>
#include <mpfr.h>

#include <algorithm>
#include <cmath>

#include "reference/exponential.hpp"
#include "reference/ops/flash_attention.hpp"
#include "reference/ops/graph_attention.hpp"
#include "reference/ops/matmul_exact.hpp"
#include "reference/ops/scatter_normalize.hpp"
#include "reference/ops/vector_add.hpp"
#include "tests/reference/golden_file.hpp"

namespace halfulp::reference {
namespace {

// A decimal of 50 digits in 400 bits; the true answer lies within 10^-49 of it, relatively.
class Answer {
 public:
  explicit Answer(const std::string& decimal) {
    mpfr_inits2(400, lo_, hi_, nullptr);
    mpfr_strtofr(lo_, decimal.c_str(), nullptr, 10, MPFR_RNDN);
    mpfr_set(hi_, lo_, MPFR_RNDN);
    if (mpfr_number_p(lo_) == 0) return;
    mpfr_t slack;
    mpfr_init2(slack, 400);
    mpfr_set_str(slack, "1e-49", 10, MPFR_RNDU);
    mpfr_mul(slack, slack, lo_, MPFR_RNDN);
    mpfr_abs(slack, slack, MPFR_RNDN);
    mpfr_add(hi_, lo_, slack, MPFR_RNDN);
    mpfr_sub(lo_, lo_, slack, MPFR_RNDN);
    mpfr_clear(slack);
  }
  ~Answer() { mpfr_clears(lo_, hi_, nullptr); }
  Answer(const Answer&) = delete;
  Answer& operator=(const Answer&) = delete;

  double value() const { return mpfr_get_d(hi_, MPFR_RNDN); }
  bool is_finite() const { return mpfr_number_p(hi_) != 0; }
  // Whether [lo, hi] holds an answer that this decimal may stand for.
  bool within(mpfr_srcptr lo, mpfr_srcptr hi) const {
    return mpfr_lessequal_p(lo, hi_) != 0 && mpfr_lessequal_p(lo_, hi) != 0;
  }

 private:
  mpfr_t lo_, hi_;
};

bool same_class(double value, double expected) {
  return std::isnan(expected) ? std::isnan(value) : value == expected;
}

bool holds(const Answer& answer, double centre, double radius) {
  if (!answer.is_finite()) return same_class(centre, answer.value());
  if (!std::isfinite(centre) || std::isnan(radius) || radius < 0) return false;
  mpfr_t lo, hi;
  mpfr_inits2(4400, lo, hi, nullptr);  // wide enough for centre +- radius of any doubles
  mpfr_set_d(lo, centre, MPFR_RNDN);
  mpfr_set(hi, lo, MPFR_RNDN);
  mpfr_sub_d(lo, lo, radius, MPFR_RNDD);
  mpfr_add_d(hi, hi, radius, MPFR_RNDU);
  const bool result = answer.within(lo, hi);
  mpfr_clears(lo, hi, nullptr);
  return result;
}

bool holds(const Answer& answer, const Enclosure& enclosure) {
  if (!answer.is_finite()) {
    return same_class(enclosure.lo, answer.value()) && same_class(enclosure.hi, answer.value());
  }
  mpfr_t lo, hi;
  mpfr_inits2(53, lo, hi, nullptr);
  mpfr_set_d(lo, enclosure.lo, MPFR_RNDN);
  mpfr_set_d(hi, enclosure.hi, MPFR_RNDN);
  const bool result = answer.within(lo, hi);
  mpfr_clears(lo, hi, nullptr);
  return result;
}

// Adjacent doubles or one. Where irrational terms cancel to nothing no precision would make it so,
// and the width is held against the size of those terms.
bool is_tight(const Enclosure& e, double terms) {
  if (std::isnan(e.lo)) return std::isnan(e.hi);
  return e.hi <= std::nextafter(e.lo, INFINITY) || e.hi - e.lo <= 0x1p-140 * terms;
}

// Largest finite magnitude of a tensor.
double size_of(const View& view, std::int64_t count) {
  double size = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double x = std::abs(View{view.data, view.format, {count, 1, 1, 1}, {1, 0, 0, 0}}.at(i));
    if (std::isfinite(x)) size = std::max(size, x);
  }
  return size;
}

// Both paths of one operation against the answers of its outputs, and that each element comes once.
// `share`: the fast path's error beside bound and value.
template <typename Op>
void expect_encloses(const Op& op, const std::vector<std::vector<std::string>>& outputs,
                     double terms, double share = 0x1p-20) {
  std::vector<std::vector<int>> seen;
  for (const auto& answers : outputs) seen.emplace_back(answers.size());
  evaluate(op, [&](const Rows& rows) {
    ASSERT_EQ(rows.value.size(), rows.error.size());
    ASSERT_EQ(rows.value.size(), rows.bound.size());
    for (std::size_t i = 0; i < rows.value.size(); ++i) {
      const auto output = static_cast<std::size_t>(rows.output);
      const std::size_t index = static_cast<std::size_t>(rows.first) + i;
      ++seen.at(output).at(index);
      if (std::isinf(rows.bound[i])) continue;  // says that it concludes nothing
      const Answer answer(outputs[output][index]);
      EXPECT_TRUE(holds(answer, rows.value[i], rows.error[i]))
          << "output " << output << " element " << index << ": " << rows.value[i] << " +- "
          << rows.error[i] << ", golden " << outputs[output][index];
      // The fast path earns its name: its error is that of double arithmetic, not of the kernel's.
      if (answer.is_finite()) {
        EXPECT_LE(rows.error[i], share * (rows.bound[i] + std::abs(rows.value[i])) + 0x1p-1074);
      }
    }
  });
  for (std::size_t output = 0; output < outputs.size(); ++output) {
    for (std::size_t i = 0; i < outputs[output].size(); ++i) {
      EXPECT_EQ(seen[output][i], 1) << "output " << output << " element " << i;
      const Enclosure enclosure =
          exact(op, {static_cast<int>(output), static_cast<std::int64_t>(i)});
      EXPECT_TRUE(holds(Answer(outputs[output][i]), enclosure))
          << "output " << output << " element " << i << ": [" << enclosure.lo << ", "
          << enclosure.hi << "], golden " << outputs[output][i];
      EXPECT_TRUE(is_tight(enclosure, terms)) << "output " << output << " element " << i << ": ["
                                              << enclosure.lo << ", " << enclosure.hi << "]";
    }
  }
}

Arithmetic stored_in(Format format) {
  Arithmetic arithmetic;
  arithmetic.input = format;
  arithmetic.output = format;
  return arithmetic;
}

TEST(Golden, VectorAdd) {
  for (const GoldenCase& golden : read_golden("vector_add.golden")) {
    SCOPED_TRACE(golden.title);
    const std::int64_t n = golden.integer("n");
    const Stored x = golden.stored("x", {n}), y = golden.stored("y", {n});
    const VectorAdd op{n, x.view, y.view, stored_in(golden.format)};
    expect_encloses(op, {golden.words("z")}, 0);
  }
}

TEST(Golden, ScatterNormalize) {
  for (const GoldenCase& golden : read_golden("scatter_normalize.golden")) {
    SCOPED_TRACE(golden.title);
    const std::int64_t edges = golden.integer("edges"), heads = golden.integer("heads");
    const std::int64_t dim = golden.integer("dim");
    const Stored values = golden.stored("values", {edges, heads, dim});
    const Stored scores = golden.stored("scores", {edges, heads});
    const std::vector<std::int32_t> destination = golden.indices("destination");
    const ScatterNormalize op{golden.integer("nodes"),
                              edges,
                              heads,
                              dim,
                              values.view,
                              scores.view,
                              destination.data(),
                              golden.epsilon(),
                              stored_in(golden.format)};
    expect_encloses(op, {golden.words("out")}, 0);
  }
}

TEST(Golden, GraphAttention) {
  for (const GoldenCase& golden : read_golden("graph_attention.golden")) {
    SCOPED_TRACE(golden.title);
    const std::int64_t nodes = golden.integer("nodes"), edges = golden.integer("edges");
    const std::int64_t heads = golden.integer("heads"), dim = golden.integer("dim");
    const Stored q = golden.stored("q", {nodes, heads, dim}),
                 k = golden.stored("k", {nodes, heads, dim});
    const Stored v = golden.stored("v", {nodes, heads, dim}),
                 e = golden.stored("e", {edges, heads, dim});
    const std::vector<std::int32_t> source = golden.indices("source");
    const std::vector<std::int32_t> destination = golden.indices("destination");
    const GraphAttention op{nodes,
                            edges,
                            heads,
                            dim,
                            q.view,
                            k.view,
                            v.view,
                            e.view,
                            source.data(),
                            destination.data(),
                            golden.epsilon(),
                            stored_in(golden.format)};
    expect_encloses(op, {golden.words("out"), golden.words("e_out")},
                    size_of(v.view, nodes * heads * dim));
  }
}

TEST(Golden, Matmul) {
  for (const GoldenCase& golden : read_golden("matmul.golden")) {
    SCOPED_TRACE(golden.title);
    const std::int64_t m = golden.integer("m"), n = golden.integer("n"), k = golden.integer("k");
    const Stored a = golden.stored("a", {m, k}), b = golden.stored("b", {k, n});
    Matmul op{m, n, k, a.view, b.view, stored_in(golden.format)};
    const bool wide = golden.format == Format::fp64;
    if (wide) op.arithmetic.compute = Format::fp64;
    // In double the reference rounds as much as a kernel.
    expect_encloses(op, {golden.words("c")}, 0, wide ? 2 : 0x1p-20);
    evaluate_exactly(op, [&](std::int64_t row, std::span<const ExactElement> elements) {
      for (std::int64_t j = 0; j < n; ++j) {
        const std::string& decimal = golden.words("c")[static_cast<std::size_t>(row * n + j)];
        const Enclosure enclosure = elements[static_cast<std::size_t>(j)].enclosure();
        EXPECT_TRUE(holds(Answer(decimal), enclosure))
            << row << ' ' << j << ": [" << enclosure.lo << ", " << enclosure.hi << "], golden "
            << decimal;
        EXPECT_TRUE(is_tight(enclosure, 0));
      }
    });
  }
}

// Numbers of fp32, written as their patterns.
std::vector<float> singles(const GoldenCase& golden, const std::string& name) {
  std::vector<float> numbers;
  for (const std::string& word : golden.words(name)) {
    numbers.push_back(static_cast<float>(decode(Format::fp32, std::stoull(word, nullptr, 16))));
  }
  return numbers;
}

TEST(Golden, FlashAttention) {
  for (const GoldenCase& golden : read_golden("flash_attention.golden")) {
    SCOPED_TRACE(golden.title);
    FlashAttention op;
    op.batches = golden.integer("batches");
    op.heads = golden.integer("heads");
    op.queries = golden.integer("queries");
    op.keys = golden.integer("keys");
    op.dim = golden.integer("dim");
    const Stored q = golden.stored("q", {op.batches, op.heads, op.queries, op.dim});
    const Stored k = golden.stored("k", {op.batches, op.heads, op.keys, op.dim});
    const Stored v = golden.stored("v", {op.batches, op.heads, op.keys, op.dim});
    op.q = q.view;
    op.k = k.view;
    op.v = v.view;
    const std::vector<float> mask = singles(golden, "mask");
    if (!mask.empty()) {
      op.mask = View{mask.data(),
                     Format::fp32,
                     {op.batches, op.heads, op.queries, op.keys},
                     {op.heads * op.queries * op.keys, op.queries * op.keys, op.keys, 1}};
    }
    op.open = static_cast<OpenKeys>(golden.integer("open"));
    op.shift = golden.integer("shift");
    op.prefix = golden.integer("prefix");
    op.left = golden.integer("left");
    op.right = golden.integer("right");
    op.scale = singles(golden, "scale")[0];
    op.arithmetic = stored_in(golden.format);
    if (golden.format == Format::tf32) op.arithmetic.output = Format::fp32;
    expect_encloses(op, {golden.words("out")},
                    size_of(v.view, op.batches * op.heads * op.keys * op.dim));
  }
}

TEST(Golden, Exponential) {
  for (const GoldenCase& golden : read_golden("exponential.golden")) {
    const std::int64_t n = golden.integer("n");
    const Stored points = golden.stored("x", {n});
    for (std::int64_t i = 0; i < n; ++i) {
      const double x = points.view.at(i);
      const std::string& decimal = golden.words("y")[static_cast<std::size_t>(i)];
      SCOPED_TRACE(x);
      const Answer answer(decimal);
      const Enclosure enclosure = exponential_enclosure({x, x});
      EXPECT_TRUE(holds(answer, enclosure))
          << enclosure.lo << ' ' << enclosure.hi << ' ' << decimal;
      EXPECT_TRUE(is_tight(enclosure, 0));
      if (std::abs(x) <= exponential_domain) {
        const double value = exponential(x);
        EXPECT_TRUE(holds(answer, value, exponential_error * value)) << value << ' ' << decimal;
      }
    }
  }
}

}  // namespace
}  // namespace halfulp::reference
