// Spec: the text of a `spec` field, family[:argument]..., e.g. hub:4:sorted or gap:3.
//
// Arguments are words or decimal numbers; a spec reads the same forwards and back:
// print(split(text)) == text for canonical text (numbers without leading zeros).
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace halfulp::properties {

struct Spec {
  std::string family;
  std::vector<std::string> arguments;

  bool has(std::string_view argument) const;
  // Removes `argument`, if present, and says whether it was.
  bool take(std::string_view argument);
};

Spec split_spec(std::string_view text);
std::string print(const Spec& spec);
// Numbers without leading zeros; anything else unchanged.
std::string canonical_spec(std::string_view text);

// Decimal digits only (one leading minus allowed), fitting in 64 bits.
std::optional<std::int64_t> parse_integer(std::string_view text);

// Parts of `text` between separators; empty parts are kept, an empty text has none.
std::vector<std::string_view> split(std::string_view text, char separator);

// The word nearest to `text` by edits, or empty when none is near.
std::string_view nearest(std::string_view text, const std::vector<std::string_view>& words);
std::string join(const std::vector<std::string_view>& words, std::string_view separator);

}  // namespace halfulp::properties
