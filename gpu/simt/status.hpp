// What a launch reports to the code that asked for it, the same under nvcc and g++.
#pragma once
#include <string>

namespace halfulp::gpu::simt {

struct Status {
  std::string text;  // empty: launched
  bool ok() const { return text.empty(); }
};

}  // namespace halfulp::gpu::simt
