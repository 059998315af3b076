// A judgement as one line of JSON: what a worker process answers, and the form used in --json
// files. Numbers that JSON cannot hold are the strings "nan", "inf" and "-inf"; bit patterns are
// "0x..." strings.
#pragma once
#include <string>
#include <string_view>

#include "properties/check.hpp"

namespace halfulp::properties {

std::string to_record(const Judgement& judgement);
// False when the text is not a record that to_record wrote.
bool from_record(std::string_view text, Judgement& judgement);

}  // namespace halfulp::properties
