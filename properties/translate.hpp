// From what is tested to what is true: gpu's records in reference's words. The only place where the
// two meet.
#pragma once
#include "gpu/numerics.hpp"
#include "gpu/problem.hpp"
#include "reference/answer.hpp"
#include "reference/arithmetic.hpp"
#include "reference/format.hpp"

namespace halfulp::properties {

// Asserts that `format` is a floating-point one.
reference::Format reference_format(gpu::Format format);

// What a kernel's declaration means for a problem stored in `input` and written in `output` [B1].
// Partial sums are left at one: how many there are depends on the problem.
reference::Arithmetic arithmetic(const gpu::Numerics& numerics, gpu::Format input,
                                 gpu::Format output);

// A floating-point input; valid as long as the operand.
reference::View view(const gpu::Operand& operand);
// A contiguous i32 input.
const std::int32_t* indices(const gpu::Operand& operand);

}  // namespace halfulp::properties
