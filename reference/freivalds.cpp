#include "reference/freivalds.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "reference/ops/matmul_blocks.hpp"
#include "reference/require.hpp"

namespace halfulp::reference {
namespace {

constexpr std::uint64_t kPrime = (1ULL << 61) - 1;
constexpr std::int64_t kBlockRows = 32;
constexpr std::int64_t kBlockColumns = 4096;
// So many products of an integer below 2^53 and a residue stay within 2^126.
constexpr std::int64_t kTermsWithoutReduction = 1 << 12;

std::size_t size(std::int64_t count) { return static_cast<std::size_t>(count); }

std::uint64_t reduced(std::uint64_t x) {
  const std::uint64_t folded = (x & kPrime) + (x >> 61);
  return folded >= kPrime ? folded - kPrime : folded;
}
std::uint64_t reduced(__int128 x) {
  const bool negative = x < 0;
  const auto magnitude = static_cast<unsigned __int128>(negative ? -x : x);
  const std::uint64_t low = static_cast<std::uint64_t>(magnitude) & kPrime;
  const std::uint64_t folded = reduced(reduced(static_cast<std::uint64_t>(magnitude >> 61)) + low);
  return negative && folded != 0 ? kPrime - folded : folded;
}

// What all numbers of a matrix are multiples of, and the largest multiple.
struct Integers {
  bool finite = true;
  double quantum = kUnbounded;
  double largest = 0;

  void add(double x) {
    finite &= std::isfinite(x);
    if (x == 0 || !finite) return;
    const auto bits = std::bit_cast<std::uint64_t>(x);
    const double rest = std::bit_cast<double>(bits & (bits - 1));
    const bool has_fraction = (bits & 0xfffffffffffff) != 0;
    quantum = std::min(quantum, has_fraction ? std::abs(x - rest) : std::abs(x));
    largest = std::max(largest, std::abs(x));
  }
  bool is_zero() const { return largest == 0; }
  // Doubles of a quantum below 2^-1000 would not scale; none of the narrower formats has them.
  bool scales() const { return is_zero() || (quantum >= 0x1p-1000 && largest < 0x1p53 * quantum); }
};

template <typename Visit>  // visit(row, first column, values, count)
void for_blocks(BlockReader& reader, const View& view, Visit visit) {
  const std::int64_t rows = view.extent[0], columns = view.extent[1];
  for (std::int64_t i = 0; i < rows; i += kBlockRows) {
    for (std::int64_t j = 0; j < columns; j += kBlockColumns) {
      const Block block{i, j, std::min(kBlockRows, rows - i), std::min(kBlockColumns, columns - j)};
      const double* values = reader.read(view, block);
      for (std::int64_t r = 0; r < block.rows; ++r, values += block.columns) {
        visit(i + r, j, values, block.columns);
      }
    }
  }
}

Integers integers_of(const View& view) {
  Integers found;
  BlockReader reader;
  for_blocks(reader, view,
             [&](std::int64_t, std::int64_t, const double* values, std::int64_t count) {
               for (std::int64_t i = 0; i < count; ++i) found.add(values[i]);
             });
  return found;
}

// sum of multiples[i] * x[i], multiples in units of 1 / up.
std::uint64_t dot(const double* multiples, double up, const std::uint64_t* x, std::int64_t count) {
  std::uint64_t total = 0;
  for (std::int64_t first = 0; first < count; first += kTermsWithoutReduction) {
    const std::int64_t last = std::min(count, first + kTermsWithoutReduction);
    __int128 sum = 0;
    for (std::int64_t i = first; i < last; ++i) {
      sum += static_cast<__int128>(static_cast<std::int64_t>(multiples[i] * up)) *
             static_cast<std::int64_t>(x[i]);
    }
    total = reduced(total + reduced(sum));
  }
  return total;
}

// matrix * x, in units of the quantum.
std::vector<std::uint64_t> product(const View& matrix, const Integers& integers,
                                   const std::vector<std::uint64_t>& x) {
  std::vector<std::uint64_t> result(size(matrix.extent[0]));
  if (integers.is_zero()) return result;
  const double up = 1 / integers.quantum;
  BlockReader reader;
  for_blocks(reader, matrix,
             [&](std::int64_t row, std::int64_t first, const double* values, std::int64_t count) {
               std::uint64_t& sum = result[size(row)];
               sum = reduced(sum + dot(values, up, x.data() + first, count));
             });
  return result;
}

// c * x in units of `quantum`, and the rows with an element that no sum of products can be: no
// multiple of the quantum, or beyond `largest` of them.
struct Sums {
  std::vector<std::uint64_t> sums;
  std::vector<bool> impossible;
};
Sums sums_of(const View& c, double quantum, double largest, const std::vector<std::uint64_t>& x) {
  Sums found{std::vector<std::uint64_t>(size(c.extent[0])), std::vector<bool>(size(c.extent[0]))};
  BlockReader reader;
  for_blocks(reader, c,
             [&](std::int64_t row, std::int64_t first, const double* values, std::int64_t count) {
               std::uint64_t& total = found.sums[size(row)];
               __int128 sum = 0;
               for (std::int64_t i = 0; i < count; ++i) {
                 const double multiple = values[i] * (1 / quantum);
                 if (!(std::abs(multiple) <= largest) || std::trunc(multiple) != multiple) {
                   found.impossible[size(row)] = true;
                   return;
                 }
                 sum += static_cast<__int128>(static_cast<std::int64_t>(multiple)) *
                        static_cast<std::int64_t>(x[size(first + i)]);
                 if (i % 16 == 15) {  // each is below 2^(60 + 61)
                   total = reduced(total + reduced(sum));
                   sum = 0;
                 }
               }
               total = reduced(total + reduced(sum));
             });
  return found;
}

}  // namespace

FreivaldsCheck freivalds(const View& a, const View& b, const View& c,
                         std::span<const std::uint64_t> words) {
  const std::int64_t m = a.extent[0], k = a.extent[1], n = b.extent[1];
  HALFULP_REQUIRE(b.extent[0] == k && c.extent[0] == m && c.extent[1] == n, "c has a b's extents");
  HALFULP_REQUIRE(std::ssize(words) == n, "a random word a column");
  FreivaldsCheck check;
  const Integers left = integers_of(a), right = integers_of(b);
  if (!left.finite || !right.finite || !left.scales() || !right.scales()) return check;
  double quantum = 1, largest = 0;
  if (!left.is_zero() && !right.is_zero()) {
    quantum = left.quantum * right.quantum;
    largest = static_cast<double>(k) * (left.largest / left.quantum) *
              (right.largest / right.quantum) * (1 + 0x1p-40);
  }
  // Twice `largest` is below the prime: a difference of zero modulo the prime is zero.
  if (quantum < 0x1p-1000 || quantum > 0x1p1000 || !(largest < 0x1p59)) return check;
  check.applies = true;
  std::vector<std::uint64_t> x(words.begin(), words.end());
  for (std::uint64_t& word : x) word = reduced(word);
  const std::vector<std::uint64_t> expected = product(a, left, product(b, right, x));
  const Sums found = sums_of(c, quantum, largest, x);
  for (std::int64_t row = 0; row < m; ++row) {
    if (found.impossible[size(row)] || found.sums[size(row)] != expected[size(row)]) {
      check.wrong_rows.push_back(row);
    }
  }
  return check;
}

}  // namespace halfulp::reference
