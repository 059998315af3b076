// Memory for one launch of a calibration kernel: inputs copied to where it runs, the output back.
#pragma once
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "gpu/calibration.hpp"
#include "gpu/simt/status.hpp"

namespace halfulp::gpu {

using Inputs = std::vector<std::span<const std::uint32_t>>;
// Launches on the inputs' copies.
using StagedLaunch = std::function<simt::Status(const std::vector<const std::uint32_t*>& inputs,
                                                std::uint32_t* output, void* stream)>;

Words staged_on_host(const TensorCore& model, const Inputs& inputs, std::size_t output_words,
                     const StagedLaunch& launch);
Words staged_on_cuda(const Inputs& inputs, std::size_t output_words, const StagedLaunch& launch);

}  // namespace halfulp::gpu
