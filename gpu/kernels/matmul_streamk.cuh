// matmul by Stream-K: programs share the tiles of C, and the variants differ in how the parts of a
// shared tile come together. All are one kernel, since all but a few lines of it are the same
// product; its argument says which fix-up.
#include "gpu/kernels/matmul_streamk.hpp"

namespace halfulp::gpu::HALFULP_BUILD {

enum class StreamkFixup : std::uint8_t {
  // The tile is zeroed first, and every program adds its fp32 sums by atomics: to C itself where C
  // is f32, else to a workspace, which a last pass rounds to C.
  atomic,
  // The same with sums rounded to C's format, straight to C.
  atomic_half,
  // The first program to arrive claims the tile's lock (0 to 1), stores, and says so (2); the
  // others wait for that, then add atomically. Only a program that runs can have claimed, and it
  // waits for nobody: any number of programs is safe.
  lock3,
  // The program with the tile's last iteration, which it runs first of all, stores and raises the
  // flag; the others wait for it, then add atomically. Safe only while all programs are resident.
  lock,
  // Programs leave their fp32 sums in a workspace and count themselves; the last to arrive adds all
  // of them in order of k. Nobody waits, and the same input gives the same bits.
  workspace,
};

struct StreamkMemory {
  float* sums = nullptr;           // atomic: shared tiles. workspace: two places a program
  std::uint32_t* locks = nullptr;  // a word for each shared tile
};

// lock3: whether this block claimed the tile; where not, returns once the tile is stored. In all
// threads of the block. A lock counts on from 2 those that have seen the tile stored; the last of
// them lowers it for the next call.
__device__ inline bool streamk_lock3_claim(std::uint32_t* lock, std::int64_t contributors) {
  bool claimed = false;
  if (threadIdx.x == 0) {
    claimed = atomicCAS(lock, 0u, 1u) == 0;
    if (!claimed) {
      while (simt::load_acquire(lock) < 2) __nanosleep(20);
      const std::uint32_t seen = atomicAdd(lock, 1u);  // 2, and those before this one
      if (seen == contributors) atomicExch(lock, 0u);
    }
  }
  return __syncthreads_or(claimed) != 0;
}

// lock: returns once the tile is stored. A flag counts on from 1 those that have seen it; the last
// of them lowers it for the next call.
__device__ inline void streamk_lock_wait(std::uint32_t* flag, std::int64_t contributors) {
  if (threadIdx.x == 0) {
    while (simt::load_acquire(flag) == 0) __nanosleep(20);
    const std::uint32_t seen = atomicAdd(flag, 1u);  // 1, and those before this one
    if (seen == contributors - 1) atomicExch(flag, 0u);
  }
  __syncthreads();
}

// workspace: whether this block is the last of the tile's contributors, whose parts it may then
// read. In all threads of the block.
__device__ inline bool streamk_workspace_last(std::uint32_t* counter, std::int64_t contributors) {
  __syncthreads();
  bool last = false;
  if (threadIdx.x == 0) {
    __threadfence();
    last = atomicAdd(counter, 1u) == contributors - 1;
    __threadfence();
    if (last) *counter = 0;  // for the next call
  }
  return __syncthreads_or(last) != 0;
}

// A program shares at most two tiles: one that earlier programs began, and one that later programs
// go on with. Place 2 p holds its part of the first, 2 p + 1 its part of the second.
__device__ inline std::int64_t streamk_workspace_place(std::int64_t program, bool owns_first) {
  return 2 * program + (owns_first ? 1 : 0);
}

template <class Body>
__device__ inline void streamk_workspace_keep(float* parts, const MatmulSegment& segment,
                                              typename Body::Accumulators& sums) {
  const std::int64_t place = streamk_workspace_place(blockIdx.x, segment.owns_first());
  streamk_visit_share<Body>(parts, place, sums, [](float* mine, float sum) { *mine = sum; });
}

// sums = the parts of all contributors, in order of k.
template <class Body>
__device__ inline void streamk_workspace_sum(float* parts, const MatmulSegment& segment,
                                             typename Body::Accumulators& sums) {
  Body::clear(sums);
  for (std::int64_t i = 0; i < segment.contributors; ++i) {
    const std::int64_t place = streamk_workspace_place(segment.program_first + i, i == 0);
    streamk_visit_share<Body>(parts, place, sums, [](float* part, float& sum) { sum += *part; });
  }
}

template <class T, class Body>
__global__ void __launch_bounds__(Body::kThreads)
    matmul_streamk_kernel(const __grid_constant__ MatmulStreamk work, StreamkFixup fixup,
                          StreamkMemory memory) {
  constexpr bool kOutputSums = sizeof(OutputOf<T>) == 4;
  streamk_run<Body>(work, [&](const MatmulSegment& segment, typename Body::Accumulators& sums) {
    std::uint32_t* lock = memory.locks + segment.tile;
    bool store = !segment.shared();
    bool add = false;
    std::uint32_t raise = 0;  // the lock's value once the tile is stored
    if (segment.shared()) {
      switch (fixup) {
        case StreamkFixup::atomic:
          add = kOutputSums;
          if (!add) streamk_add_sums<T, Body>(work, memory.sums, segment.tile, sums);
          break;
        case StreamkFixup::atomic_half:
          add = true;
          break;
        case StreamkFixup::lock3:
          store = streamk_lock3_claim(lock, segment.contributors);
          add = !store;
          raise = 2;
          break;
        case StreamkFixup::lock:
          store = segment.owns_last();
          add = !store;
          raise = 1;
          if (add) streamk_lock_wait(lock, segment.contributors);
          break;
        case StreamkFixup::workspace:
          streamk_workspace_keep<Body>(memory.sums, segment, sums);
          store = streamk_workspace_last(lock, segment.contributors);
          if (store) streamk_workspace_sum<Body>(memory.sums, segment, sums);
          break;
      }
    }
    if (add) streamk_add<T, Body>(work, segment.tile, sums);
    if (store) {
      streamk_store<T, Body>(work, segment.tile, sums);
      if (raise != 0) {
        __syncthreads();
        if (threadIdx.x == 0) simt::store_release(lock, raise);
      }
    }
  });
}

// Launches the programs and what the fix-up needs before and after them.
template <class T, class Body>
void matmul_streamk_launch(const Arguments& arguments, Launcher& launcher, const Matmul& g,
                           StreamkFixup fixup) {
  constexpr std::int64_t kTile = std::int64_t{Body::kTileM} * Body::kTileN;
  const auto kernel = matmul_streamk_kernel<T, Body>;
  const StreamkPlan plan = streamk_plan<Body>(arguments, launcher, g, kernel);
  const std::int64_t shared = plan.tiles.blocks;
  const bool rounds = fixup == StreamkFixup::atomic && sizeof(OutputOf<T>) != 4;
  const bool zeroes = fixup == StreamkFixup::atomic || fixup == StreamkFixup::atomic_half;
  if (fixup == StreamkFixup::lock && plan.asked > plan.resident) {
    launcher.refuse("programs", std::to_string(plan.asked) + " programs wait for each other, " +
                                    std::to_string(plan.resident) + " can be resident");
  }
  if (fixup == StreamkFixup::atomic_half && sizeof(OutputOf<T>) == 4) {
    launcher.refuse("c", "format " + std::string(name(g.storage)) + ", needs f16 or bf16");
  }
  StreamkMemory memory;
  if (rounds) memory.sums = launcher.workspace<float>("sums", shared * kTile);
  if (fixup == StreamkFixup::workspace && shared > 0) {
    memory.sums = launcher.workspace<float>("parts", 2 * plan.programs.blocks * kTile);
  }
  if (!zeroes) memory.locks = launcher.locks("locks", shared);
  if (rounds) {
    launcher.launch(matmul_streamk_zero_sums_kernel<Body>, plan.tiles, memory.sums);
  } else if (zeroes) {
    launcher.launch(matmul_streamk_zero_kernel<T, Body>, plan.tiles, plan.work);
  }
  launcher.launch(kernel, plan.programs, plan.work, fixup, memory);
  if (rounds) {
    launcher.launch(matmul_streamk_round_kernel<T, Body>, plan.tiles, plan.work, memory.sums);
  }
}

inline Status matmul_streamk(const Arguments& arguments, StreamkFixup fixup) {
  Matmul g;
  Launcher launcher(arguments, bind(arguments, g));
  const std::int64_t tile = matmul_tile_setting(arguments, launcher, kMatmulTilesShared);
  with_matmul_body<kMatmulTilesShared>(launcher, g.storage, tile, [&]<class T, class Body>() {
    matmul_streamk_launch<T, Body>(arguments, launcher, g, fixup);
  });
  return launcher.status();
}

Status matmul_streamk_atomic(const Arguments& arguments) {
  return matmul_streamk(arguments, StreamkFixup::atomic);
}
Status matmul_streamk_atomic_half(const Arguments& arguments) {
  return matmul_streamk(arguments, StreamkFixup::atomic_half);
}
Status matmul_streamk_lock3(const Arguments& arguments) {
  return matmul_streamk(arguments, StreamkFixup::lock3);
}
Status matmul_streamk_lock(const Arguments& arguments) {
  return matmul_streamk(arguments, StreamkFixup::lock);
}
Status matmul_streamk_workspace(const Arguments& arguments) {
  return matmul_streamk(arguments, StreamkFixup::workspace);
}

}  // namespace halfulp::gpu::HALFULP_BUILD
