// Runs the wrapper kernels on the host executor.
#include "gpu/assert.hpp"
#include "gpu/simt/session.hpp"
#include "gpu/simt/status.hpp"
#include "tests/gpu/wrappers.hpp"

namespace halfulp::gpu {
namespace wrappers_plain {
simt::Status launch(wrappers::Wrapper, const unsigned*, unsigned*, std::size_t, void*);
}
namespace wrappers_checked {
simt::Status launch(wrappers::Wrapper, const unsigned*, unsigned*, std::size_t, void*);
}

namespace wrappers {
namespace {

simt::TensorCore model_of(TensorCores model) {
  switch (model) {
    case TensorCores::rounded:
      return simt::kTensorCoreRounded;
    case TensorCores::ampere:
      return simt::kTensorCoreAmpere;
    case TensorCores::hopper:
      return simt::kTensorCoreHopper;
  }
  return {};
}

}  // namespace

const char* name(Wrapper wrapper) {
  static constexpr const char* kNames[] = {"ldmatrix_x1",       "ldmatrix_x2",
                                           "ldmatrix_x4",       "ldmatrix_x1_trans",
                                           "ldmatrix_x2_trans", "ldmatrix_x4_trans",
                                           "mma_m16n8k16_f16",  "mma_m16n8k16_bf16",
                                           "mma_m16n8k8_tf32",  "cp_async_16",
                                           "cp_async_8",        "cp_async_4",
                                           "shuffles",          "votes",
                                           "atomics",           "atomics_16_bit",
                                           "vectors",           "conversions"};
  return kNames[static_cast<std::size_t>(wrapper)];
}

Sizes sizes(Wrapper wrapper, std::size_t input_words) {
  switch (wrapper) {
    case Wrapper::mma_m16n8k16_f16:
    case Wrapper::mma_m16n8k16_bf16:
    case Wrapper::mma_m16n8k8_tf32:
      return {320, 128};
    case Wrapper::cp_async_16:
    case Wrapper::cp_async_8:
    case Wrapper::cp_async_4:
      return {160, 128};
    case Wrapper::shuffles:
      return {32, 384};
    case Wrapper::votes:
      return {32, 256};
    case Wrapper::atomics:
      return {64, 512};
    case Wrapper::atomics_16_bit:
      return {64, 256};
    case Wrapper::vectors:
      return {128, 192};
    case Wrapper::conversions:
      return {input_words, 4 * input_words};
    default:
      return {128, 128};
  }
}

Result run_on_host(Wrapper wrapper, std::span<const std::uint32_t> input, TensorCores model,
                   bool checked) {
  const Sizes words = sizes(wrapper, input.size());
  HALFULP_GPU_ASSERT(input.size() == words.input);
  // 16-byte aligned, with gaps at both ends.
  constexpr std::size_t kGap = 64;
  struct alignas(16) Four {
    std::uint32_t word[4];
  };
  std::vector<Four> in((input.size() + 3) / 4 + kGap);
  std::vector<Four> out((words.output + 3) / 4 + kGap);
  std::uint32_t* in_data = in[kGap / 2].word;
  std::uint32_t* out_data = out[kGap / 2].word;
  std::copy(input.begin(), input.end(), in_data);
  std::fill(out_data, out_data + words.output, 0xddddddddu);
  simt::Config config;
  config.checked = checked;
  config.tensor_core = model_of(model);
  simt::Session session(config);
  session.watch(in_data, 4 * words.input, "in", simt::Contents::read_only, 4);
  session.watch(out_data, 4 * words.output, "out", simt::Contents::uninitialised, 4);
  const simt::Status status =
      checked ? wrappers_checked::launch(wrapper, in_data, out_data, input.size(), session.stream())
              : wrappers_plain::launch(wrapper, in_data, out_data, input.size(), session.stream());
  return {{out_data, out_data + words.output}, status.text};
}

}  // namespace wrappers
}  // namespace halfulp::gpu
