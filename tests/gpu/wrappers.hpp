// One small kernel for each wrapper of gpu/simt/simt.cuh, run on the host executor or on a GPU:
// words in, words out. What the words mean is said at each kernel in wrappers.cuh.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace halfulp::gpu::wrappers {

enum class Wrapper : std::uint8_t {
  ldmatrix_x1,
  ldmatrix_x2,
  ldmatrix_x4,
  ldmatrix_x1_trans,
  ldmatrix_x2_trans,
  ldmatrix_x4_trans,
  mma_m16n8k16_f16,
  mma_m16n8k16_bf16,
  mma_m16n8k8_tf32,
  cp_async_16,
  cp_async_8,
  cp_async_4,
  shuffles,
  votes,
  atomics,
  atomics_16_bit,
  vectors,
  conversions,
};
const char* name(Wrapper wrapper);

// Inputs and outputs have this many words (conversions: any number of inputs, four outputs for
// each).
struct Sizes {
  std::size_t input, output;
};
Sizes sizes(Wrapper wrapper, std::size_t input_words);

struct Result {
  std::vector<std::uint32_t> output;  // words that the kernel does not write are 0xdddddddd
  std::string error;                  // empty: ran
};
enum class TensorCores : std::uint8_t { rounded, ampere, hopper };
Result run_on_host(Wrapper wrapper, std::span<const std::uint32_t> input,
                   TensorCores model = TensorCores::rounded, bool checked = false);

// Empty when a GPU is there, otherwise why there is none.
std::string gpu_unavailable();
int gpu_compute_capability();  // 90 for sm_90
Result run_on_gpu(Wrapper wrapper, std::span<const std::uint32_t> input);

}  // namespace halfulp::gpu::wrappers
