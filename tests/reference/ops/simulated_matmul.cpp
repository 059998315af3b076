#include "tests/reference/ops/simulated_matmul.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "reference/exact_sum.hpp"

namespace halfulp::reference::simulated {
namespace {

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

// Operations of one format; `flush`: subnormal operands and results are zeros.
struct Unit {
  Format format = Format::fp32;
  bool flush = false;

  double flushed(double x) const {
    return flush && std::abs(x) < std::ldexp(1.0, traits(format).exponent_min) ? 0 : x;
  }
  double add(double x, double y) const {
    x = flushed(x);
    y = flushed(y);
    if (format == Format::fp64) return x + y;
    if (format == Format::fp32) {
      return flushed(static_cast<double>(static_cast<float>(x) + static_cast<float>(y)));
    }
    ExactSum sum;
    sum.add(x);
    sum.add(y);
    return decode(format, sum.round(format));
  }
  double multiply(double x, double y) const {
    return flushed(round_to(format, flushed(x) * flushed(y)));
  }
  double multiply_add(double x, double y, double z) const {
    x = flushed(x);
    y = flushed(y);
    z = flushed(z);
    if (format == Format::fp64) return std::fma(x, y, z);
    if (format == Format::fp32) {
      return flushed(static_cast<double>(
          std::fma(static_cast<float>(x), static_cast<float>(y), static_cast<float>(z))));
    }
    ExactSum sum;
    sum.add_product(x, y);
    sum.add(z);
    return decode(format, sum.round(format));
  }
};

// Adds neighbours, random ones, until one is left.
double add_all(const Unit& unit, std::vector<double> leaves, Summation summation,
               Generator& generator) {
  if (leaves.empty()) return 0;
  while (leaves.size() > 1) {
    if (summation == Summation::pairwise) {
      std::size_t kept = 0;
      for (std::size_t i = 0; i < leaves.size(); i += 2, ++kept) {
        leaves[kept] = i + 1 < leaves.size() ? unit.add(leaves[i], leaves[i + 1]) : leaves[i];
      }
      leaves.resize(kept);
      continue;
    }
    const std::size_t at =
        summation == Summation::tree ? index(below(generator, std::ssize(leaves) - 1)) : 0;
    leaves[at] = unit.add(leaves[at], leaves[at + 1]);
    leaves.erase(leaves.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
  return leaves[0];
}

int exponent(double x, int least) { return std::max(std::ilogb(x), least); }

}  // namespace

double tensor_core_sum(const DotStyle& style, const std::vector<double>& a,
                       const std::vector<double>& b, const std::vector<std::size_t>& order) {
  const Arithmetic& declared = style.declared;
  const std::size_t products = index(declared.tensor_core.products);
  const int least = traits(declared.input).exponent_min;
  const Rounding rounding =
      declared.compute == Format::fp32 ? Rounding::toward_zero : Rounding::nearest_even;
  const auto operand = [&](double x) {
    if (x != 0) return exponent(x, least);
    return style.zero_has_exponent ? -126 : -100000;
  };
  double sum = 0;
  for (std::size_t first = 0; first < order.size(); first += products) {
    const std::size_t last = std::min(order.size(), first + products);
    int largest = sum != 0 ? exponent(sum, traits(declared.compute).exponent_min) : -100000;
    for (std::size_t i = first; i < last; ++i) {
      largest = std::max(largest, operand(a[order[i]]) + operand(b[order[i]]));
    }
    if (largest < -1000) continue;
    const int grid = largest - declared.tensor_core.alignment_bits;
    double total = std::trunc(std::ldexp(sum, -grid));  // integers below 2^40: exact
    for (std::size_t i = first; i < last; ++i) {
      total += std::trunc(std::ldexp(a[order[i]] * b[order[i]], -grid));
    }
    sum = round_to(declared.compute, std::ldexp(total, grid), rounding);
  }
  return sum;
}

double accumulated(const DotStyle& style, const std::vector<double>& a,
                   const std::vector<double>& b, const std::vector<std::size_t>& part,
                   Generator& generator) {
  const Arithmetic& declared = style.declared;
  if (declared.tensor_core.alignment_bits != 0) return tensor_core_sum(style, a, b, part);
  const Unit unit{declared.compute, declared.flush_to_zero && declared.compute == Format::fp32};
  const std::size_t chain = style.summation == Summation::sequential ? part.size()
                            : style.summation == Summation::blocked  ? 8
                                                                     : 1;
  std::vector<double> leaves;
  for (std::size_t i = 0; i < part.size(); ++i) {
    const double x = a[part[i]], y = b[part[i]];
    if (i % std::max<std::size_t>(chain, 1) == 0) {
      leaves.push_back(unit.multiply(x, y));
    } else if (style.fma) {
      leaves.back() = unit.multiply_add(x, y, leaves.back());
    } else {
      leaves.back() = unit.add(unit.multiply(x, y), leaves.back());
    }
  }
  return add_all(unit, leaves, style.summation, generator);
}

double dot(const DotStyle& style, std::vector<double> a, std::vector<double> b,
           Generator& generator) {
  const Arithmetic& declared = style.declared;
  if (declared.operand_roundoff > 0) {
    const Rounding rounding =
        declared.operand_roundoff == 0x1p-11 ? Rounding::nearest_even : Rounding::toward_zero;
    for (double& x : a) x = round_to(Format::tf32, x, rounding);
    for (double& x : b) x = round_to(Format::tf32, x, rounding);
  }
  std::vector<std::size_t> order(a.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (declared.sum_order == SumOrder::any) std::shuffle(order.begin(), order.end(), generator);
  if (declared.partials == 1) return accumulated(style, a, b, order, generator);

  const std::size_t parts = index(declared.partials);
  const std::size_t longest = declared.partial_longest > 0 ? index(declared.partial_longest)
                                                           : (order.size() + parts - 1) / parts;
  if (longest == 0) return 0;
  const bool flush = declared.flush_to_zero || declared.atomic_flush_to_zero;
  const Unit unit{declared.partial, flush && declared.partial == Format::fp32};
  std::vector<double> sums;
  for (std::size_t first = 0; first < order.size(); first += longest) {
    const auto at = [&](std::size_t i) {
      return order.begin() + static_cast<std::ptrdiff_t>(std::min(i, order.size()));
    };
    const double sum = accumulated(style, a, b, {at(first), at(first + longest)}, generator);
    sums.push_back(round_to(declared.partial, sum));
  }
  std::shuffle(sums.begin(), sums.end(), generator);
  return add_all(unit, sums, Summation::tree, generator);
}

DotStyle random_dot_style(Format input, std::int64_t k, Generator& generator) {
  DotStyle style;
  Arithmetic& declared = style.declared;
  declared.input = input;
  declared.sum_order = below(generator, 2) == 0 ? SumOrder::any : SumOrder::contiguous;
  style.summation = static_cast<Summation>(below(generator, static_cast<int>(Summation::kinds)));
  style.fma = below(generator, 2) == 0;
  style.zero_has_exponent = below(generator, 2) == 0;
  declared.product_rounded = !style.fma;
  if (input == Format::fp16 && below(generator, 4) == 0) declared.compute = Format::fp16;
  if (input == Format::fp64) declared.compute = Format::fp64;
  if (input != Format::fp32 && input != Format::fp64 && below(generator, 2) == 0) {
    const TensorCore cores[] = {kVolta, kAmpere, kHopper, {13, 32}};
    declared.tensor_core = cores[below(generator, 4)];
  }
  if (input == Format::fp32 && below(generator, 3) == 0) {  // tensor cores round it to tf32
    declared.operand_roundoff = below(generator, 2) == 0 ? 0x1p-11 : 0x1p-10;
    declared.tensor_core = below(generator, 2) == 0 ? TensorCore{25, 8} : TensorCore{24, 4};
  }
  declared.flush_to_zero = declared.compute == Format::fp32 && below(generator, 6) == 0;
  declared.atomic_flush_to_zero = below(generator, 3) == 0;
  if (k > 1 && below(generator, 3) == 0) {
    declared.partial_longest = 1 + below(generator, k);
    declared.partials = (k + declared.partial_longest - 1) / declared.partial_longest;
    const Format formats[] = {Format::fp32, Format::fp16, Format::bf16};
    declared.partial = formats[below(generator, 3)];
    if (input == Format::fp64 && below(generator, 2) == 0) declared.partial = Format::fp64;
  }
  declared.output = Format::fp64;  // the accumulated sum as it is
  return style;
}

MatmulData::MatmulData(std::int64_t m, std::int64_t n, std::int64_t k, Format input,
                       bool transpose_b) {
  const int bytes = traits(input).storage_bits / 8;
  storage.resize(index((m * k + k * n) * bytes));
  const auto view = [&](std::int64_t first, std::int64_t rows, std::int64_t columns, bool turn) {
    View made;
    made.data = storage.data() + first * bytes;
    made.format = input;
    made.extent[0] = rows;
    made.extent[1] = columns;
    made.stride[0] = turn ? 1 : columns;
    made.stride[1] = turn ? rows : 1;
    return made;
  };
  op.m = m;
  op.n = n;
  op.k = k;
  op.a = view(0, m, k, false);
  op.b = view(m * k, k, n, transpose_b);
  op.arithmetic.input = input;
}

void MatmulData::set(const View& view, std::int64_t i, std::int64_t j, double value) {
  const std::int64_t at = i * view.stride[0] + j * view.stride[1];
  const std::uint64_t bits = encode(view.format, value);
  const std::int64_t bytes = traits(view.format).storage_bits / 8;
  const std::int64_t first = static_cast<const unsigned char*>(view.data) - storage.data();
  std::memcpy(storage.data() + first + at * bytes, &bits, index(bytes));  // the low bytes
}
void MatmulData::set_a(std::int64_t i, std::int64_t k, double value) { set(op.a, i, k, value); }
void MatmulData::set_b(std::int64_t k, std::int64_t j, double value) { set(op.b, k, j, value); }

void MatmulData::fill(MatrixFill fill, Generator& generator) {
  std::normal_distribution<double> normal;
  const FormatTraits& format = traits(op.a.format);
  const auto draw = [&]() -> double {
    const double sign = below(generator, 2) == 0 ? 1 : -1;
    switch (fill) {
      case MatrixFill::normal:
      case MatrixFill::cancelling:
        return normal(generator);
      case MatrixFill::positive:
        return uniform(generator);
      case MatrixFill::integers:
        return static_cast<double>(below(generator, 7) - 3);
      case MatrixFill::signs:
        return sign;
      case MatrixFill::wide:
        return sign *
               std::ldexp(1 + uniform(generator), static_cast<int>(below(generator, 14)) - 7);
      case MatrixFill::subnormal:
        if (below(generator, 3) == 0) return std::ldexp(normal(generator), format.exponent_min - 2);
        return std::ldexp(normal(generator), static_cast<int>(below(generator, 8)) - 2);
      default: {
        const double value =
            decode(op.a.format, generator() >> (64 - format.storage_bits) &
                                    ~(op.a.format == Format::tf32 ? 0x1fffULL : 0));
        return std::isfinite(value) ? value : 0;
      }
    }
  };
  for (std::int64_t k = 0; k < op.k; ++k) {
    const bool mirror = fill == MatrixFill::cancelling && k % 2 == 1;
    for (std::int64_t i = 0; i < op.m; ++i) set_a(i, k, mirror ? op.a.at(i, k - 1) : draw());
    for (std::int64_t j = 0; j < op.n; ++j) {
      set_b(k, j, mirror ? -op.b.at(k - 1, j) * (1 + 0x1p-9 * normal(generator)) : draw());
    }
  }
}

std::vector<double> MatmulData::row(std::int64_t i) const {
  std::vector<double> values(index(op.k));
  for (std::int64_t k = 0; k < op.k; ++k) values[index(k)] = op.a.at(i, k);
  return values;
}
std::vector<double> MatmulData::column(std::int64_t j) const {
  std::vector<double> values(index(op.k));
  for (std::int64_t k = 0; k < op.k; ++k) values[index(k)] = op.b.at(k, j);
  return values;
}

}  // namespace halfulp::reference::simulated
