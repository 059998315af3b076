// Laws of matmul; see matmul_laws.hpp. Operands are always a, b, c in this order.
#include "properties/matmul_laws.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "properties/layout.hpp"
#include "properties/number.hpp"
#include "properties/philox.hpp"
#include "properties/translate.hpp"

namespace halfulp::properties {
namespace {

using Indices = std::vector<std::int64_t>;

constexpr std::uint32_t kStream = 0x4d4c4157;  // of law draws, far from those of operands
constexpr std::size_t kA = 0, kB = 1, kC = 2;
constexpr std::size_t kRows = 0, kColumns = 1;  // axes
constexpr std::int64_t kZero = -1;              // in place of an index: zeros
constexpr int kExponentMost = 30;               // of operands that may be scaled in fp32

Relation relation_to(gpu::Problem problem) {
  Relation relation;
  relation.problem = std::move(problem);
  relation.outputs.resize(1);
  return relation;
}

// The operand with index `from[i]` of the old one at index i of `axis`. Gaps and order of storage
// stay what they were; an axis of stride 0 holds one copy and stays so.
gpu::Operand taken(const gpu::Operand& old, std::size_t axis, const Indices& from) {
  const std::size_t other = 1 - axis;
  gpu::Operand operand = old;
  operand.extent[axis] = static_cast<std::int64_t>(from.size());
  // The outer stride has room for the inner extent, and the same gap as before.
  if (old.stride[axis] == 1) {
    operand.stride[other] =
        std::max(operand.extent[axis], old.stride[other] + operand.extent[axis] - old.extent[axis]);
  }
  fill_gaps(operand);
  if (operand.role == gpu::Role::output) return operand;
  for (std::int64_t i = 0; i < operand.extent[axis]; ++i) {
    const std::int64_t source = from[static_cast<std::size_t>(i)];
    for (std::int64_t j = 0; j < operand.extent[other]; ++j) {
      const std::int64_t at = source * old.stride[axis] + j * old.stride[other];
      put(operand, i * operand.stride[axis] + j * operand.stride[other],
          source == kZero ? 0 : get(old, old.storage.data(), at));
    }
  }
  return operand;
}

bool repeats(const gpu::Operand& operand) {
  return operand.stride[0] == 0 || operand.stride[1] == 0;
}

Indices identity(std::int64_t count) {
  Indices indices(static_cast<std::size_t>(count));
  std::iota(indices.begin(), indices.end(), 0);
  return indices;
}

Indices shuffled(std::int64_t count, std::uint64_t seed, std::uint64_t purpose) {
  Indices indices = identity(count);
  for (std::size_t i = indices.size(); i > 1; --i) {
    std::swap(indices[i - 1], indices[Draw(seed, kStream, i, purpose).below(i)]);
  }
  return indices;
}

void turn(gpu::Operand& operand) {
  std::swap(operand.extent[0], operand.extent[1]);
  std::swap(operand.stride[0], operand.stride[1]);
}

Relation transposition(const Case&, const gpu::Problem& problem) {
  Relation relation = relation_to(problem);
  gpu::Operand& a = relation.problem.operands[kA];
  gpu::Operand& b = relation.problem.operands[kB];
  std::swap(a, b);
  std::swap(a.name, b.name);
  turn(a);
  turn(b);
  gpu::Operand& c = relation.problem.operands[kC];
  const std::int64_t m = c.extent[0], n = c.extent[1], gap = c.stride[0] - n;
  c.extent = {n, m};
  c.stride = {m + std::max<std::int64_t>(gap, 0), 1};
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) relation.outputs[0].place.push_back(j * m + i);
  }
  return relation;
}

Relation permutation(const Case& c, const gpu::Problem& problem) {
  const std::int64_t m = problem.operands[kC].extent[0], n = problem.operands[kC].extent[1];
  const Indices row = shuffled(m, c.seed(), 1), column = shuffled(n, c.seed(), 2);
  if (repeats(problem.operands[kA]) || repeats(problem.operands[kB]) || m * n < 2) return {};
  Relation relation = relation_to(problem);
  relation.problem.operands[kA] = taken(problem.operands[kA], kRows, row);
  relation.problem.operands[kB] = taken(problem.operands[kB], kColumns, column);
  Indices& place = relation.outputs[0].place;
  place.resize(static_cast<std::size_t>(m * n));
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      const std::int64_t from =
          row[static_cast<std::size_t>(i)] * n + column[static_cast<std::size_t>(j)];
      place[static_cast<std::size_t>(from)] = i * n + j;
    }
  }
  return relation;
}

// The same k of both operands, from `from`.
Relation with_k(const gpu::Problem& problem, const Indices& from) {
  if (repeats(problem.operands[kA]) || repeats(problem.operands[kB])) return {};
  Relation relation = relation_to(problem);
  relation.problem.operands[kA] = taken(problem.operands[kA], kColumns, from);
  relation.problem.operands[kB] = taken(problem.operands[kB], kRows, from);
  return relation;
}

