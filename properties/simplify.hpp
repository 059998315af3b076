// Simpler cases: the steps that shrinking takes whatever the operation. properties/ops adds those
// of sizes.
//
// Every step keeps a case legal and lowers its weight, which cannot go on for ever. Values depend
// on the seed and on coordinates, so a simpler case is simply judged again.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "properties/case.hpp"

namespace halfulp::properties {

// `c` with one field changed, appended when the operation's validate accepts it.
void propose(std::vector<Case>& cases, const Case& c, std::string_view field, std::string value);

// Smaller values of an integer field that is above `least`, the boldest first.
void propose_smaller(std::vector<Case>& cases, const Case& c, std::string_view field,
                     std::int64_t least);

// No law, and simpler fill, layout, order, resident, storage format and seed.
void propose_plainer(std::vector<Case>& cases, const Case& c);

// The weight of those fields, most important first.
std::vector<std::uint64_t> plainness(const Case& c);

}  // namespace halfulp::properties
