// matmul, data-parallel: one block a tile of C.
#include "gpu/kernels/matmul_body.hpp"

namespace halfulp::gpu::HALFULP_BUILD {

template <class T, class Body>
__global__ void __launch_bounds__(Body::kThreads) matmul_tile_kernel(Matmul g, MatmulTiles tiles) {
  const MatmulTile tile = tiles.at(blockIdx.x);
  const std::int64_t row0 = tile.row * Body::kTileM;
  const std::int64_t column0 = tile.column * Body::kTileN;
  typename Body::Accumulators sums;
  Body::clear(sums);
  Body::accumulate(g, row0, column0, 0, g.k, sums);
  store_tile<T, Body>(g, row0, column0, sums);
}

Status matmul_tile(const Arguments& arguments) {
  Matmul g;
  Launcher launcher(arguments, bind(arguments, g));
  const std::int64_t tile = matmul_tile_setting(arguments, launcher, kMatmulTiles);
  with_matmul_body<kMatmulTiles>(launcher, g.storage, tile, [&]<class T, class Body>() {
    const MatmulTiles tiles = matmul_tiles<Body>(g, arguments, launcher);
    const std::int64_t blocks = launcher.blocks("c", tiles.count(), 1);
    launcher.launch(matmul_tile_kernel<T, Body>,
                    LaunchShape{blocks, Body::kThreads, Body::kSharedBytes}, g, tiles);
  });
  return launcher.status();
}

}  // namespace halfulp::gpu::HALFULP_BUILD
