// Checks a law: did two related problems give outputs that correspond?
//
//   Relation relation = law.relate(c, problem);
//   if (relation.applies()) what = disagreement(*operation, kernel.numerics, problem, outputs,
//   relation, related_outputs);
//
// No truth is needed, only the bounds: with the first output y, rounded from something within E of
// the truth, and the related one within E', the related output lies between rnd(y - E - E' - half
// ulp) and rnd(y + E + E' + half ulp). Bit for bit where the relation keeps shapes, layouts and the
// order of every sum, and the kernel declares itself repeatable. Where the law says what the
// related output is, it must be just that, or within the related problem's bound of it.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "properties/operation.hpp"

namespace halfulp::properties {

// One entry per output operand, laid out like Operand::storage (gpu::Outputs).
using OutputBytes = std::vector<std::vector<std::byte>>;

const Law* find_law(const Operation& operation, std::string_view name);

// Empty, or the first element that disagrees, with both values and how many disagree.
std::string disagreement(const Operation& operation, const gpu::Numerics& numerics,
                         const gpu::Problem& first, const OutputBytes& first_outputs,
                         const Relation& relation, const OutputBytes& related_outputs);

}  // namespace halfulp::properties
