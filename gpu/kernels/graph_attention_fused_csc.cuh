// graph_attention, fused: one block a node. The query is loaded once; the node's edges are taken
// Spread::slots at a time through the CSC index, scored, stored and summed in one go; then the
// block adds its slots in order and divides. A row longer than a slice is scored again for every
// slice of the output.
#include "gpu/kernels/graph_attention.hpp"
#include "gpu/kernels/launch.hpp"
#include "gpu/kernels/slices.hpp"

namespace halfulp::gpu::HALFULP_BUILD {

inline constexpr int kFusedCscBlock = 128;

// NaN stays NaN: fminf and fmaxf would swallow it.
__device__ inline float fused_csc_clamp(float x) {
  if (x < -5.0f) return -5.0f;
  if (x > 5.0f) return 5.0f;
  return x;
}

// Scores one edge and stores the scores at its physical id; returns this lane's part of the logit.
// `query` holds the first slice, and stays so unless the row has more than one.
template <class T, bool kVector>
__device__ inline float fused_csc_score(const GraphAttention& g, std::int64_t node,
                                        std::int64_t head, const Edge& edge, Slice part, bool store,
                                        float (&query)[kPack<T>]) {
  const int width = part.lanes * kPack<T>;
  float sum = 0.0f;
  for (; part.first < g.dim; part.first += width) {
    float key[kPack<T>];
    float score[kPack<T>];
    load_slice<kVector>(row_of<const T>(g.k, edge.source, head), part, edge.valid, key);
    load_slice<kVector>(row_of<const T>(g.e, edge.id, head), part, edge.valid, score);
    if (g.dim > width) {
      load_slice<kVector>(row_of<const T>(g.q, node, head), part, edge.valid, query);
    }
    SIMT_UNROLL
    for (int i = 0; i < kPack<T>; ++i) {
      const float t = fused_csc_clamp(key[i] * query[i] * g.scale);
      score[i] = t * score[i];
      sum += score[i];
    }
    store_slice<kVector>(row_of<T>(g.e_out, edge.id, head), part, store, score);
  }
  return sum;
}

template <class T, bool kVector>
__global__ void __launch_bounds__(kFusedCscBlock)
    graph_attention_fused_csc_kernel(GraphAttention g, Spread spread) {
  SIMT_SHARED(float, numerators, [kFusedCscBlock][kPack<T>]);
  SIMT_SHARED(float, denominators, [kFusedCscBlock]);
  const Seat seat = seat_of(spread, threadIdx.x);
  const int width = spread.lanes * kPack<T>;
  const std::int64_t node = blockIdx.x;
  const std::int64_t begin = g.column_pointer[node];
  const std::int64_t end = g.column_pointer[node + 1];

  for (std::int64_t head0 = 0; head0 < g.heads; head0 += spread.heads) {
    const std::int64_t head = head0 + seat.head;
    const bool active = seat.slot < spread.slots && head < g.heads;
    const Slice start{0, g.dim, spread.lanes, seat.lane};
    float query[kPack<T>];
    load_slice<kVector>(row_of<const T>(g.q, node, head), start, active, query);

    for (Slice mine = start; mine.first < g.dim; mine.first += width) {
      float numerator[kPack<T>] = {};
      float denominator = seat.slot == 0 ? g.epsilon : 0.0f;
      // Every thread of a warp takes every step, since the lanes of a row exchange their sums.
      for (std::int64_t step = begin; step < end; step += spread.slots) {
        const std::int64_t position = step + seat.slot;
        Edge edge;
        edge.valid = active && position < end;
        if (edge.valid) edge.id = g.edge_id[position];
        if (edge.valid) edge.source = g.column_source[position];
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
    }
  }
}

Status graph_attention_fused_csc(const Arguments& arguments) {
  GraphAttention g;
  Launcher launcher(arguments, bind(arguments, g));
  if (g.nodes * g.heads * g.dim == 0) return launcher.status();
  with_storage(g.storage, [&]<class T>() {
    const Spread spread = spread_over(kFusedCscBlock, g.heads, g.dim, kPack<T>);
    bool vector = true;
    for (const Tensor& tensor : {g.q, g.k, g.v, g.e, g.out, g.e_out}) {
      vector = vector && vectorises<T>(tensor, g.dim);
    }
    launcher.launch(vector ? graph_attention_fused_csc_kernel<T, true>
                           : graph_attention_fused_csc_kernel<T, false>,
                    g.nodes, kFusedCscBlock, g, spread);
  });
  return launcher.status();
}

}  // namespace halfulp::gpu::HALFULP_BUILD
