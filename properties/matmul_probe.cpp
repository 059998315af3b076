// The exactness test of probes; see matmul_probe.hpp.
#include "properties/matmul_probe.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "properties/translate.hpp"

namespace halfulp::properties {
namespace {

// The largest power of two that divides x, which is neither 0 nor beyond finite.
double divisor(double x) {
  int exponent = 0;
  const auto significand = static_cast<std::int64_t>(std::ldexp(std::frexp(x, &exponent), 53));
  return std::ldexp(static_cast<double>(significand & -significand), exponent - 53);
}

struct Line {
  std::int64_t numbers = 0;  // other than 0
  double quantum = HUGE_VAL;
  double largest = 0;
  void add(double x) {
    if (x == 0) return;
    ++numbers;
    quantum = std::min(quantum, divisor(x));
    largest = std::max(largest, std::fabs(x));
  }
};

}  // namespace

std::string inexact_row(const gpu::Problem& problem, int bits) {
  const gpu::Operand& a = problem.operand("a");
  const gpu::Operand& b = problem.operand("b");
  const std::int64_t m = a.extent[0], k = a.extent[1], n = b.extent[1];
  reference::View left = view(a), right = view(b);
  const auto wide = [](reference::View& v) {  // tf32 storage may hold any fp32 number
    if (v.format == reference::Format::tf32) v.format = reference::Format::fp32;
  };
  wide(left);
  wide(right);
  std::vector<Line> depth(static_cast<std::size_t>(k)), column(static_cast<std::size_t>(n));
  std::vector<double> numbers(static_cast<std::size_t>(std::max(k, n)));
  std::int64_t columns_of_many = 0;
  for (std::int64_t i = 0; i < k; ++i) {
    right.row(i, 0, 0, 1, n, numbers.data());
    for (std::int64_t j = 0; j < n; ++j) {
      depth[static_cast<std::size_t>(i)].add(numbers[static_cast<std::size_t>(j)]);
      column[static_cast<std::size_t>(j)].add(numbers[static_cast<std::size_t>(j)]);
    }
  }
  for (const Line& line : column) columns_of_many += line.numbers > 1 ? 1 : 0;
  if (columns_of_many == 0) return {};
  for (std::int64_t i = 0; i < m; ++i) {
    left.row(i, 0, 0, 1, k, numbers.data());
    Line row;
    double magnitude = 0, quantum = HUGE_VAL;
    for (std::int64_t j = 0; j < k; ++j) {
      const double x = numbers[static_cast<std::size_t>(j)];
      const Line& other = depth[static_cast<std::size_t>(j)];
      row.add(x);
      if (x == 0 || other.numbers == 0) continue;
      magnitude += std::fabs(x) * other.largest;
      quantum = std::min(quantum, divisor(x) * other.quantum);
    }
    if (row.numbers <= 1 || magnitude <= std::ldexp(quantum, bits)) continue;
    return "row " + std::to_string(i) + " of a: sums up to " + std::to_string(magnitude) +
           " of multiples of " + std::to_string(quantum);
  }
  return {};
}

}  // namespace halfulp::properties
