// Random cases of the operations on graphs.
#pragma once
#include "gpu/kernel.hpp"
#include "properties/case.hpp"

namespace rc {
class Random;
}

namespace halfulp::properties {

Case generate_graph_case(const gpu::Kernel& kernel, gpu::Backend backend, const rc::Random& random,
                         int size);

}  // namespace halfulp::properties
