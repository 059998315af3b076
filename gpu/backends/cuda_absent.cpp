// Stands in for the cuda backend where nvcc was not found at build time.
#include "gpu/assert.hpp"
#include "gpu/backends/cuda.hpp"

namespace halfulp::gpu {

std::string cuda_unavailable_reason() {
  return "built without nvcc; configure again with a CUDA toolkit on the PATH";
}
std::string cuda_device_name() { return {}; }
TensorCore cuda_tensor_core() { return {}; }
Outcome cuda_run(EntryPoint, const Problem&) {
  HALFULP_GPU_ASSERT(!"the cuda backend is present");
  return {};
}
std::vector<Timing> cuda_time(std::span<const EntryCall>, const Problem&, int) {
  HALFULP_GPU_ASSERT(!"the cuda backend is present");
  return {};
}
double cuda_copy_bandwidth(std::int64_t) { return 0; }

}  // namespace halfulp::gpu
