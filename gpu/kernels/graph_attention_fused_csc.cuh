// graph_attention, fused: one block a node. The query is loaded once; the node's edges are taken
// Spread::slots at a time through the CSC index, scored, stored and summed in one go; then the
// block adds its slots in order and divides. A row longer than a slice is scored again for every
// slice of the output.
#include "gpu/kernels/graph_attention.hpp"
#include "gpu/kernels/launch.hpp"
#include "gpu/kernels/slices.hpp"

namespace halfulp::gpu::HALFULP_BUILD {

// Two edges of 4 heads and 32 elements side by side, and as many resident blocks a multiprocessor
// as the loads in flight need; measured on an H200.
template <class T>
inline constexpr int kFusedCscBlock = 16 * static_cast<int>(sizeof(T));
template <class T, bool kVector>
inline constexpr int kFusedCscResident = !kVector         ? 8
                                         : sizeof(T) == 4 ? 24
                                                          : 32;

// NaN stays NaN: fminf and fmaxf would swallow it.
__device__ inline float fused_csc_clamp(float x) {
  if (x < -5.0f) return -5.0f;
  if (x > 5.0f) return 5.0f;
  return x;
}

__device__ inline Edge fused_csc_edge(const GraphAttention& g, std::int32_t position, bool valid) {
  Edge edge;
  edge.valid = valid;
  if (valid) edge.id = g.edge_id[position];
  if (valid) edge.source = g.column_source[position];
  return edge;
}

// Scores one edge and stores the scores at its physical id; returns this lane's part of the logit.
// `query` holds the first slice, and stays so unless the row has more than one.
template <class T, bool kVector>
__device__ inline float fused_csc_score(const GraphAttention& g, std::int64_t node,
                                        std::int64_t head, const Edge& edge, Slice part, bool store,
                                        float (&query)[kPack<T>]) {
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
      const float t = fused_csc_clamp(key[i] * query[i] * g.scale);
      score[i] = t * score[i];
      sum += score[i];
    }
    store_slice<kVector>(row_of<T>(g.e_out, edge.id, head), part, store, score);
  } while (next_slice<kVector, T>(part));
  return sum;
}

template <class T, bool kVector>
__global__ void __launch_bounds__(kFusedCscBlock<T>, kFusedCscResident<T, kVector>)
    graph_attention_fused_csc_kernel(GraphAttention g, Spread spread) {
  SIMT_SHARED(float, numerators, [kFusedCscBlock<T>][kPack<T>]);
  SIMT_SHARED(float, denominators, [kFusedCscBlock<T>]);
  const Seat seat = seat_of(spread, threadIdx.x);
  const std::int64_t node = blockIdx.x;
  const std::int32_t begin = g.column_pointer[node];
  const std::int32_t end = g.column_pointer[node + 1];

  for (std::int64_t head0 = 0; head0 < g.heads; head0 += spread.heads) {
    const std::int64_t head = head0 + seat.head;
    const bool active = seat.slot < spread.slots && head < g.heads;
    const Slice start{0, g.dim, spread.lanes, seat.lane};
    float query[kPack<T>];
    load_slice<kVector>(row_of<const T>(g.q, node, head), start, active, query);

    Slice mine = start;
    do {
      float numerator[kPack<T>] = {};
      float denominator = seat.slot == 0 ? g.epsilon : 0.0f;
      // Every thread of a warp takes every step, since the lanes of a row exchange their sums.
      std::int32_t position = begin + seat.slot;
      Edge next = fused_csc_edge(g, position, active && position < end);
      for (std::int32_t step = begin; step < end; step += spread.slots) {
        const Edge edge = next;
        const std::int32_t ahead = position + spread.slots;
        next = fused_csc_edge(g, ahead, active && ahead < end);
        float value[kPack<T>];
        load_slice<kVector>(row_of<const T>(g.v, edge.source, head), mine, edge.valid, value);
        const bool store = edge.valid && mine.first == 0;
        float sum = fused_csc_score<T, kVector>(g, node, head, edge, start, store, query);
        for (int offset = spread.lanes / 2; offset > 0; offset /= 2) {
          sum += __shfl_xor_sync(0xffffffffu, sum, offset);
        }
        const float weight = edge.valid ? __expf(fused_csc_clamp(sum)) : 0.0f;
        denominator += weight;
        SIMT_UNROLL
        for (int i = 0; i < kPack<T>; ++i) numerator[i] += weight * value[i];
        position = ahead;
      }

      denominators[threadIdx.x] = denominator;
      SIMT_UNROLL
      for (int i = 0; i < kPack<T>; ++i) numerators[threadIdx.x][i] = numerator[i];
      __syncthreads();
      if (seat.slot == 0) {
        add_slots(spread, numerators, denominators, numerator, denominator);
        SIMT_UNROLL
        for (int i = 0; i < kPack<T>; ++i) numerator[i] /= denominator;
        store_slice<kVector>(row_of<T>(g.out, node, head), mine, active, numerator);
      }
      __syncthreads();
    } while (next_slice<kVector, T>(mine));
  }
}

Status graph_attention_fused_csc(const Arguments& arguments) {
  GraphAttention g;
  Launcher launcher(arguments, bind(arguments, g));
  if (g.nodes * g.heads * g.dim == 0) return launcher.status();
  with_storage(g.storage, [&]<class T>() {
    const Spread spread = spread_over(kFusedCscBlock<T>, g.heads, g.dim, kPack<T>);
    bool vector = true;
    for (const Tensor& tensor : {g.q, g.k, g.v, g.e, g.out, g.e_out}) {
      vector = vector && vectorises<T>(tensor, g.dim);
    }
    launcher.launch(vector ? graph_attention_fused_csc_kernel<T, true>
                           : graph_attention_fused_csc_kernel<T, false>,
                    g.nodes, kFusedCscBlock<T>, g, spread);
  });
  return launcher.status();
}

}  // namespace halfulp::gpu::HALFULP_BUILD
