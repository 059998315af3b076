// matmul by cuBLAS: its own choice of algorithm, fp32 sums that are never reduced in 16 bits. For
// cuda alone.
//
// cuBLAS is told of columns where C has rows: C^T = B^T A^T. A matrix with neither rows nor columns
// contiguous, or that repeats itself, is packed into a workspace first.
#include "gpu/cuda_cublas.cuh"
#include "gpu/kernels/launch.hpp"
#include "gpu/kernels/matmul.hpp"

namespace halfulp::gpu::HALFULP_BUILD {
namespace {

constexpr std::int64_t kCublasWorkspaceBytes = std::int64_t{32} << 20;
constexpr int kCublasPackBlock = 256;  // threads

// What cuBLAS is told of a matrix stored row by row, which it takes for its transpose.
struct CublasOperand {
  const void* data = nullptr;
  cublasOperation_t operation = CUBLAS_OP_N;
  std::int64_t leading = 1;
};

template <class Word>
__global__ void matmul_cublas_pack_kernel(Matrix from, std::int64_t rows, std::int64_t columns,
                                          Word* to) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < rows * columns; i += step) {
    const std::int64_t at = i / columns * from.stride[0] + i % columns * from.stride[1];
    to[i] = static_cast<const Word*>(from.data)[at];
  }
}

template <class Word>
CublasOperand packed(Launcher& launcher, std::string_view name, const Matrix& matrix,
                     std::int64_t rows, std::int64_t columns) {
  Word* to = launcher.workspace<Word>(name, rows * columns);
  const std::int64_t blocks = launcher.blocks_striding(rows * columns, kCublasPackBlock);
  launcher.launch(matmul_cublas_pack_kernel<Word>, blocks, kCublasPackBlock, matrix, rows, columns,
                  to);
  return {to, CUBLAS_OP_N, columns};
}

CublasOperand operand(Launcher& launcher, std::string_view name, Format storage,
                      const Matrix& matrix, std::int64_t rows, std::int64_t columns) {
  const bool one_row = rows == 1;
  const bool one_column = columns == 1;
  const std::int64_t down = matrix.stride[0];
  const std::int64_t along = matrix.stride[1];
  if ((one_column || along == 1) && (one_row || down >= columns)) {
    return {matrix.data, CUBLAS_OP_N, one_row ? columns : down};
  }
  if ((one_row || down == 1) && (one_column || along >= rows)) {
    return {matrix.data, CUBLAS_OP_T, one_column ? rows : along};
  }
  if (size_bytes(storage) == 2) {
    return packed<std::uint16_t>(launcher, name, matrix, rows, columns);
  }
  return packed<std::uint32_t>(launcher, name, matrix, rows, columns);
}

struct CublasFormat {
  cudaDataType_t storage = CUDA_R_32F;
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
};
CublasFormat cublas_format(Format storage) {
  if (storage == Format::f16) return {CUDA_R_16F, CUBLAS_COMPUTE_32F};
  if (storage == Format::bf16) return {CUDA_R_16BF, CUBLAS_COMPUTE_32F};
  if (storage == Format::tf32) return {CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32};
  return {CUDA_R_32F, CUBLAS_COMPUTE_32F_PEDANTIC};
}

std::int64_t leading_of(const Matmul& g) { return g.m == 1 ? g.n : g.c.stride[0]; }

// K = 0.
std::string clear(const Matmul& g, cudaStream_t stream) {
  const auto element = static_cast<std::size_t>(size_bytes(g.storage));  // c has a's size
  const cudaError_t error = cudaMemset2DAsync(
      g.c.data, static_cast<std::size_t>(leading_of(g)) * element, 0,
      static_cast<std::size_t>(g.n) * element, static_cast<std::size_t>(g.m), stream);
  return error == cudaSuccess ? std::string() : cudaGetErrorString(error);
}

std::string multiply(const Cublas& library, const Matmul& g, const CublasOperand& a,
                     const CublasOperand& b, void* workspace, cudaStream_t stream) {
  const CublasFormat format = cublas_format(g.storage);
  constexpr auto kMath = static_cast<cublasMath_t>(
      CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION);
  const float alpha = 1.0f;
  const float beta = 0.0f;
  // A new stream takes the workspace away: the order matters.
  std::string error = library.error("cublasSetStream", library.set_stream(library.handle, stream));
  if (!error.empty()) return error;
  error = library.error("cublasSetWorkspace",
                        library.set_workspace(library.handle, workspace,
                                              static_cast<std::size_t>(kCublasWorkspaceBytes)));
  if (!error.empty()) return error;
  error = library.error("cublasSetMathMode", library.set_math_mode(library.handle, kMath));
  if (!error.empty()) return error;
  return library.error("cublasGemmEx",
                       library.multiply(library.handle, b.operation, a.operation, g.n, g.m, g.k,
                                        &alpha, b.data, format.storage, b.leading, a.data,
                                        format.storage, a.leading, &beta, g.c.data, format.storage,
                                        leading_of(g), format.compute, CUBLAS_GEMM_DEFAULT));
}

}  // namespace

Status matmul_cublas(const Arguments& arguments) {
  Matmul g;
  Launcher launcher(arguments, bind(arguments, g));
  Status status = launcher.status();
  if (!status.ok() || g.m == 0 || g.n == 0) return status;
  auto* stream = static_cast<cudaStream_t>(arguments.stream);
  if (g.k == 0) {
    status.launch_error = clear(g, stream);
    return status;
  }
  const Cublas& library = cublas();
  if (!library.missing.empty()) launcher.refuse("cublas", library.missing);
  auto* workspace = launcher.workspace<std::byte>("cublas", kCublasWorkspaceBytes);
  const CublasOperand a = operand(launcher, "a packed", g.storage, g.a, g.m, g.k);
  const CublasOperand b = operand(launcher, "b packed", g.storage, g.b, g.k, g.n);
  status = launcher.status();
  if (status.ok()) status.launch_error = multiply(library, g, a, b, workspace, stream);
  return status;
}

}  // namespace halfulp::gpu::HALFULP_BUILD
