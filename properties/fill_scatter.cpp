#include "properties/fill.hpp"

namespace halfulp::properties {

std::span<const Fill> scatter_fills() { return {}; }

}  // namespace halfulp::properties
