// graph_attention, fused and hub-safe: as fused_csc for nodes of few incoming edges. A hub, a node
// of more than kFusedCscSplitEdges of them, is shared by the blocks of a second kind, one for every
// kFusedCscSplitEdges positions of the CSC index. Such a range touches at most two hubs, one that
// covers its first position and one that covers its last; each leaves fp32 sums in a workspace, and
// a second kernel adds them in order.
#include "gpu/kernels/graph_attention.hpp"
#include "gpu/kernels/launch.hpp"
#include "gpu/kernels/slices.hpp"

namespace halfulp::gpu::HALFULP_BUILD {

// As in fused_csc.
template <class T>
inline constexpr int kFusedCscSplitBlock = 16 * static_cast<int>(sizeof(T));
template <class T, bool kVector>
inline constexpr int kFusedCscSplitResident = !kVector         ? 8
                                              : sizeof(T) == 4 ? 24
                                                               : 32;
inline constexpr std::int64_t kFusedCscSplitEdges = 256;

// NaN stays NaN: fminf and fmaxf would swallow it.
__device__ inline float fused_csc_split_clamp(float x) {
  if (x < -5.0f) return -5.0f;
  if (x > 5.0f) return 5.0f;
  return x;
}

__device__ inline Edge fused_csc_split_edge(const GraphAttention& g, std::int32_t position,
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
__device__ inline float fused_csc_split_score(const GraphAttention& g, std::int64_t node,
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
      const float t = fused_csc_split_clamp(key[i] * query[i] * g.scale);
      score[i] = t * score[i];
      sum += score[i];
    }
    store_slice<kVector>(row_of<T>(g.e_out, edge.id, head), part, store, score);
  } while (next_slice<kVector, T>(part));
  return sum;
}

// The part of a node that one block sums, and where its sums go when the node is a hub.
struct FusedCscSplitRange {
  std::int64_t node = 0;
  std::int32_t begin = 0, end = 0;  // CSC positions
  float* numerator = nullptr;       // (heads, dim), nullptr: divide and store the node's output
  float* denominator = nullptr;     // (heads)
};

// Partial sums of one range: (ranges, 2, heads * dim) numerators and (ranges, 2, heads)
// denominators.
struct FusedCscSplitSums {
  float* numerator = nullptr;
  float* denominator = nullptr;
};

__device__ inline bool fused_csc_split_is_hub(const GraphAttention& g, std::int64_t node) {
  return g.column_pointer[node + 1] - g.column_pointer[node] > kFusedCscSplitEdges;
}

