// The fields of case lines: those that every operation has, and what a value of a field may be.
//
//   static const std::vector<Field> fields = with_common_fields(own, {.fills = "ones|normal", .laws
//   = "commutes"});
//
// Order in a printed line: backend and in, the operation's own fields, then fill, layout, order,
// resident, law and seed.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "properties/case.hpp"

namespace halfulp::properties {

// The words that differ between operations, each a list "a|b|c" with static storage, simplest
// first.
struct CommonWords {
  std::string_view fills;
  std::string_view laws;  // names only; `none` is added
  std::string_view storage = "f32|f16|bf16";
};
std::vector<Field> with_common_fields(std::span<const Field> own, CommonWords words);

// The one spelling of a value of `field`; `error` says what is wrong with `text`, as "name=text:
// what is accepted", and the result is then empty.
std::string canonical_value(const Field& field, std::string_view text, std::string& error);

// A text of the user's for a message: long ones (edge lists) are cut, control bytes written \x1b,
// so that none reaches a terminal.
inline constexpr std::size_t kShownBytes = 60;
std::string shown(std::string_view text);

// "0 to 16777216": of an integer or a real field.
std::string range_text(const Field& field);
// "an integer from 0 to 512", "one of f32, f16, bf16".
std::string accepted(const Field& field);

}  // namespace halfulp::properties
