// Calls entry points on operands whose rows lie far apart, below the backends, which would copy all
// that lies between.
//
//   const Problem problem = matmul(...);                       // contiguous, as all these here
//   WideResult wide = call_on_host(entry, false, problem, layouts);
//   WideResult near = call_on_host(entry, false, problem, near_layouts);
//   EXPECT_EQ(first_difference(problem, wide, near), "");
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "gpu/backend.hpp"
#include "tests/gpu/wide_layout.hpp"
#include "tests/gpu/wide_memory.hpp"

namespace halfulp::gpu::test {

struct WideResult {
  std::string wrong = {};      // what went wrong with the call, or empty
  std::string no_memory = {};  // why it was not made, or empty
  Outputs outputs = {};        // row-major, without gaps
};

// The operands of a problem in memory: inputs as given, outputs all bits set.
class WideOperands {
 public:
  // The problem is contiguous, in row-major order; a layout for each of its operands.
  WideOperands(WideMemory& memory, const Problem& problem, std::span<const WideLayout> layouts);
  ~WideOperands() { memory_.clear(); }
  WideOperands(const WideOperands&) = delete;
  WideOperands& operator=(const WideOperands&) = delete;

  std::span<const Argument> arguments() const { return arguments_; }  // empty: no memory
  Outputs outputs() const;

 private:
  void write(const Argument& argument, const std::vector<std::byte>& elements);

  WideMemory& memory_;
  std::vector<Operand> operands_;
  std::vector<Argument> arguments_;
};

// On the host executor, which in a checked call (entry points of host-checked) watches every run of
// elements apart, so that an access to a gap is a fault.
WideResult call_on_host(EntryPoint entry, bool checked, const Problem& problem,
                        std::span<const WideLayout> layouts);

// On device 0, on a stream of its own, with operands in `memory`.
WideResult call_on_device(EntryPoint entry, const Problem& problem,
                          std::span<const WideLayout> layouts, WideMemory& memory);
// The same with operands that are there already; what went wrong, or empty.
std::string launch_on_device(EntryPoint entry, const Problem& problem,
                             std::span<const Argument> operands);

// Empty: both have the same bits, and wrote all; otherwise what is wrong or the first element that
// differs.
std::string first_difference(const Problem& problem, const WideResult& wide,
                             const WideResult& near);

}  // namespace halfulp::gpu::test
