// In builds without nvcc there is no GPU side to compare with.
#include "tests/gpu/wrappers.hpp"

namespace halfulp::gpu::wrappers {

std::string gpu_unavailable() { return "built without nvcc"; }
int gpu_compute_capability() { return 0; }
Result run_on_gpu(Wrapper, std::span<const std::uint32_t>) { return {{}, gpu_unavailable()}; }

}  // namespace halfulp::gpu::wrappers
