// The test kernels; compiled as halfulp::gpu::test_plain and halfulp::gpu::test_checked.
#include "tests/gpu/simt_kernels.hpp"

#include "gpu/simt/simt.cuh"

namespace halfulp::gpu::HALFULP_BUILD {
namespace {

using simt_test::Buffers;
using simt_test::Named;
using simt_test::Plant;
constexpr int kThreads = Buffers::kThreads;
constexpr int kBlocks = Buffers::kBlocks;
constexpr int kSteps = Buffers::kSteps;

__device__ int thread_in_grid() { return static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); }

// y[i] = x[i] + x[i's right neighbour in the block], through shared memory. First: no barrier.
__global__ void neighbour_sum(Plant plant, Buffers b) {
  SIMT_SHARED(float, tile, [kThreads]);
  const int t = static_cast<int>(threadIdx.x);
  const int i = thread_in_grid();
  tile[t] = b.x[i];
  if (plant != Plant::first) __syncthreads();
  b.y[i] = tile[t] + tile[(t + 1) % kThreads];
}

// Every lane gets its warp's first x. First: no __syncwarp.
__global__ void warp_broadcast(Plant plant, Buffers b) {
  SIMT_SHARED(float, first, [kThreads / 32]);
  const int t = static_cast<int>(threadIdx.x);
  const int i = thread_in_grid();
  if (t % 32 == 0) first[t / 32] = b.x[i];
  if (plant != Plant::first) __syncwarp();
  b.y[i] = first[t / 32];
}

// y[i] = sum over steps of the neighbour's x, one shared buffer reused. First: no barrier before
// the buffer is written again (write after read). Second: none before it is read.
__global__ void buffer_reuse(Plant plant, Buffers b) {
  SIMT_SHARED(float, buffer, [kThreads]);
  const int t = static_cast<int>(threadIdx.x);
  const int i = thread_in_grid();
  float sum = 0;
  for (int step = 0; step < kSteps; ++step) {
    buffer[t] = b.x[i * kSteps + step];
    if (plant != Plant::second) __syncthreads();
    sum += buffer[(t + 33) % kThreads];
    if (plant != Plant::first) __syncthreads();
  }
  b.y[i] = sum;
}

// y[4 i ..] = x, staged by cp.async and read by another thread. First: no wait. Second: no barrier
// after the wait. Third: the source runs past the end of x.
__global__ void staged_copy(Plant plant, Buffers b) {
  auto* stage = simt::dynamic_shared<float>();
  const int t = static_cast<int>(threadIdx.x);
  const int i = thread_in_grid();
  const int other = (t + 32) % kThreads;
  simt::cp_async_16(stage + 4 * t,
                    b.x + 4 * (plant == Plant::third && i == kBlocks * kThreads - 1 ? i + 1 : i));
  simt::cp_async_commit();
  if (plant != Plant::first) simt::cp_async_wait<0>();
  if (plant != Plant::second) __syncthreads();
  for (int j = 0; j < 4; ++j) b.y[4 * (i - t + other) + j] = stage[4 * other + j];
  if (plant == Plant::first) simt::cp_async_wait<0>();
}

// Block 0 sums what every other block has published in the workspace behind a flag, then clears the
// flag. First: no fence before the flag. Second: only a block-wide fence. Third: the flag is left
// set.
__global__ void publish(Plant plant, Buffers b) {
  const int t = static_cast<int>(threadIdx.x);
  const int block = static_cast<int>(blockIdx.x);
  float* slot = b.workspace + block * kThreads;
  if (block != 0) {
    slot[t] = b.x[thread_in_grid()];
    __syncthreads();
    if (t == 0) {
      if (plant == Plant::second) {
        __threadfence_block();
      } else if (plant != Plant::first) {
        __threadfence();
      }
      atomicExch(&b.flags[block], 1u);
    }
    return;
  }
  float sum = b.x[t];
  for (int other = 1; other < kBlocks; ++other) {
    if (t == 0) {
      while (atomicAdd(&b.flags[other], 0u) == 0u) __nanosleep(20);
      __threadfence();
    }
    __syncthreads();
    sum += b.workspace[other * kThreads + t];
    __syncthreads();
    if (t == 0 && plant != Plant::third) atomicExch(&b.flags[other], 0u);
  }
  b.y[t] = sum;
}

// The same hand-over with store_release and load_acquire.
__global__ void publish_release(Plant, Buffers b) {
  const int t = static_cast<int>(threadIdx.x);
  const int block = static_cast<int>(blockIdx.x);
  if (block != 0) {
    b.workspace[block * kThreads + t] = b.x[thread_in_grid()];
    __syncthreads();
    if (t == 0) simt::store_release(&b.flags[block], 1u);
    return;
  }
  float sum = b.x[t];
  for (int other = 1; other < kBlocks; ++other) {
    while (simt::load_acquire(&b.flags[other]) == 0u) {
    }
    sum += b.workspace[other * kThreads + t];
  }
  b.y[t] = sum;
}

// Each block waits for the block after it. Right, but needs them all resident.
__global__ void wait_for_next(Plant, Buffers b) {
  const int block = static_cast<int>(blockIdx.x);
  if (threadIdx.x == 0) {
    if (block + 1 < kBlocks) {
      while (simt::load_acquire(&b.flags[block + 1]) == 0u) {
      }
    }
    simt::store_release(&b.flags[block], 1u);
  }
  __syncthreads();
  b.y[thread_in_grid()] = 1;
}

__device__ void lock(unsigned* flag) {
  while (atomicCAS(flag, 0u, 1u) != 0u) __nanosleep(20);
  __threadfence();
}
__device__ void unlock(unsigned* flag) {
  __threadfence();
  atomicExch(flag, 0u);
}

// counters[0] counts the blocks, under a lock. First: unlocked before the update.
__global__ void locked_increment(Plant plant, Buffers b) {
  if (threadIdx.x != 0) return;
  lock(&b.flags[0]);
  const int value = b.counters[0];
  if (plant == Plant::first) unlock(&b.flags[0]);
  b.counters[0] = value + 1;
  if (plant != Plant::first) unlock(&b.flags[0]);
}

// Takes two locks; first: in an order that depends on the block.
__global__ void two_locks(Plant plant, Buffers b) {
  if (threadIdx.x != 0) return;
  const unsigned a = plant == Plant::first ? blockIdx.x % 2 : 0;
  lock(&b.flags[a]);
  lock(&b.flags[1 - a]);
  b.counters[0] += 1;
  unlock(&b.flags[1 - a]);
  unlock(&b.flags[a]);
}

// First: half of each warp waits at another barrier than the rest. Second: half waits for the rest
// in a warp operation, the rest at the barrier.
__global__ void divergent_barrier(Plant plant, Buffers b) {
  const bool lower = threadIdx.x % 32 < 16;
  if (plant == Plant::first && lower) {
    __syncthreads();
  } else {
    if (plant == Plant::second && lower) __syncwarp();
    __syncthreads();
  }
  b.y[thread_in_grid()] = 1;
}

// The warp's sum of x in lane order. First: half the lanes are not in the mask. Second: the upper
// lanes have exited before. Third: two different operations meet.
__global__ void warp_sum(Plant plant, Buffers b) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int i = thread_in_grid();
  if (plant == Plant::second && lane >= 16) return;
  float sum = b.x[i];
  for (int offset = 16; offset > 0; offset /= 2) {
    const unsigned mask = plant == Plant::first ? 0xffffu : 0xffffffffu;
    if (plant == Plant::third && lane < 16) {
      sum += __shfl_down_sync(mask, sum, 0);
    } else {
      sum += __shfl_xor_sync(mask, sum, offset);
    }
  }
  b.y[i] = sum;
}

