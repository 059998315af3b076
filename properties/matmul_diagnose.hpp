// What a wrong element of a matmul has to do with the schedule: its tile, the programs or splits
// that add to it and their k, and the k that its tile lost or counted twice.
#pragma once
#include <string>
#include <vector>

#include "gpu/numerics.hpp"
#include "gpu/problem.hpp"
#include "reference/answer.hpp"
#include "reference/ops/matmul.hpp"

namespace halfulp::properties {

// One line a finding; advice for a report, no judgement. `c` holds the wrong output, laid out like
// the operand. `op` is the problem in the reference's words.
std::vector<std::string> matmul_diagnosis(const gpu::Problem& problem,
                                          const gpu::Numerics& numerics,
                                          const reference::Matmul& op,
                                          const std::vector<std::byte>& c,
                                          reference::Element element);

}  // namespace halfulp::properties
