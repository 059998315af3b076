// What a case asks and what is true of it, without running a kernel: the inputs, the answer, the
// bound and its terms.
#pragma once
#include <string>
#include <string_view>

#include "properties/case.hpp"

namespace halfulp::properties {

// The explained element is `element`: "c[1,17]" as reports print it, "0:17" for the row-major index
// 17 of output 0, or empty for the one with the largest bound. `error` names an element that the
// case does not have; the explanation is then empty.
std::string explanation(const Case& c, std::string_view element, std::string& error);

}  // namespace halfulp::properties
