// One row a kernel: ordered by operation, baseline first. A new variant is a file
// gpu/kernels/<stem>.cuh that defines the entry point <stem>, and a row here; a file <stem>.cu for
// one that has no host builds.
#include "gpu/kernel_table.hpp"

#include "gpu/kernel_entries.hpp"  // generated: declares every entry point in every build
#include "gpu/kernels/flash_attention.hpp"
#include "gpu/kernels/flash_attention_mma.hpp"
#include "gpu/kernels/matmul.hpp"

namespace halfulp::gpu {
namespace {

#if defined(HALFULP_WITH_CUDA)
#define HALFULP_ENTRIES(stem) \
  { host::stem, host_checked::stem, cuda::stem }
#else
#define HALFULP_ENTRIES(stem) \
  { host::stem, host_checked::stem, nullptr }
#endif
// Without cuBLAS's header at build time its row is for no backend.
#if defined(HALFULP_WITH_CUBLAS)
#define HALFULP_CUBLAS_ENTRY(stem) \
  { nullptr, nullptr, cuda::stem }
#else
#define HALFULP_CUBLAS_ENTRY(stem) \
  { nullptr, nullptr, nullptr }
#endif

const std::vector<Format> kStorage{Format::f32, Format::f16, Format::bf16};

Numerics addition() { return {.product_rounded = false}; }

const std::vector<Format> kMatmulStorage{Format::f16, Format::bf16, Format::f32, Format::tf32};

const std::vector<int> kMatmulEdges{16, 32, 64, 128};

// A launch parameter `tile`: the first `count` sizes.
Parameter matmul_tile(int count) {
  Parameter tile{.name = "tile", .words = {}, .high = count - 1};
  for (int i = 0; i < count; ++i) {
    tile.words.push_back(kMatmulTileSizes[static_cast<std::size_t>(i)].word);
  }
  return tile;
}

const Parameter kMatmulSplits{.name = "splits", .words = {}, .low = 1, .high = 64};

// The launch parameters of every tiled matmul, then those of the variant.
std::vector<Parameter> matmul_parameters(std::vector<Parameter> more,
                                         int tiles = kMatmulTilesShared) {
  std::vector<Parameter> parameters{
      matmul_tile(tiles), {.name = "group", .words = {}, .low = 1, .high = kMatmulGroupMost}};
  parameters.insert(parameters.end(), more.begin(), more.end());
  return parameters;
}

Numerics scatter(bool atomics) {
  return {.product_rounded = false,
          .atomics = atomics,
          .repeatable = !atomics,
          .division = Division::ieee};
}

Numerics attention(Exponential exponential, bool atomics) {
  return {.atomics = atomics,
          .repeatable = !atomics,
          .scale = Scale::reciprocal,
          .exponential = exponential,
          .division = Division::ieee};
}

// Sums in fp32 over contiguous ranges of k.
Numerics multiplication(Partials partials) {
  return {.product_rounded = false,
          .tensor_cores = true,
          .operand_rounding = OperandRounding::truncated,  // tf32, by the instruction itself
          .sum_order = SumOrder::contiguous,
          .partials = partials};
}

// Partial sums in fp32, or in C's format where it is stored and added to by several programs.
Numerics streamk(bool atomics, bool partial_in_output) {
  Numerics numerics = multiplication(Partials::programs);
  numerics.atomics = atomics;
  numerics.repeatable = false;
  numerics.partial_in_output = partial_in_output;
  return numerics;
}
Numerics streamk_repeatable() { return multiplication(Partials::programs); }

// A library that says no more than that it adds in fp32, without atomics.
Numerics library_multiplication() {
  Numerics numerics = multiplication(Partials::fixed);
  numerics.sum_order = SumOrder::any;
  numerics.partials_most = 64;
  return numerics;
}

// `resident`: programs wait for each other.
std::vector<Parameter> streamk_parameters(bool resident = false) {
  return matmul_parameters({{.name = "programs", .words = {}, .high = 65536, .resident = resident},
                            {.name = "two_tile", .words = {}, .high = 1}});
}

// Softmax attention in fp32: one division at the end.
Numerics softmax(Exponential exponential) {
  return {.product_rounded = false,
          .scale = Scale::reciprocal,
          .exponential = exponential,
          .division = Division::ieee};
}

// A launch parameter `mask`: what the kernel can be told of the keys that are open.
Parameter flash_mask(std::span<const KeyMask> masks) {
  Parameter parameter{.name = "mask", .words = {}, .high = std::ssize(masks) - 1};
  for (const KeyMask mask : masks) parameter.words.push_back(name(mask));
  return parameter;
}

// Online softmax on tensor cores: 2^x of scores less the maximum, weights in the input's format for
// the second product, in full for their sum. `apart`: a tile's product is summed from zero.
Numerics softmax_mma(bool apart) {
  return {.product_rounded = false,
          .scale = Scale::reciprocal,
          .exponential = Exponential::exp2f_fast,
          .division = Division::reciprocal,
          .tensor_cores = true,
          .operand_rounding = OperandRounding::truncated,  // tf32, by the instruction itself
          .weight_in_input = true,
          .rescaled = true,
          .product_apart = apart};
}

const std::vector<int> kFlashMmaEdges{8, 16, 32, 64, 128};

Parameter flash_number(std::string_view parameter, std::int64_t low) {
  return {.name = parameter, .words = {}, .low = low, .high = INT32_MAX};
}

Parameter flash_mma_tile() {
  Parameter tile{.name = "tile", .words = {}, .high = std::ssize(kFlashTilesMma) - 1};
  for (const FlashTileSize& size : kFlashTilesMma) tile.words.push_back(size.word);
  return tile;
}

Kernel flash_mma(std::string_view kernel, Format storage, bool apart,
                 const std::array<EntryPoint, kBackends>& entry) {
  return {"flash_attention",
          kernel,
          apart ? "online softmax on tensor cores, a tile's product with v apart, then added"
                : "online softmax on tensor cores, products with v through the accumulator",
          softmax_mma(apart),
          {storage},
          kFlashMmaEdges,
          entry,
          {flash_mask(kFlashMasksInMemory), flash_mma_tile()}};
}

// A launch parameter `tile`: queries and keys that a block takes at a time.
Parameter flash_tile(std::span<const FlashTileSize> tiles) {
  Parameter parameter{.name = "tile", .words = {}, .high = std::ssize(tiles) - 1};
  for (const FlashTileSize& tile : tiles) parameter.words.push_back(tile.word);
  return parameter;
}

// The same over tiles of keys, with a running maximum.
Numerics online_softmax(Exponential exponential) {
  Numerics numerics = softmax(exponential);
  numerics.rescaled = true;
  return numerics;
}

}  // namespace

std::vector<Kernel> kernel_table() {
  constexpr auto kFast = Exponential::expf_fast;
  return {
      {"vector_add",
       "scalar",
       "one element a thread",
       addition(),
       kStorage,
       {128},
       HALFULP_ENTRIES(vector_add_scalar)},
      {"vector_add",
       "grid_stride",
       "few blocks that stride over the elements",
       addition(),
       kStorage,
       {128, 384},
       HALFULP_ENTRIES(vector_add_grid_stride)},
      {"vector_add",
       "vec4",
       "16-byte accesses between a scalar head and tail",
       addition(),
       kStorage,
       {4, 8, 512, 1024},
       HALFULP_ENTRIES(vector_add_vec4)},

      {"scatter_normalize",
       "atomic_coo",
       "atomic sums over the edges, then a normalising pass",
       scatter(true),
       kStorage,
       {128},
       HALFULP_ENTRIES(scatter_normalize_atomic_coo)},
      {"scatter_normalize",
       "gather_coo",
       "one block a node, walks all edges and masks",
       scatter(false),
       kStorage,
       {128},
       HALFULP_ENTRIES(scatter_normalize_gather_coo)},
      {"scatter_normalize",
       "gather_coo_skip",
       "the same, skips groups of edges without a match",
       scatter(false),
       kStorage,
       {128},
       HALFULP_ENTRIES(scatter_normalize_gather_coo_skip)},
      {"scatter_normalize",
       "gather_csc",
       "one block a node, its edges through the CSC index",
       scatter(false),
       kStorage,
       {4, 8, 32, 128, 256},
       HALFULP_ENTRIES(scatter_normalize_gather_csc)},

      {"graph_attention",
       "edge_parallel",
       "unfused: scores, weights, then atomic sums",
       attention(Exponential::expf, true),
       kStorage,
       {128},
       HALFULP_ENTRIES(graph_attention_edge_parallel)},
      {"graph_attention",
       "fused_csc",
       "fused, one block a node",
       attention(kFast, false),
       kStorage,
       {4, 8, 32, 128, 256},
       HALFULP_ENTRIES(graph_attention_fused_csc)},
      {"graph_attention",
       "fused_csc_warp",
       "fused, one warp a (node, head)",
       attention(kFast, false),
       kStorage,
       {4, 8, 32, 128, 256},
       HALFULP_ENTRIES(graph_attention_fused_csc_warp)},
      {"graph_attention",
       "fused_csc_split",
       "fused, hubs split over blocks and combined",
       attention(kFast, false),
       kStorage,
       {4, 8, 32, 128, 256, 512},
       HALFULP_ENTRIES(graph_attention_fused_csc_split)},

      {"matmul", "tile", "one block a tile, all of k", multiplication(Partials::one),
       kMatmulStorage, kMatmulEdges, HALFULP_ENTRIES(matmul_tile),
       matmul_parameters({}, kMatmulTiles)},
      {"matmul", "split_k", "ranges of k apart, added in a second pass",
       multiplication(Partials::splits), kMatmulStorage, kMatmulEdges,
       HALFULP_ENTRIES(matmul_split_k), matmul_parameters({kMatmulSplits})},
      {"matmul", "streamk_atomic", "programs share tiles: fp32 atomics, then a rounding pass",
       streamk(true, false), kMatmulStorage, kMatmulEdges, HALFULP_ENTRIES(matmul_streamk_atomic),
       streamk_parameters()},
      {"matmul",
       "streamk_atomic_half",
       "programs share tiles: atomics of C's format",
       streamk(false, true),
       {Format::f16, Format::bf16},
       kMatmulEdges,
       HALFULP_ENTRIES(matmul_streamk_atomic_half),
       streamk_parameters()},
      {"matmul", "streamk_lock3",
       "programs share tiles: the first to arrive stores, the others add", streamk(true, true),
       kMatmulStorage, kMatmulEdges, HALFULP_ENTRIES(matmul_streamk_lock3), streamk_parameters()},
      {"matmul", "streamk_lock",
       "programs share tiles: the one with the last k stores, the others add", streamk(true, true),
       kMatmulStorage, kMatmulEdges, HALFULP_ENTRIES(matmul_streamk_lock),
       streamk_parameters(true)},
      {"matmul", "streamk_workspace",
       "programs share tiles: the last to arrive adds all sums in order of k", streamk_repeatable(),
       kMatmulStorage, kMatmulEdges, HALFULP_ENTRIES(matmul_streamk_workspace),
       streamk_parameters()},
      {"matmul", "cublas", "cuBLAS, which chooses its own algorithm", library_multiplication(),
       kMatmulStorage, kMatmulEdges, HALFULP_CUBLAS_ENTRY(matmul_cublas)},

      {"flash_attention",
       "naive",
       "unfused: scores, weights and their sums in workspaces",
       softmax(Exponential::expf),
       kStorage,
       {4, 32, 128},
       HALFULP_ENTRIES(flash_attention_naive),
       {flash_mask(kFlashMasksInMemory)}},
      {"flash_attention",
       "online_f32",
       "online softmax over tiles of keys, fp32 FMA",
       online_softmax(Exponential::exp2f),
       kStorage,
       {8, 32, 64, 128},
       HALFULP_ENTRIES(flash_attention_online_f32),
       {flash_mask(kFlashMasksInMemory), flash_tile(kFlashTilesF32)}},
      flash_mma("mma_tf32", Format::tf32, false, HALFULP_ENTRIES(flash_attention_mma_tf32)),
      flash_mma("mma_f16", Format::f16, false, HALFULP_ENTRIES(flash_attention_mma_f16)),
      flash_mma("mma_bf16", Format::bf16, false, HALFULP_ENTRIES(flash_attention_mma_bf16)),
      flash_mma("mma_tf32_added", Format::tf32, true,
                HALFULP_ENTRIES(flash_attention_mma_tf32_added)),
      flash_mma("mma_f16_added", Format::f16, true, HALFULP_ENTRIES(flash_attention_mma_f16_added)),
      flash_mma("mma_bf16_added", Format::bf16, true,
                HALFULP_ENTRIES(flash_attention_mma_bf16_added)),
      {"flash_attention",
       "mask_mod",
       "online softmax on tensor cores, a mask functor: tiles skipped, full or masked",
       softmax_mma(false),
       {Format::f16, Format::bf16, Format::tf32},
       kFlashMmaEdges,
       HALFULP_ENTRIES(flash_attention_mask_mod),
       {flash_mask(kFlashMasksCompiled), flash_mma_tile(), flash_number("prefix", 0),
        flash_number("window_left", 0), flash_number("window_right", 0)}},
      {"flash_attention",
       "mask_documents",
       "mask_mod with a functor of a user's own: documents in one sequence",
       softmax_mma(false),
       {Format::f16},
       kFlashMmaEdges,
       HALFULP_ENTRIES(flash_attention_mask_documents),
       {flash_mask(kFlashMasksDocuments), flash_mma_tile(), flash_number("prefix", 1)}},
  };
}

}  // namespace halfulp::gpu