Relation k_permutation(const Case& c, const gpu::Problem& problem) {
  return with_k(problem, shuffled(problem.operands[kA].extent[1], c.seed(), 3));
}

Relation k_padding(const Case& c, const gpu::Problem& problem) {
  const Draw draw(c.seed(), kStream, 0, 4);
  Indices from = identity(problem.operands[kA].extent[1]);
  const auto at = static_cast<std::ptrdiff_t>(draw.below(from.size() + 1));
  from.insert(from.begin() + at, 1 + draw.below(70, 2), kZero);
  Relation relation = with_k(problem, from);
  return relation;
}

Relation k_repetition(const Case&, const gpu::Problem& problem) {
  Indices from = identity(problem.operands[kA].extent[1]);
  from.reserve(2 * from.size());
  for (std::size_t i = 0, count = from.size(); i < count; ++i) from.push_back(from[i]);
  Relation relation = with_k(problem, from);
  if (relation.applies()) relation.outputs[0].exponent = 1;
  return relation;
}

Relation batch_invariance(const Case&, const gpu::Problem& problem) {
  const std::int64_t m = problem.operands[kC].extent[0], n = problem.operands[kC].extent[1];
  if (m < 2) return {};
  const Indices rows = identity((m + 1) / 2);
  Relation relation = relation_to(problem);
  relation.problem.operands[kA] = taken(problem.operands[kA], kRows, rows);
  relation.problem.operands[kC] = taken(problem.operands[kC], kRows, rows);
  for (std::int64_t i = 0; i < m * n; ++i) {
    relation.outputs[0].place.push_back(i / n < (m + 1) / 2 ? i : -1);
  }
  return relation;
}

// Magnitudes of the numbers other than zero, lowest bits included.
struct Reach {
  double least = HUGE_VAL, most = 0;
  bool finite = true;
};
Reach reach(const gpu::Operand& operand) {
  const reference::Format format = operand.format == gpu::Format::tf32
                                       ? reference::Format::fp32
                                       : reference_format(operand.format);
  Reach found;
  for (std::int64_t i = 0; i < operand.count(); ++i) {
    const auto bits = get(operand, operand.storage.data(), gpu::storage_index(operand, i));
    const double x = std::fabs(reference::decode(format, bits));
    found.finite = found.finite && std::isfinite(x);
    found.most = std::max(found.most, x);
    if (x > 0) found.least = std::min(found.least, x);
  }
  return found;
}

// c = a b where no element is so large, or so small beside the output's subnormal numbers, that its
// rounding depends on the scale; -1 elsewhere.
Indices scalable(const gpu::Problem& problem, int exponent) {
  const gpu::Operand &a = problem.operands[kA], &b = problem.operands[kB];
  const gpu::Operand& c = problem.operands[kC];
  const std::int64_t m = c.extent[0], n = c.extent[1], k = a.extent[1];
  const reference::Format format = reference_format(c.format);
  const double least = std::ldexp(1.0, reference::traits(format).exponent_min + 4 - exponent);
  const double most = std::ldexp(reference::largest_finite(format), -exponent - 1);
  reference::View left = view(a), right = view(b);
  if (a.format == gpu::Format::tf32) left.format = right.format = reference::Format::fp32;
  std::vector<double> sums(static_cast<std::size_t>(m * n)), sizes(sums.size());
  std::vector<double> row(static_cast<std::size_t>(n));
  for (std::int64_t q = 0; q < k; ++q) {
    right.row(q, 0, 0, 1, n, row.data());
    for (std::int64_t i = 0; i < m; ++i) {
      const double x = left.at(i, q);
      for (std::int64_t j = 0; j < n && x != 0; ++j) {
        const double product = x * row[static_cast<std::size_t>(j)];
        sums[static_cast<std::size_t>(i * n + j)] += product;
        sizes[static_cast<std::size_t>(i * n + j)] += std::fabs(product);
      }
    }
  }
  Indices place = identity(m * n);
  for (std::size_t i = 0; i < place.size(); ++i) {
    // What rounding may add or take away stays below a hundredth of the magnitudes.
    const double size = std::fabs(sums[i]), slack = sizes[i] / 128;
    if (size - slack < least || size + slack > most) place[i] = -1;
  }
  return place;
}

