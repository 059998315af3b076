// matmul judged by sums that somebody else took in fp64: a quick look at products that are too
// large to be computed here.
//
//   MatmulGiven given(op);
//   for (...) given.evaluate_row(i, value, magnitude, sink);
//
// What the sums may be off by is part of the error, and the bound holds for any order of the
// kernel's sums, so both are at least those of evaluate(). [B28]
#pragma once
#include <span>
#include <vector>

#include "reference/ops/matmul_bound.hpp"

namespace halfulp::reference {

class MatmulGiven {
 public:
  // Operands of at most 24 bits. Their arrays must outlive it; reads them once.
  explicit MatmulGiven(const Matmul& op);

  // Row i of a b and of |a| |b|, n elements each: sums in IEEE fp64 to nearest, in any order or
  // tree, fused with their products or not.
  void evaluate_row(std::int64_t i, std::span<const double> value,
                    std::span<const double> magnitude, const Sink& sink);

 private:
  MatmulAnswer answer(std::int64_t i, std::int64_t j, double value, double magnitude) const;

  Matmul op_;
  MatmulModel model_;
  std::vector<Line> rows_, columns_;
  std::vector<double> value_, error_, bound_;
};

}  // namespace halfulp::reference
