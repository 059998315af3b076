// Arguments of vector_add.
#include "gpu/kernels/vector_add.hpp"

namespace halfulp::gpu {

std::string bind(const Arguments& arguments, VectorAdd& v) {
  Binding binding(arguments);
  v.storage = binding.storage("x");
  v.n = binding.extent("x", 0);
  v.x = binding.floats("x", {v.n});
  v.y = binding.floats("y", {v.n});
  v.z = binding.floats("z", {v.n});
  return binding.finish();
}

}  // namespace halfulp::gpu
