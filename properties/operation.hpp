// An operation as the pipeline sees it: one row of a table. Everything that differs between
// operations is behind these functions; nothing else in properties/ names one.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/backend.hpp"
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
// The truth of single elements, tight. Reads the problem's arrays and keeps what neighbours share:
// make it once a problem, and ask in the order of the elements.
using Exact = reference::ExactAnswers (*)(const gpu::Problem&, const gpu::Numerics&);
using Explain = std::vector<reference::BoundTerm> (*)(const gpu::Problem&, const gpu::Numerics&,
                                                      reference::Element);
// Smaller or simpler cases, the boldest first. Every one is legal and strictly simpler by `weight`.
using Shrinks = std::vector<Case> (*)(const Case&);
// What shrinking makes smaller, compared from the first number on: sizes, then the complexity of
// the rest.
using Weight = std::vector<std::uint64_t> (*)(const Case&);
// A random case for this kernel; `size` grows from 0 (smallest) to 100.
using Generate = Case (*)(const gpu::Kernel&, gpu::Backend, const rc::Random&, int size);

// A second problem and how its outputs must correspond to the first one's. One row of `outputs` for
// each output operand, in the operation's order.
struct Relation {
  struct Output {
    // For each element of the first output (row-major, logical): its place in the related output,
    // or -1 where the law says nothing. Empty: the same place everywhere.
    std::vector<std::int64_t> place;
    int exponent = 0;      // related == first * 2^exponent
    bool negated = false;  // related == -first * 2^exponent
    // Not empty: the law says what the related output is, whatever the first one was. One number
    // for each of its elements, which a right kernel gives exactly; NaN where nothing is said.
    std::vector<double> value{};
    // Such a number is the truth of the related problem: its bound says how near a kernel comes.
    bool within_bound = false;
  };
  gpu::Problem problem;  // no operands: the law does not apply to this case
  std::vector<Output> outputs;
  bool bit_for_bit = false;  // for repeatable kernels: same shapes, layouts and order of every sum
  bool applies() const { return !problem.operands.empty(); }
};

// A statement that needs no reference: outputs of related problems agree. properties/law.hpp
// compares them.
struct Law {
  std::string_view name;  // "edge_permutation"; `law=edge_permutation` in a case line checks it
  std::string_view statement;
  Relation (*relate)(const Case&, const gpu::Problem&);
};

// What a wrong element may have to do with how the kernel divides the work: lines for the report.
// `outputs` are those that it was found in.
using Diagnose = std::vector<std::string> (*)(const gpu::Problem&, const gpu::Numerics&,
                                              const gpu::Outputs&, reference::Element);

// Streams what Evaluate does, sooner, for a case whose sums are exact: what the outputs hold where
// that is right for certain, and the answer of the rest. false, with nothing streamed: Evaluate is
// to be asked. `results` are the distinct outputs of one call.
using ExactCheck = bool (*)(const Case&, const gpu::Problem&, const gpu::Numerics&,
                            std::span<const gpu::Outputs> results, const reference::Sink&);

// Streams what Evaluate does with a looser bound, for a case whose truth takes longer than anyone
// waits: each element once, or nothing, and Evaluate is to be asked. `note` says which elements
// were judged how, or why none was; empty: the case is none for this.
struct OuterCheck {
  bool streamed = false;
  std::string note;
};
using Outer = OuterCheck (*)(const Case&, const gpu::Problem&, const gpu::Numerics&,
                             const reference::Sink&);

// Why a case takes its backend longer than anyone waits, by its sizes alone, so that it is so on
// every machine; empty: it does not. Such a case is skipped.
using Unsuitable = std::string (*)(const Case&);

struct Operation {
  std::string_view name;
  std::string_view summary;
  std::span<const Field> fields;  // its own and those every operation has (properties/fields.hpp)
  Validate validate;
  Materialise materialise;
  Evaluate evaluate;
  Exact exact;
  Explain explain;
  Shrinks shrinks;
  Weight weight;
  Generate generate;
  std::span<const Law> laws;
  Diagnose diagnose = nullptr;      // optional
  Unsuitable unsuitable = nullptr;  // optional
  // The same truth with a statistical bound, for advice (properties/advice.hpp). Optional.
  Evaluate advise = nullptr;
  ExactCheck exact_check = nullptr;  // optional
  Outer outer = nullptr;             // optional
  // Cases with the same text have the same problem but for its settings, whatever the kernel
  // (properties/kept_problem.hpp). Optional.
  std::string (*inputs_key)(const Case&) = nullptr;
};

std::span<const Operation> operations();
const Operation* find_operation(std::string_view name);

}  // namespace halfulp::properties