// Exited lanes and threads take no part in barriers, votes and shuffles among the rest. Right.
__global__ void early_exit(Plant, Buffers b) {
  const int t = static_cast<int>(threadIdx.x);
  const int i = thread_in_grid();
  b.y[i] = -1;
  if (t % 4 == 3) return;
  __syncthreads();
  const unsigned votes = __ballot_sync(0xffffffffu, t % 4 == 1);
  const float first = __shfl_sync(0xffffffffu, b.x[i], 0);
  const int others = __syncthreads_count(t % 4 == 2);
  b.y[i] = first + static_cast<float>(__popc(votes)) + static_cast<float>(others);
}

// First: reads one element past x. Second: writes one before y. Third: an atomic past the flags.
__global__ void out_of_bounds(Plant plant, Buffers b) {
  const int i = thread_in_grid();
  const int n = kBlocks * kThreads * kSteps;
  const bool last = i == kBlocks * kThreads - 1;
  float value = 0;
  for (int step = 0; step < kSteps; ++step) value += b.x[i * kSteps + step];
  if (plant == Plant::first && last) value += b.x[n];
  if (plant == Plant::second && last) b.y[-1] = value;
  if (plant == Plant::third && last) atomicAdd(&b.flags[kBlocks + 1], 1u);
  b.y[i] = value;
}

