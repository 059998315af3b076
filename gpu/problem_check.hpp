// What a problem must satisfy before any backend places it: the checks that need the data itself,
// which a host entry point cannot read once it lies in device memory.
#pragma once
#include <string>

#include "gpu/problem.hpp"

namespace halfulp::gpu {

// Empty when fine; otherwise one line that names the operand, the place and the value. Checks that
// storage fits the extents and strides, that node ids lie in [0, nodes), and that the CSC form
// (column_pointer, edge_id, column_source) describes the same edges as the coordinate form (source,
// destination).
std::string check_problem(const Problem& problem);

}  // namespace halfulp::gpu
