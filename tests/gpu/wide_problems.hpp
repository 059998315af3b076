// Small problems for every kernel of the registry, and the ways in which their operands can lie
// that kernels tell apart.
//
// Answers do not depend on the order in which atomics add: products of matrices are integers, and
// no node has more than two incoming edges, but for one problem of kernels that are repeatable.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "gpu/backend.hpp"
#include "tests/gpu/wide_layout.hpp"

namespace halfulp::gpu::test {

// Contiguous, with settings for every tile that the kernel's row lists. The last ones have few rows
// of each kind: of matmul also without anything to add.
std::vector<Problem> wide_problems(const Kernel& kernel, Format storage);

// With one element along each axis, but for a row's channels.
Problem single_problem(const Kernel& kernel, Format storage);

// Layouts of all operands, none of them apart: aligned to 16 bytes and not, each operand's axes in
// the orders that its kernels take.
std::vector<std::vector<WideLayout>> near_layouts(const Problem& problem);

// Whether it may have gaps: indices have none.
bool is_stretchable(const Operand& operand);

// The layouts with all strides of the operand of that name larger by `elements`; with those of all
// operands for the name "all".
std::vector<WideLayout> apart(const Problem& problem, std::vector<WideLayout> layouts,
                              std::int64_t elements, std::string_view operand);

}  // namespace halfulp::gpu::test
