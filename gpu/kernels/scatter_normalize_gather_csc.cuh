// scatter_normalize, one block a node; the column pointer gives the node's edges and the edge id
// says where each one's values lie. No atomics: a thread sums its edges, then the block sums its
// slots in order.
#include "gpu/kernels/launch.hpp"
#include "gpu/kernels/scatter_normalize.hpp"
#include "gpu/kernels/slices.hpp"

namespace halfulp::gpu::HALFULP_BUILD {

inline constexpr int kScatterGatherCscBlock = 64;

template <class T, bool kVector>
__global__ void __launch_bounds__(kScatterGatherCscBlock, 32)
    scatter_normalize_gather_csc_kernel(ScatterNormalize s, Spread spread) {
  SIMT_SHARED(float, numerators, [kScatterGatherCscBlock][kPack<T>]);
  SIMT_SHARED(float, denominators, [kScatterGatherCscBlock]);
  const Seat seat = seat_of(spread, threadIdx.x);
  const std::int64_t node = blockIdx.x;
  const std::int32_t begin = s.column_pointer[node];
  const std::int32_t end = s.column_pointer[node + 1];

  for (std::int64_t head0 = 0; head0 < s.heads; head0 += spread.heads) {
    const std::int64_t head = head0 + seat.head;
    const bool active = seat.slot < spread.slots && head < s.heads;
    Slice slice{0, s.dim, spread.lanes, seat.lane};
    do {
      float numerator[kPack<T>] = {};
      float denominator = 0.0f;
      std::int32_t position = active ? begin + seat.slot : end;
      std::int32_t next = position < end ? s.edge_id[position] : 0;
      while (position < end) {
        const std::int64_t edge = next;
        position += spread.slots;
        if (position < end) next = s.edge_id[position];  // one step ahead
        float value[kPack<T>];
        load_slice<kVector>(row_of<const T>(s.values, edge, head), slice, true, value);
        denominator += to_float(row_of<const T>(s.scores, edge, 0)[head]);
        SIMT_UNROLL
        for (int i = 0; i < kPack<T>; ++i) numerator[i] += value[i];
      }

      denominators[threadIdx.x] = denominator;
      SIMT_UNROLL
      for (int i = 0; i < kPack<T>; ++i) numerators[threadIdx.x][i] = numerator[i];
      __syncthreads();
      if (seat.slot == 0) {
        add_slots(spread, numerators, denominators, numerator, denominator);
        denominator += s.epsilon;
        SIMT_UNROLL
        for (int i = 0; i < kPack<T>; ++i) numerator[i] /= denominator;
        store_slice<kVector>(row_of<T>(s.out, node, head), slice, active, numerator);
      }
      __syncthreads();
    } while (next_slice<kVector, T>(slice));
  }
}

Status scatter_normalize_gather_csc(const Arguments& arguments) {
  ScatterNormalize s;
  Launcher launcher(arguments, bind(arguments, s));
  if (s.nodes * s.heads * s.dim == 0) return launcher.status();
  with_storage(s.storage, [&]<class T>() {
    const Spread spread = spread_over(kScatterGatherCscBlock, s.heads, s.dim, kPack<T>);
    const bool vector = vectorises<T>(s.values, s.dim) && vectorises<T>(s.out, s.dim);
    launcher.launch(vector ? scatter_normalize_gather_csc_kernel<T, true>
                           : scatter_normalize_gather_csc_kernel<T, false>,
                    s.nodes, kScatterGatherCscBlock, s, spread);
  });
  return launcher.status();
}

}  // namespace halfulp::gpu::HALFULP_BUILD
