// The problem of the last case, kept for the next one where that has the same inputs: files of
// cases name one problem for kernel after kernel, and making millions of numbers takes longer than
// a device takes to multiply them.
//
//   KeptProblem kept;
//   const gpu::Problem& problem = kept.problem(operation, c);   // until the next call
//
// Not for kernels that could write over it: those of the host backends share its memory.
#pragma once
#include <cstdint>
#include <string>

#include "properties/operation.hpp"

namespace halfulp::properties {

class KeptProblem {
 public:
  const gpu::Problem& problem(const Operation& operation, const Case& c);
  void forget();
  std::int64_t made() const { return made_; }  // problems that were not kept

 private:
  std::string key_;
  gpu::Problem problem_;
  std::int64_t made_ = 0;
};

}  // namespace halfulp::properties
