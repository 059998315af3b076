// Two products of widened operands on device 0, on its default stream; see product_in_double.hpp.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <vector>

#include "gpu/backend.hpp"
#include "gpu/cuda_cublas.cuh"
#include "gpu/product_in_double.hpp"

namespace halfulp::gpu {

namespace {

constexpr int kBlock = 256;                  // threads
constexpr std::int64_t kStreamed = 1 << 22;  // elements that are brought back at a time
constexpr std::int64_t kBlocksMost = 1 << 16;

// Blocks of a kernel that walks over `count` elements.
unsigned blocks(std::int64_t count) {
  return static_cast<unsigned>(
      std::clamp<std::int64_t>((count + kBlock - 1) / kBlock, 1, kBlocksMost));
}

__device__ double widened(__half x) { return __half2float(x); }
__device__ double widened(__nv_bfloat16 x) { return __bfloat162float(x); }
__device__ double widened(float x) { return x; }

// Row by row, without gaps.
template <class Number>
__global__ void widen(const Number* from, std::int64_t down, std::int64_t along, std::int64_t count,
                      std::int64_t columns, double* to) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += step) {
    to[i] = widened(from[i / columns * down + i % columns * along]);
  }
}

__global__ void drop_signs(double* x, std::int64_t count) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += step) {
    x[i] = fabs(x[i]);
  }
}

// Device memory, and what went wrong first.
class Product {
 public:
  explicit Product(const Problem& problem)
      : m_(problem.operand("a").extent[0]),
        n_(problem.operand("b").extent[1]),
        k_(problem.operand("a").extent[1]) {
    widen_operand(problem.operand("a"), a_);
    widen_operand(problem.operand("b"), b_);
    value_ = allocate<double>(m_ * n_);
    magnitude_ = allocate<double>(m_ * n_);
  }
  ~Product() {
    for (void* memory : held_) cudaFree(memory);
    cudaGetLastError();  // such as a lack of memory, which nobody else is to find
  }
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;

  void compute(const Cublas& library) {
    multiply(library, value_);
    if (!error_.empty()) return;
    drop_signs<<<blocks(m_ * k_), kBlock>>>(a_, m_ * k_);
    drop_signs<<<blocks(k_ * n_), kBlock>>>(b_, k_ * n_);
    multiply(library, magnitude_);
    if (error_.empty()) note(cudaDeviceSynchronize());
  }

  void stream(const RowsInDoubleSink& sink) {
    const std::int64_t most = std::clamp<std::int64_t>(kStreamed / n_, 1, m_);
    std::vector<double> value(static_cast<std::size_t>(most * n_)), magnitude(value.size());
    for (std::int64_t first = 0; first < m_ && error_.empty(); first += most) {
      const auto count = static_cast<std::size_t>(std::min(most, m_ - first) * n_);
      bring(value_ + first * n_, count, value);
      bring(magnitude_ + first * n_, count, magnitude);
      if (error_.empty()) {
        sink({first, std::span(value).first(count), std::span(magnitude).first(count)});
      }
    }
  }

  const std::string& error() const { return error_; }

 private:
  void note(cudaError_t status) {
    if (status != cudaSuccess && error_.empty()) error_ = cudaGetErrorString(status);
  }

  template <class Number>
  Number* allocate(std::int64_t count) {
    void* memory = nullptr;
    if (error_.empty())
      note(cudaMalloc(&memory, sizeof(Number) * std::max<std::int64_t>(count, 1)));
    if (memory != nullptr) held_.push_back(memory);
    return static_cast<Number*>(memory);
  }

  void widen_operand(const Operand& operand, double*& to) {
    to = allocate<double>(operand.count());
    auto* stored = allocate<std::byte>(static_cast<std::int64_t>(operand.storage.size()));
    if (!error_.empty() || operand.count() == 0) return;
    note(
        cudaMemcpy(stored, operand.storage.data(), operand.storage.size(), cudaMemcpyHostToDevice));
    const auto launch = [&]<class Number>(const Number* from) {
      widen<<<blocks(operand.count()), kBlock>>>(from, operand.stride[0], operand.stride[1],
                                                 operand.count(), operand.extent[1], to);
    };
    if (operand.format == Format::f16) {
      launch(reinterpret_cast<const __half*>(stored));
    } else if (operand.format == Format::bf16) {
      launch(reinterpret_cast<const __nv_bfloat16*>(stored));
    } else {
      launch(reinterpret_cast<const float*>(stored));
    }
    note(cudaGetLastError());
  }

  // cuBLAS is told of columns where these matrices have rows: C^T = B^T A^T.
  void multiply(const Cublas& library, double* to) {
    if (!error_.empty()) return;
    const double alpha = 1, beta = 0;
    // A new stream gives the handle its own workspace back.
    error_ = library.error("cublasSetStream", library.set_stream(library.handle, nullptr));
    if (!error_.empty()) return;
    error_ = library.error(
        "cublasGemmEx",
        library.multiply(library.handle, CUBLAS_OP_N, CUBLAS_OP_N, n_, m_, k_, &alpha, b_,
                         CUDA_R_64F, n_, a_, CUDA_R_64F, std::max<std::int64_t>(k_, 1), &beta, to,
                         CUDA_R_64F, n_, CUBLAS_COMPUTE_64F_PEDANTIC, CUBLAS_GEMM_DEFAULT));
  }

  void bring(const double* from, std::size_t count, std::vector<double>& to) {
    if (!error_.empty()) return;
    note(cudaMemcpy(to.data(), from, count * sizeof(double), cudaMemcpyDeviceToHost));
  }

  std::int64_t m_, n_, k_;
  std::string error_;
  std::vector<void*> held_;
  double *a_ = nullptr, *b_ = nullptr, *value_ = nullptr, *magnitude_ = nullptr;
};

}  // namespace

std::string product_in_double(const Problem& problem, const RowsInDoubleSink& sink) {
  if (std::string reason = unavailable_reason(Backend::cuda); !reason.empty()) return reason;
  const Cublas& library = cublas();
  if (!library.missing.empty()) return library.missing;
  if (problem.operand("a").extent[0] == 0 || problem.operand("b").extent[1] == 0) return {};
  Product product(problem);
  if (product.error().empty()) product.compute(library);
  if (product.error().empty()) product.stream(sink);
  return product.error();
}

}  // namespace halfulp::gpu
