// Vectors of doubles by the compiler, one for each width that x86-64 has. Internal to
// reference/ops.
#pragma once

namespace halfulp::reference {

using Vector2 [[gnu::vector_size(16)]] = double;
using Vector4 [[gnu::vector_size(32)]] = double;
using Vector8 [[gnu::vector_size(64)]] = double;

}  // namespace halfulp::reference