// The node whose incoming edges include this CSC position.
__device__ inline std::int64_t fused_csc_split_node(const GraphAttention& g,
                                                    std::int64_t position) {
  std::int64_t low = 0;
  std::int64_t high = g.nodes;
  while (high - low > 1) {
    const std::int64_t middle = (low + high) / 2;
    if (g.column_pointer[middle] <= position) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

// Where the sums of a hub in one range lie: place 0 when the hub covers the range's first position.
__device__ inline std::int64_t fused_csc_split_place(const GraphAttention& g, std::int64_t node,
                                                     std::int64_t range) {
  return 2 * range + (g.column_pointer[node] > range * kFusedCscSplitEdges ? 1 : 0);
}

template <class T, bool kVector>
__device__ inline void fused_csc_split_finish(const GraphAttention& g, std::int64_t node,
                                              std::int64_t head, const Slice& slice,
                                              float (&numerator)[kPack<T>], float denominator) {
  denominator += g.epsilon;
  SIMT_UNROLL
  for (int i = 0; i < kPack<T>; ++i) numerator[i] /= denominator;
  store_slice<kVector>(row_of<T>(g.out, node, head), slice, true, numerator);
}

template <class T, bool kVector>
__device__ inline void fused_csc_split_leave(const GraphAttention& g,
                                             const FusedCscSplitRange& range, std::int64_t head,
                                             const Slice& slice, const float (&numerator)[kPack<T>],
                                             float denominator) {
  SIMT_UNROLL
  for (int i = 0; i < kPack<T>; ++i) {
    const std::int64_t d = element_of<kVector, T>(slice, i);
    if (d < slice.dim) range.numerator[head * g.dim + d] = numerator[i];
  }
  if (slice.first == 0 && slice.lane == 0) range.denominator[head] = denominator;
}

template <class T, bool kVector>
__device__ inline void fused_csc_split_sum(const GraphAttention& g, const Spread& spread,
                                           const FusedCscSplitRange& range) {
  SIMT_SHARED(float, numerators, [kFusedCscSplitBlock<T>][kPack<T>]);
  SIMT_SHARED(float, denominators, [kFusedCscSplitBlock<T>]);
  const Seat seat = seat_of(spread, threadIdx.x);
  for (std::int64_t head0 = 0; head0 < g.heads; head0 += spread.heads) {
    const std::int64_t head = head0 + seat.head;
    const bool active = seat.slot < spread.slots && head < g.heads;
    const Slice start{0, g.dim, spread.lanes, seat.lane};
    float query[kPack<T>];
    load_slice<kVector>(row_of<const T>(g.q, range.node, head), start, active, query);
    Slice mine = start;
    do {
      float numerator[kPack<T>] = {};
      float denominator = 0.0f;
      std::int32_t position = range.begin + seat.slot;
      Edge next = fused_csc_split_edge(g, position, active && position < range.end);
      for (std::int32_t step = range.begin; step < range.end; step += spread.slots) {
        const Edge edge = next;
        const std::int32_t ahead = position + spread.slots;
        next = fused_csc_split_edge(g, ahead, active && ahead < range.end);
        float value[kPack<T>];
        load_slice<kVector>(row_of<const T>(g.v, edge.source, head), mine, edge.valid, value);
        const bool store = edge.valid && mine.first == 0;
        float sum =
            fused_csc_split_score<T, kVector>(g, range.node, head, edge, start, store, query);
        for (int offset = spread.lanes / 2; offset > 0; offset /= 2) {
          sum += __shfl_xor_sync(0xffffffffu, sum, offset);
        }
        const float weight = edge.valid ? __expf(fused_csc_split_clamp(sum)) : 0.0f;
        denominator += weight;
        SIMT_UNROLL
        for (int i = 0; i < kPack<T>; ++i) numerator[i] += weight * value[i];
        position = ahead;
      }
      denominators[threadIdx.x] = denominator;
      SIMT_UNROLL
      for (int i = 0; i < kPack<T>; ++i) numerators[threadIdx.x][i] = numerator[i];
      __syncthreads();
      if (seat.slot == 0 && active) {
        add_slots(spread, numerators, denominators, numerator, denominator);
        if (range.numerator == nullptr) {
          fused_csc_split_finish<T, kVector>(g, range.node, head, mine, numerator, denominator);
        } else {
          fused_csc_split_leave<T, kVector>(g, range, head, mine, numerator, denominator);
        }
      }
      __syncthreads();
    } while (next_slice<kVector, T>(mine));
  }
}

// Blocks [0, nodes): whole nodes that are no hubs. Blocks from `nodes` on: one range of positions
// each.
template <class T, bool kVector>
__global__ void __launch_bounds__(kFusedCscSplitBlock<T>, kFusedCscSplitResident<T, kVector>)
    graph_attention_fused_csc_split_kernel(GraphAttention g, Spread spread,
                                           FusedCscSplitSums sums) {
  const std::int64_t block = blockIdx.x;
  if (block < g.nodes) {
    if (fused_csc_split_is_hub(g, block)) return;
    FusedCscSplitRange whole{block};
    whole.begin = g.column_pointer[block];
    whole.end = g.column_pointer[block + 1];
    fused_csc_split_sum<T, kVector>(g, spread, whole);
    return;
  }
  const std::int64_t range = block - g.nodes;
  const std::int64_t begin = range * kFusedCscSplitEdges;
  const std::int64_t end = min(begin + kFusedCscSplitEdges, g.edges);
  const std::int64_t first = fused_csc_split_node(g, begin);
  const std::int64_t last = fused_csc_split_node(g, end - 1);
  for (std::int64_t node = first;; node = last) {
    if (fused_csc_split_is_hub(g, node)) {
      const std::int64_t place = fused_csc_split_place(g, node, range);
      FusedCscSplitRange part{node};
      part.begin = static_cast<std::int32_t>(max(begin, std::int64_t{g.column_pointer[node]}));
      part.end = static_cast<std::int32_t>(min(end, std::int64_t{g.column_pointer[node + 1]}));
      part.numerator = sums.numerator + place * g.heads * g.dim;
      part.denominator = sums.denominator + place * g.heads;
      fused_csc_split_sum<T, kVector>(g, spread, part);
    }
    if (node == last) return;
  }
}

// One block a range: adds up the hub that starts in it, if one does.
template <class T>
__global__ void __launch_bounds__(kFusedCscSplitBlock<T>)
    graph_attention_fused_csc_split_combine_kernel(GraphAttention g, FusedCscSplitSums sums) {
  const std::int64_t begin = std::int64_t{blockIdx.x} * kFusedCscSplitEdges;
  const std::int64_t end = min(begin + kFusedCscSplitEdges, g.edges);
  const std::int64_t node = fused_csc_split_node(g, end - 1);
  if (!fused_csc_split_is_hub(g, node) || g.column_pointer[node] < begin) return;
  const std::int64_t last = (g.column_pointer[node + 1] - 1) / kFusedCscSplitEdges;
  for (std::int64_t column = threadIdx.x; column < g.heads * g.dim; column += blockDim.x) {
    const std::int64_t head = column / g.dim;
    float numerator = 0.0f;
    float denominator = g.epsilon;
    for (std::int64_t range = blockIdx.x; range <= last; ++range) {
      const std::int64_t place = fused_csc_split_place(g, node, range);
      numerator += sums.numerator[place * g.heads * g.dim + column];
      denominator += sums.denominator[place * g.heads + head];
    }
    row_of<T>(g.out, node, head)[column % g.dim] = from_float<T>(numerator / denominator);
  }
}

Status graph_attention_fused_csc_split(const Arguments& arguments) {
  GraphAttention g;
  Launcher launcher(arguments, bind(arguments, g));
  if (g.nodes * g.heads * g.dim == 0) return launcher.status();
  // No node can be a hub when there are no more edges than one range holds.
  const bool hubs = g.edges > kFusedCscSplitEdges;
  const std::int64_t ranges = hubs ? launcher.blocks("e", g.edges, kFusedCscSplitEdges) : 0;
  FusedCscSplitSums sums;
  sums.numerator = launcher.workspace<float>("numerator", ranges * 2 * g.heads * g.dim);
  sums.denominator = launcher.workspace<float>("denominator", ranges * 2 * g.heads);
  const std::int64_t blocks = launcher.blocks("q", g.nodes + ranges, 1);
  with_storage(g.storage, [&]<class T>() {
    constexpr int kBlock = kFusedCscSplitBlock<T>;
    const Spread spread = spread_over(kBlock, g.heads, g.dim, kPack<T>);
    bool vector = true;
    for (const Tensor& tensor : {g.q, g.k, g.v, g.e, g.out, g.e_out}) {
      vector = vector && vectorises<T>(tensor, g.dim);
    }
    launcher.launch(vector ? graph_attention_fused_csc_split_kernel<T, true>
                           : graph_attention_fused_csc_split_kernel<T, false>,
                    blocks, kBlock, g, spread, sums);
    launcher.launch(graph_attention_fused_csc_split_combine_kernel<T>, ranges, kBlock, g, sums);
  });
  return launcher.status();
}

}  // namespace halfulp::gpu::HALFULP_BUILD
