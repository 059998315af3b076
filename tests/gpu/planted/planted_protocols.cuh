// Blocks that wait for one another, right and with one fault each, for the tests of locks,
// schedules and launches. They take the operands of vector_add in fp32; every block has one thread,
// so that all orders of a few blocks can be run.
#include "gpu/kernels/launch.hpp"
#include "gpu/kernels/vector_add.hpp"

namespace halfulp::gpu::HALFULP_BUILD {

enum class Plant : std::uint8_t { none, first, second };

__global__ void planted_store_kernel(float* to, float value) { *to = value; }

// z[.] = the sum of x, one element a block. locks[0] guards the sum, locks[1] counts who has come.
// First: the sum is read before the lock is taken. Second: the counter is left set.
__global__ void planted_sum_kernel(VectorAdd v, float* sum, std::uint32_t* locks, Plant plant) {
  const float* x = static_cast<const float*>(v.x.data);
  float* z = static_cast<float*>(v.z.data);
  float before = plant == Plant::first ? *sum : 0.0f;
  while (atomicCAS(&locks[0], 0u, 1u) != 0u) {
  }
  __threadfence();
  if (plant != Plant::first) before = *sum;
  *sum = before + x[blockIdx.x];
  __threadfence();
  atomicExch(&locks[0], 0u);
  if (atomicAdd(&locks[1], 1u) + 1 < gridDim.x) return;
  __threadfence();
  for (std::int64_t i = 0; i < v.n; ++i) z[i] = *sum;
  if (plant != Plant::second) atomicExch(&locks[1], 0u);
}

// z[.] = the sum of x: block 0 waits for the others' parts, in order. First: the flag is raised
// before the part is stored. Second: no fence between the part and the flag.
__global__ void planted_hand_over_kernel(VectorAdd v, float* parts, std::uint32_t* flags,
                                         Plant plant) {
  const float* x = static_cast<const float*>(v.x.data);
  float* z = static_cast<float*>(v.z.data);
  const unsigned block = blockIdx.x;
  if (block != 0) {
    if (plant == Plant::first) atomicExch(&flags[block], 1u);
    parts[block] = x[block];
    if (plant != Plant::second) __threadfence();
    if (plant != Plant::first) atomicExch(&flags[block], 1u);
    return;
  }
  float sum = x[0];
  for (unsigned other = 1; other < gridDim.x; ++other) {
    while (atomicAdd(&flags[other], 0u) == 0u) {
    }
    __threadfence();
    sum += parts[other];
    atomicExch(&flags[other], 0u);
  }
  for (std::int64_t i = 0; i < v.n; ++i) z[i] = sum;
}

// Uses one lock more than it asked for, and leaves it as it should.
__global__ void planted_lock_past_end_kernel(VectorAdd v, std::uint32_t* locks) {
  for (std::int64_t i = 0; i < v.n; ++i) static_cast<float*>(v.z.data)[i] = 0.0f;
  atomicExch(locks, 7u);
}

// z[.] = value, by way of the last word of the dynamic shared memory.
__global__ void planted_shared_kernel(VectorAdd v, int words, float value) {
  float* shared = simt::dynamic_shared<float>();
  shared[words - 1] = value;
  for (std::int64_t i = 0; i < v.n; ++i) static_cast<float*>(v.z.data)[i] = shared[words - 1];
}

namespace {

Status sum_of(const Arguments& arguments, Plant plant) {
  VectorAdd v;
  Launcher launcher(arguments, bind(arguments, v));
  float* sum = launcher.workspace<float>("sum", 1);
  std::uint32_t* locks = launcher.locks("locks", 2);
  launcher.launch(planted_store_kernel, 1, 1, sum, 0.0f);
  launcher.launch(planted_sum_kernel, v.n, 1, v, sum, locks, plant);
  return launcher.status();
}

Status hand_over(const Arguments& arguments, Plant plant) {
  VectorAdd v;
  Launcher launcher(arguments, bind(arguments, v));
  float* parts = launcher.workspace<float>("parts", v.n);
  std::uint32_t* flags = launcher.locks("flags", v.n);
  launcher.launch(planted_hand_over_kernel, v.n, 1, v, parts, flags, plant);
  return launcher.status();
}

Status in_shared(const Arguments& arguments, std::int64_t bytes) {
  VectorAdd v;
  Launcher launcher(arguments, bind(arguments, v));
  const std::int64_t resident = launcher.resident_blocks(planted_shared_kernel, 1, bytes);
  launcher.launch(planted_shared_kernel,
                  LaunchShape{.blocks = 1, .threads = 1, .shared_bytes = bytes}, v,
                  static_cast<int>(bytes / 4), static_cast<float>(resident));
  return launcher.status();
}

}  // namespace

Status planted_sum(const Arguments& arguments) { return sum_of(arguments, Plant::none); }
Status planted_sum_read_early(const Arguments& arguments) {
  return sum_of(arguments, Plant::first);
}
Status planted_sum_left_set(const Arguments& arguments) { return sum_of(arguments, Plant::second); }
Status planted_hand_over(const Arguments& arguments) { return hand_over(arguments, Plant::none); }
Status planted_flag_first(const Arguments& arguments) { return hand_over(arguments, Plant::first); }
Status planted_no_fence(const Arguments& arguments) { return hand_over(arguments, Plant::second); }
Status planted_lock_past_end(const Arguments& arguments) {
  VectorAdd v;
  Launcher launcher(arguments, bind(arguments, v));
  std::uint32_t* locks = launcher.locks("locks", 3);
  launcher.launch(planted_lock_past_end_kernel, 1, 1, v, locks + 3);
  return launcher.status();
}
// 64 KiB, which a device has only on request; and more than any has.
Status planted_shared(const Arguments& arguments) { return in_shared(arguments, 64 * 1024); }
Status planted_shared_too_large(const Arguments& arguments) {
  return in_shared(arguments, 228 * 1024);
}
Status planted_resident_none(const Arguments& arguments) {
  VectorAdd v;
  Launcher launcher(arguments, bind(arguments, v));
  const std::int64_t too_large = launcher.resident_blocks(planted_shared_kernel, 1, 228 * 1024);
  const std::int64_t too_many = launcher.resident_blocks(planted_shared_kernel, 2048, 0);
  launcher.launch(planted_shared_kernel, LaunchShape{1, 1, 4}, v, 1,
                  static_cast<float>(too_large + too_many));
  return launcher.status();
}

}  // namespace halfulp::gpu::HALFULP_BUILD
