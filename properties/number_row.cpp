// Loops that compilers vectorise; see number_row.hpp.
#include "properties/number_row.hpp"

#include "properties/number_rules.hpp"
#include "reference/ops/clones.hpp"

namespace halfulp::properties {
namespace {

using reference::Format;

HALFULP_CLONES void normal_row(Format format, const Draws& draws, RowBits& bits) {
  const RoundingRule rule(format);
  const auto& w = draws.words;
  for (std::size_t t = 0; t < kDrawsAtOnce; ++t) {
    bits[t] = rule.round(normal_significand(w[0][t], w[1][t], w[2][t], w[3][t]),
                         RoundingRule::power(kNormalExponent));
  }
}

HALFULP_CLONES void uniform_row(Format format, const Draws& draws, RowBits& bits) {
  const RoundingRule rule(format);
  for (std::size_t t = 0; t < kDrawsAtOnce; ++t) {
    bits[t] = rule.round(uniform_significand(draws.words[2][t], draws.words[3][t]),
                         RoundingRule::power(kUniformExponent));
  }
}

HALFULP_CLONES void positive_row(Format format, const Draws& draws, RowBits& bits) {
  const RoundingRule rule(format);
  for (std::size_t t = 0; t < kDrawsAtOnce; ++t) {
    bits[t] = rule.round(positive_significand(draws.words[2][t], draws.words[3][t]),
                         RoundingRule::power(kPositiveExponent));
  }
}

HALFULP_CLONES void integer_row(Format format, const Draws& draws, RowBits& bits) {
  const RoundingRule rule(format);
  for (std::size_t t = 0; t < kDrawsAtOnce; ++t) {
    bits[t] = rule.round(below(draws.words[2][t], draws.words[3][t], 17) - 8, 1);
  }
}

HALFULP_CLONES void sign_row(Format format, const Draws& draws, RowBits& bits) {
  const RoundingRule rule(format);
  const std::uint64_t one = rule.round(1, 1), minus_one = rule.round(-1, 1);
  for (std::size_t t = 0; t < kDrawsAtOnce; ++t) {
    bits[t] = draws.words[0][t] >> 31 != 0 ? minus_one : one;
  }
}

}  // namespace

NumberRow number_row(std::string_view fill) {
  if (fill == "normal") return normal_row;
  if (fill == "uniform") return uniform_row;
  if (fill == "positive") return positive_row;
  if (fill == "integers") return integer_row;
  if (fill == "M1") return sign_row;
  return nullptr;
}

}  // namespace halfulp::properties