// First: reads past a static shared array. Second: writes past the dynamic part. Third: ldmatrix
// from there.
__global__ void out_of_bounds_shared(Plant plant, Buffers b) {
  SIMT_SHARED(float, tile, [kThreads]);
  auto* dynamic = simt::dynamic_shared<float>();
  const int t = static_cast<int>(threadIdx.x);
  tile[t] = dynamic[t] = b.x[t];
  __syncthreads();
  float value = tile[(t + 1) % kThreads];
  if (plant == Plant::first && t == 5) value += tile[kThreads];
  if (plant == Plant::second && t == 5) dynamic[kThreads] = value;
  if (plant == Plant::third && t < 32) {
    unsigned r[1];
    simt::ldmatrix_x1(r, dynamic + (kThreads - 28) + 4 * (t % 8));
    value += static_cast<float>(r[0]);
  }
  b.y[thread_in_grid()] = value;
}

// First: reads shared memory that nothing wrote. Second: reads the output. Third: adds to it
// atomically.
__global__ void uninitialised(Plant plant, Buffers b) {
  SIMT_SHARED(float, tile, [kThreads]);
  const int t = static_cast<int>(threadIdx.x);
  const int i = thread_in_grid();
  if (t != 7 || plant != Plant::first) tile[t] = b.x[i];
  __syncthreads();
  if (plant == Plant::third) atomicAdd(&b.y[i], 1.0f);
  b.y[i] = tile[kThreads - 1 - t] + (plant == Plant::second ? b.y[i] : 0.0f);
}

// First: writes an input. Second: a vector load that is not aligned. Third: a misaligned cp.async.
__global__ void misuse(Plant plant, Buffers b) {
  const int i = thread_in_grid();
  auto* stage = simt::dynamic_shared<float>();
  if (plant == Plant::first && i == 3) b.x[i] = 0;
  const float* from = b.x + 4 * i + (plant == Plant::second && i == 3 ? 1 : 0);
  const auto four = simt::load_vector<float4>(from);
  if (plant == Plant::third) {
    simt::cp_async_8(stage + 1, b.x);
    simt::cp_async_commit();
    simt::cp_async_wait<0>();
  }
  simt::store_vector(b.y + 4 * i, make_float4(four.w, four.z, four.y, four.x));
}

// Neighbouring threads write neighbouring bytes and halves of one word. Right.
__global__ void narrow_writes(Plant, Buffers b) {
  SIMT_SHARED(unsigned char, bytes, [kThreads]);
  SIMT_SHARED(__half, halves, [kThreads]);
  const int t = static_cast<int>(threadIdx.x);
  bytes[t] = static_cast<unsigned char>(t);
  halves[t] = __float2half_rn(b.x[t]);
  auto* out = reinterpret_cast<__half*>(b.y) + blockIdx.x * kThreads;
  out[t] = __ushort_as_half(static_cast<unsigned short>(t));
  __syncthreads();
  b.workspace[thread_in_grid()] =
      static_cast<float>(bytes[kThreads - 1 - t]) + __half2float(halves[kThreads - 1 - t]);
}