// a times a power of two. Exact where neither operands nor sums come near the ends of their ranges.
Relation scaling(const Case& c, const gpu::Problem& problem) {
  const int exponent = 1 + static_cast<int>(Draw(c.seed(), kStream, 0, 5).below(3));
  const gpu::Operand& a = problem.operands[kA];
  const Reach left = reach(a), right = reach(problem.operands[kB]);
  if (a.count() == 0 || !left.finite || !right.finite) return {};
  const reference::Format format =
      a.format == gpu::Format::tf32 ? reference::Format::fp32 : reference_format(a.format);
  const auto& traits = reference::traits(format);
  const double range = std::ldexp(1.0, kExponentMost);
  const bool fits = left.most < std::ldexp(1.0, traits.exponent_max - exponent) &&
                    left.least >= std::ldexp(1.0, traits.exponent_min) &&
                    right.least >= std::ldexp(1.0, traits.exponent_min) && left.most < range &&
                    right.most < range && left.least > 1 / range && right.least > 1 / range;
  const double work =
      static_cast<double>(a.count()) * static_cast<double>(problem.operands[kC].extent[1]);
  if (!fits || work > 1e8) return {};
  Relation relation = relation_to(problem);
  gpu::Operand& scaled = relation.problem.operands[kA];
  for (std::int64_t i = 0; i < scaled.extent[0] && (i == 0 || scaled.stride[0] > 0); ++i) {
    for (std::int64_t j = 0; j < scaled.extent[1] && (j == 0 || scaled.stride[1] > 0); ++j) {
      const std::int64_t at = i * scaled.stride[0] + j * scaled.stride[1];
      const double x = reference::decode(format, get(a, a.storage.data(), at));
      put(scaled, at, reference::encode(format, std::ldexp(x, exponent)));
    }
  }
  relation.outputs[0].place = scalable(problem, exponent);
  relation.outputs[0].exponent = exponent;
  relation.bit_for_bit = true;
  return relation;
}

// 1 in one place of each row (or column), 0 elsewhere; layout and format of the old operand.
gpu::Operand selection(const gpu::Operand& old, std::size_t axis, const Indices& place) {
  gpu::Operand operand = old;
  const std::uint64_t one = reference::encode(reference_format(old.format), 1);
  for (std::int64_t i = 0; i < operand.extent[axis]; ++i) {
    for (std::int64_t j = 0; j < operand.extent[1 - axis]; ++j) {
      const bool chosen = place[static_cast<std::size_t>(i)] == j;
      put(operand, i * operand.stride[axis] + j * operand.stride[1 - axis], chosen ? one : 0);
    }
  }
  return operand;
}

// What a sum of x and zeros is stored as; NaN: it depends on the kernel. Numbers that fp32 holds as
// subnormal ones may be flushed, and fp32 ones lose bits where products are tf32.
double stored(const gpu::Operand& c, gpu::Format input, double x) {
  const bool cut =
      input == gpu::Format::tf32 && reference::round_to(reference::Format::tf32, x) != x;
  if (cut || (x != 0 && std::fabs(x) < 0x1p-126)) return std::nan("");
  return reference::round_to(reference_format(c.format), x);
}

// One operand picks rows (columns) of the other one, as a permuted identity does: c holds them.
Relation identity_law(const Case& c, const gpu::Problem& problem) {
  const bool of_rows = Draw(c.seed(), kStream, 0, 6).below(2) == 0;  // a picks rows of b
  const gpu::Operand& picking = problem.operands[of_rows ? kA : kB];
  const gpu::Operand& other = problem.operands[of_rows ? kB : kA];
  const std::size_t axis = of_rows ? kRows : kColumns;
  const std::int64_t count = picking.extent[axis], k = picking.extent[1 - axis];
  if (count == 0 || k == 0 || repeats(picking) || !reach(other).finite) return {};
  Indices place = shuffled(k, c.seed(), 7);
  while (std::ssize(place) < count)
    place.push_back(place[place.size() - static_cast<std::size_t>(k)]);
  Relation relation = relation_to(problem);
  relation.problem.operands[of_rows ? kA : kB] = selection(picking, axis, place);
  reference::View numbers = view(other);
  if (other.format == gpu::Format::tf32) numbers.format = reference::Format::fp32;
  const gpu::Operand& result = problem.operands[kC];
  for (std::int64_t i = 0; i < result.extent[0]; ++i) {
    for (std::int64_t j = 0; j < result.extent[1]; ++j) {
      const std::int64_t from = place[static_cast<std::size_t>(of_rows ? i : j)];
      const double x = of_rows ? numbers.at(from, j) : numbers.at(i, from);
      relation.outputs[0].value.push_back(stored(result, other.format, x));
    }
  }
  return relation;
}

constexpr std::array kLaws{
    Law{"transposition", "c^T = b^T a^T", transposition},
    Law{"scaling", "a times a power of two: c too, bit for bit", scaling},
    Law{"permutation", "rows of a and columns of b in another order: those of c too", permutation},
    Law{"k_permutation", "columns of a and rows of b in another order change nothing",
        k_permutation},
    Law{"k_padding", "columns and rows of zeros change nothing", k_padding},
    Law{"k_repetition", "[a a] [b; b] = 2 c", k_repetition},
    Law{"identity", "an operand that picks rows or columns of the other: c holds just those",
        identity_law},
    Law{"batch_invariance", "the first rows do not depend on how many follow", batch_invariance},
};

}  // namespace

std::span<const Law> matmul_laws() { return kLaws; }

}  // namespace halfulp::properties
