#include "properties/simplify.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "properties/assert.hpp"
#include "properties/fill.hpp"
#include "properties/operation.hpp"
#include "properties/spec.hpp"

namespace halfulp::properties {
namespace {

// Position of `value` in a list of words, simplest first.
std::uint64_t position(std::string_view value, std::span<const std::string_view> words) {
  const auto found = std::find(words.begin(), words.end(), value);
  HALFULP_ASSERT(found != words.end(), "no rank for " + std::string(value));
  return static_cast<std::uint64_t>(found - words.begin());
}

constexpr std::array<std::string_view, 4> kOrders{"round_robin", "reverse", "burst", "exhaustive"};
constexpr std::array<std::string_view, 4> kStorage{"f32", "f16", "bf16", "tf32"};
constexpr std::array<std::string_view, 7> kLayouts{
    "packed", "offset", "gap", "every", "permuted", "broadcast", "mixed"};
// Fills that a failure is first tried with.
constexpr std::array<std::string_view, 4> kPlainFills{"ones", "integers", "uniform", "normal"};

std::uint64_t layout_weight(std::string_view layout) {
  const Spec spec = split_spec(layout);
  const auto argument = spec.arguments.empty() ? std::nullopt : parse_integer(spec.arguments[0]);
  return position(spec.family, kLayouts) * 128 + static_cast<std::uint64_t>(argument.value_or(0));
}

}  // namespace

void propose(std::vector<Case>& cases, const Case& c, std::string_view field, std::string value) {
  Case simpler = c;
  simpler.set(field, std::move(value));
  if (simpler == c) return;
  if (find_operation(c.operation)->validate(simpler).empty()) cases.push_back(std::move(simpler));
}

void propose_smaller(std::vector<Case>& cases, const Case& c, std::string_view field,
                     std::int64_t least) {
  const std::int64_t value = c.integer(field);
  if (value <= least) return;
  std::vector<std::int64_t> tried;
  // The half and the next one of the same parity: some faults need an even or an odd size.
  const std::int64_t half_alike = value / 2 + (value - value / 2) % 2;
  for (const std::int64_t next :
       {least, least + 1, value / 2, half_alike, value - value / 4, value - 2, value - 1}) {
    const bool seen = std::find(tried.begin(), tried.end(), next) != tried.end();
    if (next < least || next >= value || seen) continue;
    tried.push_back(next);
    propose(cases, c, field, std::to_string(next));
  }
}

void propose_plainer(std::vector<Case>& cases, const Case& c) {
  propose(cases, c, "law", "none");
  for (const std::string_view fill : kPlainFills) {
    if (fill_rank(fill) < fill_rank(c.text("fill"))) propose(cases, c, "fill", std::string(fill));
  }
  for (const char* layout : {"packed", "offset:1", "gap:1", "every:2", "permuted", "broadcast"}) {
    if (layout_weight(layout) < layout_weight(c.text("layout")))
      propose(cases, c, "layout", layout);
  }
  if (c.text("order") == "exhaustive") propose(cases, c, "order", "burst");
  propose(cases, c, "order", "round_robin");
  propose(cases, c, "resident", "4");
  propose(cases, c, "in", "f32");
  if (position(c.text("in"), kStorage) > 1) propose(cases, c, "in", "f16");
  propose(cases, c, "seed", "0x1");
}

std::vector<std::uint64_t> plainness(const Case& c) {
  return {static_cast<std::uint64_t>(c.text("law") == "none" ? 0 : 1),
          fill_rank(c.text("fill")),
          layout_weight(c.text("layout")),
          position(c.text("order"), kOrders),
          static_cast<std::uint64_t>(c.integer("resident") == 4 ? 0 : 1),
          position(c.text("in"), kStorage),
          static_cast<std::uint64_t>(c.seed() == 1 ? 0 : 1)};
}

}  // namespace halfulp::properties