// A histogram by atomics, zeroed by the launch before. First: added to without atomics.
__global__ void zero(Plant, Buffers b) { b.y[thread_in_grid()] = 0; }
__global__ void histogram(Plant plant, Buffers b) {
  float* bin = &b.y[threadIdx.x % 4];
  if (plant == Plant::first) {
    *bin += 1;
  } else {
    atomicAdd(bin, 1.0f);
  }
}

// The last block to arrive, by an atomic ticket, adds up what all have left. First: no fence.
// Second: each thread's fence comes before the barrier, so that the ticket releases only what its
// own thread wrote.
__global__ void last_block_sums(Plant plant, Buffers b) {
  SIMT_SHARED(bool, last);
  const int t = static_cast<int>(threadIdx.x);
  b.workspace[thread_in_grid()] = b.x[thread_in_grid()];
  if (plant == Plant::second) __threadfence();
  __syncthreads();
  if (t == 0) {
    if (plant == Plant::none) __threadfence();
    last = atomicAdd(&b.counters[0], 1) == static_cast<int>(gridDim.x) - 1;
    if (plant != Plant::first) __threadfence();
  }
  __syncthreads();
  if (!last) return;
  float sum = 0;
  for (unsigned block = 0; block < gridDim.x; ++block) {
    sum += b.workspace[block * kThreads + threadIdx.x];
  }
  b.y[t] = sum;
}

template <void (*kKernel)(Plant, Buffers)>
simt::Status run(Plant plant, void* stream, const Buffers& buffers) {
  const std::size_t dynamic_bytes = 4 * kThreads * sizeof(float);
  return simt::launch(kKernel, dim3(kBlocks), dim3(kThreads), dynamic_bytes, stream, plant,
                      buffers);
}
simt::Status run_exact_shared(Plant plant, void* stream, const Buffers& buffers) {
  return simt::launch(out_of_bounds_shared, dim3(kBlocks), dim3(kThreads), kThreads * sizeof(float),
                      stream, plant, buffers);
}
simt::Status run_histogram(Plant plant, void* stream, const Buffers& buffers) {
  const simt::Status status = run<zero>(plant, stream, buffers);
  return status.ok() ? run<histogram>(plant, stream, buffers) : status;
}
simt::Status run_publish_twice(Plant plant, void* stream, const Buffers& buffers) {
  const simt::Status status = run<publish>(plant, stream, buffers);
  return status.ok() ? run<publish>(plant, stream, buffers) : status;
}
simt::Status run_two_blocks(Plant plant, void* stream, const Buffers& buffers) {
  return simt::launch(two_locks, dim3(2), dim3(32), 0, stream, plant, buffers);
}
simt::Status run_locked(Plant plant, void* stream, const Buffers& buffers) {
  return simt::launch(locked_increment, dim3(2), dim3(32), 0, stream, plant, buffers);
}

}  // namespace

const std::vector<Named>& launchers() {
  static const std::vector<Named> all = {
      {"neighbour_sum", run<neighbour_sum>},
      {"warp_broadcast", run<warp_broadcast>},
      {"buffer_reuse", run<buffer_reuse>},
      {"staged_copy", run<staged_copy>},
      {"publish", run<publish>},
      {"publish_twice", run_publish_twice},
      {"publish_release", run<publish_release>},
      {"wait_for_next", run<wait_for_next>},
      {"locked_increment", run_locked},
      {"two_locks", run_two_blocks},
      {"divergent_barrier", run<divergent_barrier>},
      {"warp_sum", run<warp_sum>},
      {"early_exit", run<early_exit>},
      {"out_of_bounds", run<out_of_bounds>},
      {"out_of_bounds_shared", run_exact_shared},
      {"uninitialised", run<uninitialised>},
      {"misuse", run<misuse>},
      {"narrow_writes", run<narrow_writes>},
      {"histogram", run_histogram},
      {"last_block_sums", run<last_block_sums>},
  };
  return all;
}

}  // namespace halfulp::gpu::HALFULP_BUILD
