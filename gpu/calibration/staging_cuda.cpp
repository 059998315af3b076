// Calibration kernels on device 0, on its default stream.
#include <cuda_runtime.h>

#include <memory>

#include "gpu/calibration/staging.hpp"

namespace halfulp::gpu {

namespace {

class DeviceWords {
 public:
  explicit DeviceWords(std::size_t words) {
    error = cudaMalloc(&data_, 4 * (words > 0 ? words : 1));
  }
  ~DeviceWords() { cudaFree(data_); }
  DeviceWords(const DeviceWords&) = delete;
  DeviceWords& operator=(const DeviceWords&) = delete;
  std::uint32_t* data() const { return static_cast<std::uint32_t*>(data_); }

  cudaError_t error = cudaSuccess;

 private:
  void* data_ = nullptr;
};

}  // namespace

Words staged_on_cuda(const Inputs& inputs, std::size_t output_words, const StagedLaunch& launch) {
  std::vector<std::unique_ptr<DeviceWords>> held;
  std::vector<const std::uint32_t*> copies;
  const auto failed = [](cudaError_t error) { return Words{{}, cudaGetErrorString(error)}; };
  for (const auto& input : inputs) {
    held.push_back(std::make_unique<DeviceWords>(input.size()));
    if (held.back()->error != cudaSuccess) return failed(held.back()->error);
    const cudaError_t error =
        cudaMemcpy(held.back()->data(), input.data(), 4 * input.size(), cudaMemcpyHostToDevice);
    if (error != cudaSuccess) return failed(error);
    copies.push_back(held.back()->data());
  }
  DeviceWords output(output_words);
  if (output.error != cudaSuccess) return failed(output.error);
  const simt::Status status = launch(copies, output.data(), nullptr);
  if (!status.ok()) return {{}, status.text};
  Words result;
  result.values.resize(output_words);
  const cudaError_t error = cudaMemcpy(result.values.data(), output.data(), 4 * output_words,
                                       cudaMemcpyDeviceToHost);  // waits for the kernel
  if (error != cudaSuccess) return failed(error);
  return result;
}

}  // namespace halfulp::gpu
