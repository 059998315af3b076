// graph_attention, unfused: one thread an (edge, head) for scores and weights, one thread an
// element of an edge for the atomic additions, then a normalising pass. Weights and sums are fp32
// in workspaces; the numerator is `out` itself when that is fp32.
#include "gpu/kernels/access.hpp"
#include "gpu/kernels/graph_attention.hpp"
#include "gpu/kernels/launch.hpp"
#include "gpu/kernels/slices.hpp"

namespace halfulp::gpu::HALFULP_BUILD {

inline constexpr int kEdgeParallelBlock = 128;

// NaN stays NaN: fminf and fmaxf would swallow it.
__device__ inline float edge_parallel_clamp(float x) {
  if (x < -5.0f) return -5.0f;
  if (x > 5.0f) return 5.0f;
  return x;
}

struct EdgeParallelSums {
  float* weight = nullptr;       // (edges, heads)
  Tensor numerator;              // fp32 (nodes, heads, dim)
  float* denominator = nullptr;  // (nodes, heads)
};

// An element of a (rows, heads, dim) array from its row-major number.
struct EdgeParallelElement {
  std::int64_t row, head, d;
};
__device__ inline EdgeParallelElement edge_parallel_element(const GraphAttention& g,
                                                            std::int64_t index) {
  const std::int64_t outer = index / g.dim;
  return {outer / g.heads, outer % g.heads, index % g.dim};
}

__global__ void graph_attention_edge_parallel_zero_kernel(GraphAttention g, EdgeParallelSums sums) {
  const std::int64_t index = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (index >= g.nodes * g.heads * g.dim) return;
  const EdgeParallelElement at = edge_parallel_element(g, index);
  row_of<float>(sums.numerator, at.row, at.head)[at.d] = 0.0f;
  if (at.d == 0) sums.denominator[at.row * g.heads + at.head] = 0.0f;
}

template <class T>
__global__ void graph_attention_edge_parallel_score_kernel(GraphAttention g,
                                                           EdgeParallelSums sums) {
  const std::int64_t index = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (index >= g.edges * g.heads) return;
  const std::int64_t edge = index / g.heads;
  const std::int64_t head = index % g.heads;
  const T* query = row_of<const T>(g.q, g.destination[edge], head);
  const T* key = row_of<const T>(g.k, g.source[edge], head);
  const T* gate = row_of<const T>(g.e, edge, head);
  T* stored = row_of<T>(g.e_out, edge, head);
  float sum = 0.0f;
  for (std::int64_t d = 0; d < g.dim; ++d) {
    const float t = edge_parallel_clamp(to_float(key[d]) * to_float(query[d]) * g.scale);
    const float score = t * to_float(gate[d]);
    stored[d] = from_float<T>(score);
    sum += score;
  }
  sums.weight[index] = expf(edge_parallel_clamp(sum));
}

template <class T>
__global__ void graph_attention_edge_parallel_add_kernel(GraphAttention g, EdgeParallelSums sums) {
  const std::int64_t index = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (index >= g.edges * g.heads * g.dim) return;
  const EdgeParallelElement at = edge_parallel_element(g, index);
  const std::int64_t node = g.destination[at.row];
  const float weight = sums.weight[at.row * g.heads + at.head];
  const float value = to_float(row_of<const T>(g.v, g.source[at.row], at.head)[at.d]);
  atomicAdd(row_of<float>(sums.numerator, node, at.head) + at.d, weight * value);
  if (at.d == 0) atomicAdd(sums.denominator + node * g.heads + at.head, weight);
}

template <class T>
__global__ void graph_attention_edge_parallel_divide_kernel(GraphAttention g,
                                                            EdgeParallelSums sums) {
  const std::int64_t index = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (index >= g.nodes * g.heads * g.dim) return;
  const EdgeParallelElement at = edge_parallel_element(g, index);
  const float numerator = row_of<float>(sums.numerator, at.row, at.head)[at.d];
  const float denominator = sums.denominator[at.row * g.heads + at.head] + g.epsilon;
  row_of<T>(g.out, at.row, at.head)[at.d] = from_float<T>(numerator / denominator);
}

Status graph_attention_edge_parallel(const Arguments& arguments) {
  constexpr int kBlock = kEdgeParallelBlock;
  GraphAttention g;
  Launcher launcher(arguments, bind(arguments, g));
  const std::int64_t elements = g.nodes * g.heads * g.dim;
  if (elements == 0) return launcher.status();
  EdgeParallelSums sums;
  sums.weight = launcher.workspace<float>("weight", g.edges * g.heads);
  sums.denominator = launcher.workspace<float>("denominator", g.nodes * g.heads);
  sums.numerator = g.out;
  if (g.storage != Format::f32) {
    sums.numerator = {launcher.workspace<float>("numerator", elements), {g.heads * g.dim, g.dim}};
  }
  const std::int64_t node_blocks = launcher.blocks("out", elements, kBlock);
  const std::int64_t edge_blocks = launcher.blocks("e", g.edges * g.heads, kBlock);
  const std::int64_t element_blocks = launcher.blocks("e", g.edges * g.heads * g.dim, kBlock);
  with_storage(g.storage, [&]<class T>() {
    launcher.launch(graph_attention_edge_parallel_zero_kernel, node_blocks, kBlock, g, sums);
    launcher.launch(graph_attention_edge_parallel_score_kernel<T>, edge_blocks, kBlock, g, sums);
    launcher.launch(graph_attention_edge_parallel_add_kernel<T>, element_blocks, kBlock, g, sums);
    launcher.launch(graph_attention_edge_parallel_divide_kernel<T>, node_blocks, kBlock, g, sums);
  });
  return launcher.status();
}

}  // namespace halfulp::gpu::HALFULP_BUILD
