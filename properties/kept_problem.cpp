// One problem and what it was made from; see kept_problem.hpp.
#include "properties/kept_problem.hpp"

#include "properties/parameters.hpp"

namespace halfulp::properties {

const gpu::Problem& KeptProblem::problem(const Operation& operation, const Case& c) {
  const std::string key = operation.inputs_key == nullptr
                              ? std::string()
                              : std::string(operation.name) + " " + operation.inputs_key(c);
  if (!key.empty() && key == key_) {
    problem_.settings = settings(c);
    return problem_;
  }
  forget();  // before the next one needs its memory
  problem_ = operation.materialise(c);
  key_ = key;
  ++made_;
  return problem_;
}

void KeptProblem::forget() {
  key_.clear();
  problem_ = {};
}

}  // namespace halfulp::properties
