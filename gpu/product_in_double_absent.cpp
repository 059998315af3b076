// Stands in where nvcc or cuBLAS was not found at build time.
#include "gpu/product_in_double.hpp"

namespace halfulp::gpu {

std::string product_in_double(const Problem&, const RowsInDoubleSink&) {
  return "built without nvcc or without cuBLAS";
}

}  // namespace halfulp::gpu
