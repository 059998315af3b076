// What a case asks and what is true of it, without running a kernel: the inputs, the answer, the
// bound and its terms.
#pragma once
#include <optional>
#include <string>

#include "properties/case.hpp"
#include "reference/answer.hpp"

namespace halfulp::properties {

// The explained element is `element`, or the one with the largest bound. `error` names an element
// that does not exist; the text is then empty.
std::string explanation(const Case& c, std::optional<reference::Element> element,
                        std::string& error);

}  // namespace halfulp::properties
