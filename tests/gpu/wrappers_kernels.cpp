// One host copy of the wrapper kernels; compiled plain and checked.
#include "tests/gpu/wrappers.cuh"

namespace halfulp::gpu::HALFULP_BUILD {

simt::Status launch(Wrapper wrapper, const unsigned* in, unsigned* out, std::size_t input_words,
                    void* stream) {
  return launch_wrapper(wrapper, in, out, input_words, stream);
}

}  // namespace halfulp::gpu::HALFULP_BUILD
