// An operation as the pipeline sees it: one row of a table. Everything that differs between operations is
// behind these functions; nothing else in properties/ names one.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/kernel.hpp"
#include "properties/case.hpp"
#include "reference/answer.hpp"

namespace rc {
class Random;
}

namespace halfulp::properties {

// Wrong or absurd combinations of fields that no single field's range shows: empty when fine.
using Validate = std::string (*)(const Case&);
// The input bits. Same case, same bits, on any machine and compiler.
using Materialise = gpu::Problem (*)(const Case&);
// Streams the truth and the bound of every output element; `numerics` is what the kernel declares.
using Evaluate = void (*)(const gpu::Problem&, const gpu::Numerics&, const reference::Sink&);
using Exact = reference::Enclosure (*)(const gpu::Problem&, const gpu::Numerics&, reference::Element);
using Explain = std::vector<reference::BoundTerm> (*)(const gpu::Problem&, const gpu::Numerics&,
                                                      reference::Element);
// Smaller or simpler cases, the boldest first. Every one is legal and strictly simpler by `weight`.
using Shrinks = std::vector<Case> (*)(const Case&);
// A random case for this kernel; `size` grows from 0 (smallest) to 100.
using Generate = Case (*)(const gpu::Kernel&, gpu::Backend, const rc::Random&, int size);

// A statement that needs no reference: a second case related to the first, and how their outputs must agree.
struct Law {
  std::string_view name;  // "edge_permutation"
  std::string_view statement;
  // The related problem; empty operands when the law does not apply to the case.
  gpu::Problem (*related)(const Case&, const gpu::Problem&);
  // From (first problem, its outputs, related problem, its outputs): empty, or what disagrees. Elements are
  // compared through their bounds, or bit for bit where the law is exact.
  std::string (*disagreement)(const Case&, const gpu::Numerics&, const gpu::Problem&,
                              const std::vector<std::vector<std::byte>>&, const gpu::Problem&,
                              const std::vector<std::vector<std::byte>>&);
};

struct Operation {
  std::string_view name;
  std::string_view summary;
  std::span<const Field> fields;  // fields every operation has come first (properties/fields.hpp)
  Validate validate;
  Materialise materialise;
  Evaluate evaluate;
  Exact exact;
  Explain explain;
  Shrinks shrinks;
  Generate generate;
  std::span<const Law> laws;
};

std::span<const Operation> operations();
const Operation* find_operation(std::string_view name);

}  // namespace halfulp::properties
