#include "properties/generate.hpp"

#include <algorithm>

#include "properties/assert.hpp"
#include "properties/fill.hpp"
#include "properties/operation.hpp"
#include "properties/spec.hpp"

namespace halfulp::properties {

std::int64_t Choices::between(std::int64_t low, std::int64_t high) {
  HALFULP_ASSERT(low <= high, "an empty range");
  const auto count = static_cast<unsigned __int128>(high - low) + 1;
  return low + static_cast<std::int64_t>((static_cast<unsigned __int128>(bits()) * count) >> 64);
}

std::uint64_t Choices::bits() { return random_.split().next(); }

std::string_view Choices::word(const std::vector<std::string_view>& words) {
  return words[static_cast<std::size_t>(between(0, static_cast<std::int64_t>(words.size()) - 1))];
}

std::int64_t Choices::size_near(const std::vector<int>& edges, std::int64_t largest, bool zero) {
  constexpr std::int64_t kPrimes[] = {2, 3, 5, 7, 11, 13, 17, 23, 37};
  if (zero && one_in(40)) return 0;
  std::vector<std::int64_t> near;
  for (const int edge : edges) {
    for (const std::int64_t value : {edge - 1, edge, edge + 1, 2 * edge + 1}) {
      if (value >= 1 && value <= largest) near.push_back(value);
    }
  }
  const std::int64_t kind = between(0, 9);
  if (kind == 0) return 1;
  if (kind <= 4 && !near.empty()) {
    return near[static_cast<std::size_t>(between(0, static_cast<std::int64_t>(near.size()) - 1))];
  }
  if (kind <= 7) return std::min(kPrimes[between(0, 8)], largest);
  return between(1, std::min<std::int64_t>(largest, 2 + size_ / 3));
}

void choose_common(Choices& choose, const gpu::Kernel& kernel, gpu::Backend backend, bool tiny,
                   Case& c) {
  c.set("backend", std::string(gpu::name(backend)));
  const auto last = static_cast<std::int64_t>(kernel.storage.size()) - 1;
  const auto format =
      kernel.storage[static_cast<std::size_t>(choose.one_in(2) ? 0 : choose.between(0, last))];
  c.set("in", std::string(gpu::name(format)));
  const auto all_fills = split(fill_words(c.operation), '|');
  const std::string_view plain_fill = choose.one_in(2) ? "normal" : "uniform";
  c.set("fill", std::string(choose.one_in(5) ? plain_fill : choose.word(all_fills)));
  std::string layout = choose.weighted<std::string>(
      {{10, "packed"}, {2, "gap"}, {2, "permuted"}, {1, "broadcast"}, {2, "offset"}, {3, "mixed"}});
  // A broadcast operand repeats values that a probe needs to be different.
  if (layout == "broadcast" && find_fill(c.text("fill")).probe) layout = "packed";
  if (layout == "offset") layout += ":" + std::to_string(choose.between(1, 5));
  if (layout == "gap") {  // wide ones carry few elements past the offsets that 16 bits can hold
    const bool wide = choose.one_in(3);
    layout += ":" + std::to_string(wide ? choose.between(200, 400) : choose.between(1, 5));
  }
  c.set("layout", layout);
  if (backend != gpu::Backend::cuda) {
    const bool all_orders = tiny && choose.one_in(40);
    c.set("order", all_orders ? "exhaustive"
                              : choose.weighted<std::string>(
                                    {{8, "round_robin"}, {1, "reverse"}, {2, "burst"}}));
    c.set("resident", choose.weighted<std::int64_t>({{8, 4}, {1, 1}, {1, 2}, {1, 7}}));
  }
  c.set("seed", std::to_string(choose.bits() & 0xffffffffu));
}

void choose_law(Choices& choose, Case& c) {
  const Operation& operation = *find_operation(c.operation);
  if (!choose.one_in(8) || operation.laws.empty() || c.text("order") == "exhaustive") return;
  const auto last = static_cast<std::int64_t>(operation.laws.size()) - 1;
  const Law& law = operation.laws[static_cast<std::size_t>(choose.between(0, last))];
  if (law.relate(c, operation.materialise(c)).applies()) c.set("law", std::string(law.name));
}

}  // namespace halfulp::properties
