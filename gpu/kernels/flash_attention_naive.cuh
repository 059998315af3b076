// flash_attention, unfused: scores, weights and their sums in workspaces, a pass for each and one
// for the output. All of it in fp32, expf(score - maximum), one division at the end.
#include "gpu/kernels/flash_attention_access.hpp"
#include "gpu/kernels/launch.hpp"

namespace halfulp::gpu::HALFULP_BUILD {

inline constexpr int kFlashNaiveBlock = 128;
inline constexpr int kFlashNaiveRows = kFlashNaiveBlock / 32;  // of a block, a warp each
inline constexpr std::int64_t kFlashNaiveScoresMost = std::int64_t{1} << 38;

// Rows are the queries of all heads of all batches.
struct FlashNaive {
  std::int64_t rows = 0;
  float* scores = nullptr;   // (rows, keys)
  float* weights = nullptr;  // (rows, keys): exp(score - maximum of the row)
  float* sums = nullptr;     // (rows) of weights
};

__device__ inline std::int64_t flash_naive_thread() {
  return std::int64_t{blockIdx.x} * kFlashNaiveBlock + static_cast<std::int64_t>(threadIdx.x);
}

// One score a thread.
template <class T>
__global__ void flash_attention_naive_scores_kernel(FlashAttention g, FlashNaive work) {
  const std::int64_t index = flash_naive_thread();
  if (index >= work.rows * g.keys) return;
  const std::int64_t row = index / g.keys;
  const std::int64_t i = row % g.queries;
  const std::int64_t j = index % g.keys;
  const FlashHead at = flash_head(g, row / g.queries);
  const T* query = row_of<const T>(g.q, at, i);
  const T* key = row_of<const T>(g.k, at, j);
  float sum = 0.0f;
  for (int d = 0; d < static_cast<int>(g.dim); ++d) {
    sum = fmaf(to_float(query[d]), to_float(key[d]), sum);
  }
  float score = sum * g.scale;
  if (g.mask == KeyMask::additive) score += additive_at<T>(g.additive, at, i, j);
  work.scores[index] = score;
}

// One row a warp. A NaN among the scores is not a maximum, but its weight is NaN.
__global__ void flash_attention_naive_weights_kernel(FlashAttention g, FlashNaive work) {
  const std::int64_t row = flash_naive_thread() / 32;
  const auto lane = static_cast<std::int64_t>(threadIdx.x % 32);
  if (row >= work.rows) return;
  const float* scores = work.scores + row * g.keys;
  float* weights = work.weights + row * g.keys;
  float maximum = closed_score();
  for (std::int64_t j = lane; j < g.keys; j += 32) maximum = fmaxf(maximum, scores[j]);
  for (int offset = 16; offset > 0; offset /= 2) {
    maximum = fmaxf(maximum, __shfl_xor_sync(0xffffffffu, maximum, offset));
  }
  maximum = finite_maximum(maximum);
  float sum = 0.0f;
  for (std::int64_t j = lane; j < g.keys; j += 32) {
    const float weight = expf(scores[j] - maximum);
    weights[j] = weight;
    sum += weight;
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  }
  if (lane == 0) work.sums[row] = sum;
}

// One element of the output a thread; +0 where no weight is above 0.
template <class T>
__global__ void flash_attention_naive_output_kernel(FlashAttention g, FlashNaive work) {
  const std::int64_t index = flash_naive_thread();
  if (index >= work.rows * g.dim) return;
  const std::int64_t row = index / g.dim;
  const std::int64_t d = index % g.dim;
  const FlashHead at = flash_head(g, row / g.queries);
  const float* weights = work.weights + row * g.keys;
  float numerator = 0.0f;
  for (std::int64_t j = 0; j < g.keys; ++j) {
    numerator = fmaf(weights[j], to_float(row_of<const T>(g.v, at, j)[d]), numerator);
  }
  const float sum = work.sums[row];
  const float x = sum == 0.0f ? 0.0f : numerator / sum;
  row_of<T>(g.out, at, row % g.queries)[d] = from_float<T>(x);
}

Status flash_attention_naive(const Arguments& arguments) {
  FlashAttention g;
  Launcher launcher(arguments, bind(arguments, g));
  if (g.storage == Format::tf32) launcher.refuse("q", "format tf32, needs f32, f16 or bf16");
  FlashNaive work;
  work.rows = g.batches * g.heads * g.queries;
  if (g.keys > 0 && work.rows > kFlashNaiveScoresMost / g.keys) {
    launcher.refuse("k", "more than 2^38 scores");
  }
  if (!launcher.status().ok() || work.rows == 0) return launcher.status();
  work.scores = launcher.workspace<float>("scores", work.rows * g.keys);
  work.weights = launcher.workspace<float>("weights", work.rows * g.keys);
  work.sums = launcher.workspace<float>("weight_sums", work.rows);
  with_storage(g.storage, [&]<class T>() {
    launcher.launch(flash_attention_naive_scores_kernel<T>,
                    launcher.blocks("k", work.rows * g.keys, kFlashNaiveBlock), kFlashNaiveBlock, g,
                    work);
    launcher.launch(flash_attention_naive_weights_kernel,
                    launcher.blocks("q", work.rows, kFlashNaiveRows), kFlashNaiveBlock, g, work);
    launcher.launch(flash_attention_naive_output_kernel<T>,
                    launcher.blocks("out", work.rows * g.dim, kFlashNaiveBlock), kFlashNaiveBlock,
                    g, work);
  });
  return launcher.status();
}

}  // namespace halfulp::gpu::HALFULP_BUILD
