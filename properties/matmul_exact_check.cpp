// Freivalds' check in front of the answer; see matmul_exact_check.hpp.
#include "properties/matmul_exact_check.hpp"

#include <vector>

#include "properties/matmul_rows.hpp"
#include "properties/philox.hpp"
#include "reference/freivalds.hpp"

namespace halfulp::properties {
namespace {

constexpr std::uint32_t kStream = 0x46524549;  // far from those of operands and laws

// The rows that are not a b exactly in one of the outputs; `applies` as in FreivaldsCheck.
struct Rows {
  bool applies = true;
  std::vector<bool> wrong;
  std::int64_t count = 0;
};
Rows wrong_rows(const reference::Matmul& op, std::span<const reference::View> outputs,
                std::uint64_t seed) {
  std::vector<std::uint64_t> words(static_cast<std::size_t>(op.n));
  for (std::size_t j = 0; j < words.size(); ++j) words[j] = Draw(seed, kStream, j).high();
  Rows rows{true, std::vector<bool>(static_cast<std::size_t>(op.m)), 0};
  for (const reference::View& output : outputs) {
    const reference::FreivaldsCheck checked = reference::freivalds(op.a, op.b, output, words);
    rows.applies = rows.applies && checked.applies;
    for (const std::int64_t row : checked.wrong_rows) {
      rows.count += rows.wrong[static_cast<std::size_t>(row)] ? 0 : 1;
      rows.wrong[static_cast<std::size_t>(row)] = true;
    }
  }
  return rows;
}

}  // namespace

bool pays_to_check_exactly(const reference::Matmul& op) {
  const auto area = [](std::int64_t a, std::int64_t b) {
    return static_cast<double>(a) * static_cast<double>(b);
  };
  const double products = area(op.m, op.n) * static_cast<double>(op.k);
  return products >= kExactCheckProducts &&
         products >= 32 * (area(op.m, op.k) + area(op.k, op.n) + area(op.m, op.n));
}

bool matmul_exact_check(const reference::Matmul& op, std::span<const reference::View> outputs,
                        std::uint64_t seed, const reference::Sink& sink) {
  if (outputs.empty() || op.m == 0 || op.n == 0) return false;
  const Rows rows = wrong_rows(op, outputs, seed);
  if (!rows.applies || rows.count > op.m / 4) return false;
  std::vector<double> value(static_cast<std::size_t>(op.n));
  const std::vector<double> none(value.size(), 0);
  for (std::int64_t i = 0; i < op.m;) {
    if (!rows.wrong[static_cast<std::size_t>(i)]) {
      outputs.front().row(i, 0, 0, 1, op.n, value.data());
      sink({0, i * op.n, value, none, none});
      ++i;
      continue;
    }
    std::int64_t last = i + 1;
    while (last < op.m && rows.wrong[static_cast<std::size_t>(last)]) ++last;
    evaluate_rows(op, {.first = i, .count = last - i}, sink);
    i = last;
  }
  return true;
}

}  // namespace halfulp::properties
