// The three questions that a row of properties/ops puts to its reference, made from the one
// function that differs: how a problem and a declaration become the reference's description.
//
//   reference::VectorAdd translate(const gpu::Problem&, const gpu::Numerics&);
//   ... .evaluate = Truth<translate>::rows, .exact = Truth<translate>::exact, ...
#pragma once
#include <vector>

#include "gpu/numerics.hpp"
#include "gpu/problem.hpp"
#include "reference/answer.hpp"

namespace halfulp::properties {

// The reference's functions are found in its namespace, by the type that `translate` returns.
template <auto translate>
struct Truth {
  static void rows(const gpu::Problem& problem, const gpu::Numerics& numerics,
                   const reference::Sink& sink) {
    evaluate(translate(problem, numerics), sink);
  }
  // For an operation with a statistical bound.
  static void advisory_rows(const gpu::Problem& problem, const gpu::Numerics& numerics,
                            const reference::Sink& sink) {
    evaluate_advisory(translate(problem, numerics), sink);
  }
  static reference::ExactAnswers exact(const gpu::Problem& problem, const gpu::Numerics& numerics) {
    return exact_answers(translate(problem, numerics));
  }
  static std::vector<reference::BoundTerm> terms(const gpu::Problem& problem,
                                                 const gpu::Numerics& numerics,
                                                 reference::Element element) {
    return explain(translate(problem, numerics), element);
  }
};

}  // namespace halfulp::properties
