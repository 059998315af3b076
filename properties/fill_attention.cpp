#include "properties/fill.hpp"

namespace halfulp::properties {

std::span<const Fill> attention_fills() { return {}; }

}  // namespace halfulp::properties
