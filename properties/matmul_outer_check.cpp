// The device's sums, and the rows that are computed here; see matmul_outer_check.hpp.
#include "properties/matmul_outer_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "properties/matmul_rows.hpp"
#include "properties/philox.hpp"
#include "reference/ops/matmul_given.hpp"

namespace halfulp::properties {
namespace {

constexpr std::uint32_t kStream = 0x4f555445;  // far from those of operands and laws

double area(std::int64_t a, std::int64_t b) {
  return static_cast<double>(a) * static_cast<double>(b);
}

// Spread over all of c. An odd step meets every row of the tiles, whose sizes are even.
RowSet sample(const reference::Matmul& op, std::uint64_t seed, double products) {
  RowSet set;
  const double rows = products / std::max(1.0, area(op.n, op.k));
  set.count = static_cast<std::int64_t>(
      std::clamp(rows, 1.0, static_cast<double>(std::max<std::int64_t>(op.m, 1))));
  set.step = std::max<std::int64_t>(1, op.m / set.count);
  if (set.step % 2 == 0) --set.step;
  const std::int64_t places = std::max<std::int64_t>(1, op.m - (set.count - 1) * set.step);
  set.first =
      static_cast<std::int64_t>(Draw(seed, kStream, 0).high() % static_cast<std::uint64_t>(places));
  return set;
}

}  // namespace

bool needs_outer_check(const reference::Matmul& op) {
  return area(op.m, op.n) * static_cast<double>(op.k) >= kOuterCheckProducts;
}

OuterCheck matmul_outer_check(const reference::Matmul& op, const ProductInDouble& product,
                              std::uint64_t seed, const reference::Sink& sink,
                              double sample_products) {
  const RowSet sampled = sample(op, seed, sample_products);
  std::int64_t judged = 0;  // rows so far, the sampled ones among them left out
  const auto n = static_cast<std::size_t>(op.n);
  std::optional<reference::MatmulGiven> given;
  const std::string error = product([&](const gpu::RowsInDouble& rows) {
    if (!given) given.emplace(op);
    for (std::size_t at = 0; at < rows.value.size(); at += n, ++judged) {
      if (sampled.holds(judged)) continue;
      given->evaluate_row(judged, rows.value.subspan(at, n), rows.magnitude.subspan(at, n), sink);
    }
  });
  if (judged == 0) return {false, "no outer check: " + error};
  RowSet here = sampled;
  here.count = 0;
  while (here.count < sampled.count && here.first + here.count * here.step < judged) ++here.count;
  evaluate_rows(op, here, sink);
  evaluate_rows(op, {.first = judged, .count = op.m - judged}, sink);
  return {true, fmt::format("outer check: fp64 of cuBLAS, {} of {} rows by the reference{}",
                            here.count + op.m - judged, op.m, error.empty() ? "" : "; " + error)};
}

}  // namespace halfulp::properties
