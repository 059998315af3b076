// graph_attention, fused: one warp a (node, head). As fused_csc, but the warp's slots are added by
// exchange between lanes: no shared memory and no barrier.
#include "gpu/kernels/graph_attention.hpp"
#include "gpu/kernels/launch.hpp"
#include "gpu/kernels/slices.hpp"

namespace halfulp::gpu::HALFULP_BUILD {

inline constexpr int kFusedCscWarpBlock = 128;
// Resident blocks a multiprocessor to leave registers for; measured on an H200.
template <class T, bool kVector>
inline constexpr int kFusedCscWarpResident = !kVector         ? 4
                                             : sizeof(T) == 4 ? 12
                                                              : 8;
inline constexpr int kFusedCscWarps = kFusedCscWarpBlock / 32;

// NaN stays NaN: fminf and fmaxf would swallow it.
__device__ inline float fused_csc_warp_clamp(float x) {
  if (x < -5.0f) return -5.0f;
  if (x > 5.0f) return 5.0f;
  return x;
}

__device__ inline Edge fused_csc_warp_edge(const GraphAttention& g, std::int32_t position,
                                           bool valid) {
  Edge edge;
  edge.valid = valid;
  if (valid) edge.id = g.edge_id[position];
  if (valid) edge.source = g.column_source[position];
  return edge;
}

// Scores one edge and stores the scores at its physical id; returns this lane's part of the logit.
// `query` holds the first slice, and stays so unless the row has more than one.
template <class T, bool kVector>
__device__ inline float fused_csc_warp_score(const GraphAttention& g, std::int64_t node,
                                             std::int64_t head, const Edge& edge, Slice part,
                                             bool store, float (&query)[kPack<T>]) {
  float sum = 0.0f;
  do {
    float key[kPack<T>];
    float score[kPack<T>];
    load_slice<kVector>(row_of<const T>(g.k, edge.source, head), part, edge.valid, key);
    load_slice<kVector>(row_of<const T>(g.e, edge.id, head), part, edge.valid, score);
    if (!kVector && g.dim > part.lanes * kPack<T>) {
      load_slice<kVector>(row_of<const T>(g.q, node, head), part, edge.valid, query);
    }
    SIMT_UNROLL
    for (int i = 0; i < kPack<T>; ++i) {
      const float t = fused_csc_warp_clamp(key[i] * query[i] * g.scale);
      score[i] = t * score[i];
      sum += score[i];
    }
    store_slice<kVector>(row_of<T>(g.e_out, edge.id, head), part, store, score);
  } while (next_slice<kVector, T>(part));
  return sum;
}

template <class T, bool kVector>
__global__ void __launch_bounds__(kFusedCscWarpBlock, kFusedCscWarpResident<T, kVector>)
    graph_attention_fused_csc_warp_kernel(GraphAttention g, Spread spread) {
  const Seat seat = seat_of(spread, threadIdx.x % 32);
  const std::int64_t warp = std::int64_t{blockIdx.x} * kFusedCscWarps + threadIdx.x / 32;
  const std::int64_t node = warp / g.heads;
  const std::int64_t head = warp % g.heads;
  if (node >= g.nodes) return;
  const std::int32_t begin = g.column_pointer[node];
  const std::int32_t end = g.column_pointer[node + 1];
  const Slice start{0, g.dim, spread.lanes, seat.lane};
  float query[kPack<T>];
  load_slice<kVector>(row_of<const T>(g.q, node, head), start, true, query);

  Slice mine = start;
  do {
    float numerator[kPack<T>] = {};
    float denominator = seat.slot == 0 ? g.epsilon : 0.0f;
    std::int32_t position = begin + seat.slot;
    Edge next = fused_csc_warp_edge(g, position, position < end);
    for (std::int32_t step = begin; step < end; step += spread.slots) {
      const Edge edge = next;
      const std::int32_t ahead = position + spread.slots;
      next = fused_csc_warp_edge(g, ahead, ahead < end);
      float value[kPack<T>];
      load_slice<kVector>(row_of<const T>(g.v, edge.source, head), mine, edge.valid, value);
      const bool store = edge.valid && mine.first == 0;
      float sum = fused_csc_warp_score<T, kVector>(g, node, head, edge, start, store, query);
      for (int offset = spread.lanes / 2; offset > 0; offset /= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, offset);
      }
      const float weight = edge.valid ? __expf(fused_csc_warp_clamp(sum)) : 0.0f;
      denominator += weight;
      SIMT_UNROLL
      for (int i = 0; i < kPack<T>; ++i) numerator[i] += weight * value[i];
      position = ahead;
    }

    // Only the first `end - begin` slots have seen an edge; slot 0 gets their sum.
    for (int offset = spread.lanes; offset < 32; offset *= 2) {
      if (offset >> spread.lanes_log2 >= end - begin) break;
      denominator += __shfl_xor_sync(0xffffffffu, denominator, offset);
      SIMT_UNROLL
      for (int i = 0; i < kPack<T>; ++i) {
        const bool used = kVector || mine.first + i * spread.lanes < g.dim;
        if (used) numerator[i] += __shfl_xor_sync(0xffffffffu, numerator[i], offset);
      }
    }
    SIMT_UNROLL
    for (int i = 0; i < kPack<T>; ++i) numerator[i] /= denominator;
    store_slice<kVector>(row_of<T>(g.out, node, head), mine, seat.slot == 0, numerator);
  } while (next_slice<kVector, T>(mine));
}

Status graph_attention_fused_csc_warp(const Arguments& arguments) {
  GraphAttention g;
  Launcher launcher(arguments, bind(arguments, g));
  if (g.nodes * g.heads * g.dim == 0) return launcher.status();
  with_storage(g.storage, [&]<class T>() {
    const Spread spread = spread_over(32, 1, g.dim, kPack<T>);
    const std::int64_t blocks = launcher.blocks("q", g.nodes * g.heads, kFusedCscWarps);
    bool vector = true;
    for (const Tensor& tensor : {g.q, g.k, g.v, g.e, g.out, g.e_out}) {
      vector = vector && vectorises<T>(tensor, g.dim);
    }
    launcher.launch(vector ? graph_attention_fused_csc_warp_kernel<T, true>
                           : graph_attention_fused_csc_warp_kernel<T, false>,
                    blocks, kFusedCscWarpBlock, g, spread);
  });
  return launcher.status();
}

}  // namespace halfulp::gpu::HALFULP_BUILD
