// Advice: how far a result that passed is beyond the statistical bound of its operation, which
// supposes that roundings are independent [B23]. It changes no verdict: a kernel may be beyond it
// and right, but one that often is has more error than rounding explains.
//
//   if (operation.advise != nullptr) found = advice(operation, numerics, problem, results);
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "gpu/backend.hpp"
#include "properties/operation.hpp"

namespace halfulp::properties {

struct Advice {
  std::int64_t elements = 0;  // compared; 0: nobody looked
  std::int64_t beyond = 0;    // of them, with an error above the statistical bound
  double worst = 0;           // the largest error over that bound
  std::string where;          // the element that has it: "c[1,17]"
};

// Every distinct result of one call.
Advice advice(const Operation& operation, const gpu::Numerics& numerics,
              const gpu::Problem& problem, const std::vector<gpu::Outputs>& results);

// "3 of 900 elements beyond the statistical bound, the worst 1.24 times it at c[1,17]"
std::string text(const Advice& advice);

}  // namespace halfulp::properties
