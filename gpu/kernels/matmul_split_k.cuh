// matmul, split along k: `splits` blocks share a tile of C, each a contiguous range of its blocks
// of k, and leave fp32 sums in a workspace; a second kernel adds them in order of k and rounds
// once. Splits without a block of k do nothing.
#include "gpu/kernels/matmul_body.hpp"

namespace halfulp::gpu::HALFULP_BUILD {

inline constexpr std::int64_t kMatmulSplitsMost = 64;
inline constexpr int kMatmulSplitKBlock = 128;  // threads of the second kernel

// Sums of the splits: (splits, m, n), rows contiguous.
struct MatmulSplits {
  float* sums = nullptr;
  std::int64_t count = 0;
  std::int64_t iterations = 0;  // blocks of k, shared evenly
};

template <class T, class Body>
__global__ void __launch_bounds__(Body::kThreads)
    matmul_split_k_kernel(Matmul g, MatmulTiles tiles, MatmulSplits splits) {
  const std::int64_t split = blockIdx.x / tiles.count();
  const MatmulTile tile = tiles.at(blockIdx.x % tiles.count());
  const std::int64_t row0 = tile.row * Body::kTileM;
  const std::int64_t column0 = tile.column * Body::kTileN;
  const std::int64_t begin = splits.iterations * split / splits.count;
  const std::int64_t end = splits.iterations * (split + 1) / splits.count;
  typename Body::Accumulators sums;
  Body::clear(sums);
  Body::accumulate(g, row0, column0, begin * Body::kTileK, min(end * Body::kTileK, g.k), sums);
  Matmul part = g;  // with this split's sums in place of C
  part.c.data = splits.sums + split * g.m * g.n;
  part.c.stride[0] = g.n;
  part.c.aligned = g.n % 4 == 0;
  store_tile<float, Body>(part, row0, column0, sums);
}

// One element of C a thread; `segments` blocks a row.
template <class Output>
__global__ void matmul_split_k_sum_kernel(Matmul g, MatmulSplits splits, std::int64_t segments) {
  const std::int64_t row = blockIdx.x / segments;
  const std::int64_t column =
      blockIdx.x % segments * kMatmulSplitKBlock + static_cast<std::int64_t>(threadIdx.x);
  if (column >= g.n) return;
  const float* from = splits.sums + row * g.n + column;
  float sum = splits.count > 0 ? from[0] : 0.0f;
  for (std::int64_t split = 1; split < splits.count; ++split) sum += from[split * g.m * g.n];
  static_cast<Output*>(g.c.data)[row * g.c.stride[0] + column] = from_float<Output>(sum);
}

Status matmul_split_k(const Arguments& arguments) {
  Matmul g;
  Launcher launcher(arguments, bind(arguments, g));
  const std::int64_t tile = matmul_tile_setting(arguments, launcher, kMatmulTilesShared);
  const std::int64_t wanted =
      matmul_setting(arguments, launcher, "splits", 4, 1, kMatmulSplitsMost);
  with_matmul_body<kMatmulTilesShared>(launcher, g.storage, tile, [&]<class T, class Body>() {
    const MatmulTiles tiles = matmul_tiles<Body>(g, arguments, launcher);
    MatmulSplits splits;
    splits.iterations = matmul_iterations<Body>(g);
    splits.count = wanted < splits.iterations ? wanted : splits.iterations;
    splits.sums = launcher.workspace<float>("sums", splits.count * g.m * g.n);
    const std::int64_t blocks = launcher.blocks("c", tiles.count() * splits.count, 1);
    launcher.launch(matmul_split_k_kernel<T, Body>,
                    LaunchShape{blocks, Body::kThreads, Body::kSharedBytes}, g, tiles, splits);
    const std::int64_t segments = (g.n + kMatmulSplitKBlock - 1) / kMatmulSplitKBlock;
    launcher.launch(matmul_split_k_sum_kernel<OutputOf<T>>, launcher.blocks("c", g.m * segments, 1),
                    kMatmulSplitKBlock, g, splits, segments);
  });
  return launcher.status();
}

}  // namespace halfulp::gpu::HALFULP_BUILD
