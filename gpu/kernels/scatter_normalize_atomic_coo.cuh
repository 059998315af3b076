// scatter_normalize, one thread an element of an edge: atomic additions into a zeroed numerator and
// denominator, then a normalising pass. Sums are fp32 whatever the storage: in `out` itself when
// that is fp32, in a workspace otherwise.
#include "gpu/kernels/access.hpp"
#include "gpu/kernels/launch.hpp"
#include "gpu/kernels/scatter_normalize.hpp"
#include "gpu/kernels/slices.hpp"

namespace halfulp::gpu::HALFULP_BUILD {

inline constexpr int kScatterAtomicCooBlock = 128;

struct ScatterSums {
  Tensor numerator;              // fp32 (nodes, heads, dim)
  float* denominator = nullptr;  // (nodes, heads)
};

// An element of a (rows, heads, dim) array from its row-major number.
struct ScatterElement {
  std::int64_t row, head, d;
};
__device__ inline ScatterElement scatter_element(const ScatterNormalize& s, std::int64_t index) {
  const std::int64_t outer = index / s.dim;
  return {outer / s.heads, outer % s.heads, index % s.dim};
}

__global__ void scatter_normalize_atomic_coo_zero_kernel(ScatterNormalize s, ScatterSums sums) {
  const std::int64_t index = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (index >= s.nodes * s.heads * s.dim) return;
  const ScatterElement at = scatter_element(s, index);
  row_of<float>(sums.numerator, at.row, at.head)[at.d] = 0.0f;
  if (at.d == 0) sums.denominator[at.row * s.heads + at.head] = 0.0f;
}

template <class T>
__global__ void scatter_normalize_atomic_coo_kernel(ScatterNormalize s, ScatterSums sums) {
  const std::int64_t index = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (index >= s.edges * s.heads * s.dim) return;
  const ScatterElement at = scatter_element(s, index);
  const std::int64_t node = s.destination[at.row];
  const float value = to_float(row_of<const T>(s.values, at.row, at.head)[at.d]);
  atomicAdd(row_of<float>(sums.numerator, node, at.head) + at.d, value);
  if (at.d == 0) {
    const float score = to_float(row_of<const T>(s.scores, at.row, 0)[at.head]);
    atomicAdd(sums.denominator + node * s.heads + at.head, score);
  }
}

template <class T>
__global__ void scatter_normalize_atomic_coo_divide_kernel(ScatterNormalize s, ScatterSums sums) {
  const std::int64_t index = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (index >= s.nodes * s.heads * s.dim) return;
  const ScatterElement at = scatter_element(s, index);
  const float numerator = row_of<float>(sums.numerator, at.row, at.head)[at.d];
  const float denominator = sums.denominator[at.row * s.heads + at.head] + s.epsilon;
  row_of<T>(s.out, at.row, at.head)[at.d] = from_float<T>(numerator / denominator);
}

Status scatter_normalize_atomic_coo(const Arguments& arguments) {
  constexpr int kBlock = kScatterAtomicCooBlock;
  ScatterNormalize s;
  Launcher launcher(arguments, bind(arguments, s));
  const std::int64_t elements = s.nodes * s.heads * s.dim;
  if (elements == 0) return launcher.status();
  ScatterSums sums{s.out, launcher.workspace<float>("denominator", s.nodes * s.heads)};
  if (s.storage != Format::f32) {
    sums.numerator = {launcher.workspace<float>("numerator", elements), {s.heads * s.dim, s.dim}};
  }
  const std::int64_t node_blocks = launcher.blocks("out", elements, kBlock);
  const std::int64_t edge_blocks = launcher.blocks("values", s.edges * s.heads * s.dim, kBlock);
  with_storage(s.storage, [&]<class T>() {
    launcher.launch(scatter_normalize_atomic_coo_zero_kernel, node_blocks, kBlock, s, sums);
    launcher.launch(scatter_normalize_atomic_coo_kernel<T>, edge_blocks, kBlock, s, sums);
    launcher.launch(scatter_normalize_atomic_coo_divide_kernel<T>, node_blocks, kBlock, s, sums);
  });
  return launcher.status();
}

}  // namespace halfulp::gpu::HALFULP_BUILD
