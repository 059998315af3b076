// Judges large products of integers without computing them [B21]: rows of c that are a b exactly
// for certain are streamed as they stand, and the answer is computed for the other ones alone.
//
//   if (!matmul_exact_check(op, outputs, seed, sink)) evaluate(op, sink);
//
// Where it applies, m k + k n + m n multiplications instead of m n k.
#pragma once
#include <cstdint>
#include <span>

#include "reference/answer.hpp"
#include "reference/ops/matmul.hpp"

namespace halfulp::properties {

// From so many products on, if they are also 32 times the numbers of the operands, it is quicker.
inline constexpr double kExactCheckProducts = 0x1p26;
bool pays_to_check_exactly(const reference::Matmul& op);

// `outputs`: c of each distinct result of one call. The caller promises that sums of this problem
// are exact in the kernel's arithmetic, so that E = 0 for rows that are right. false, with nothing
// streamed: operands that are no integers, or more than a quarter of the rows wrong.
bool matmul_exact_check(const reference::Matmul& op, std::span<const reference::View> outputs,
                        std::uint64_t seed, const reference::Sink& sink);

}  // namespace halfulp::properties
