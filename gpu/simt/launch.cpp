// One launch from beginning to end: the limits CUDA has, blocks becoming resident and retiring, the
// body of every fiber, and what went wrong when nobody can go on.
#include <algorithm>

#include "gpu/assert.hpp"
#include "gpu/simt/checker.hpp"
#include "gpu/simt/report.hpp"
#include "gpu/simt/scheduler.hpp"

// threadIdx and its like; kernels see them as const under their CUDA names (host/builtins.hpp).
__thread uint3 halfulp_simt_thread_index;
__thread uint3 halfulp_simt_block_index;
__thread uint3 halfulp_simt_block_extent;
__thread uint3 halfulp_simt_grid_extent;

namespace halfulp::gpu::simt {

constinit thread_local Launch* t_launch = nullptr;
constinit thread_local Checker* t_kernel_checker = nullptr;

namespace {

constexpr int kResidentMax = 64;

// The body of every fiber: runs threads until there is no next one that can start here.
[[noreturn]] void run_threads(Fiber& self) {
  for (;;) {
    Launch& launch = *t_launch;
    Thread& thread = *launch.current;
    t_kernel_checker = launch.checker;
    launch.run_thread(launch.call);
    t_kernel_checker = nullptr;
    thread.fiber = nullptr;
    end_thread(launch, thread);
    Thread* next = pick(launch);
    if (next != nullptr && next->fiber == nullptr) {
      next->fiber = &self;
      dispatch(launch, self, next);
      continue;
    }
    launch.pool.fibers.give(&self);
    dispatch(launch, self, next);
  }
}

Pool& pool_of_thread() {
  static thread_local Pool pool;
  return pool;
}

std::string check_limits(uint3 grid, uint3 block, std::size_t shared_bytes) {
  if (grid.x < 1 || grid.x > 0x7fffffff || grid.y < 1 || grid.y > 65535 || grid.z < 1 ||
      grid.z > 65535) {
    return "grid " + print(grid) + ": needs 1 to 2147483647, 65535, 65535";
  }
  if (block.x < 1 || block.x > 1024 || block.y < 1 || block.y > 1024 || block.z < 1 ||
      block.z > 64) {
    return "block " + print(block) + ": needs 1 to 1024, 1024, 64";
  }
  if (block.x * block.y * block.z > 1024) {
    return "block " + print(block) + ": over 1024 threads";
  }
  if (shared_bytes > SharedMemory::kBytesMax) {
    return std::to_string(shared_bytes) + " bytes of dynamic shared memory: over " +
           std::to_string(SharedMemory::kBytesMax);
  }
  return {};
}

// Takes the memory of the launch's slots before anything runs: fibers must not throw.
bool reserve(Launch& launch) {
  auto& blocks = launch.pool.blocks;
  while (blocks.size() < static_cast<std::size_t>(launch.slots)) {
    blocks.push_back(std::make_unique<Block>());
    blocks.back()->slot = static_cast<int>(blocks.size()) - 1;
  }
  for (int i = 0; i < launch.slots; ++i) {
    Block& block = launch.slot(i);
    if (block.threads.size() < launch.threads_per_block) {
      block.threads.resize(launch.threads_per_block);
    }
    if (!block.shared.reserve()) return false;
  }
  return true;
}

// The main fiber has got control back: everything has ended, a fault is recorded, or nobody can go
// on.
void conclude(Launch& launch) {
  if (launch.session.fault() || launch.blocks_live == 0) return;
  launch.session.record({FaultKind::deadlock, "no thread can go on" + describe_stuck(launch)});
}

void run(Launch& launch) {
  t_launch = &launch;
  halfulp_simt_block_extent = launch.block_extent;
  halfulp_simt_grid_extent = launch.grid;
  for (int i = 0; i < launch.slots; ++i) start_block(launch, launch.slot(i));
  // Nothing here is a fiber's, so that `main` is where every dispatch without a next thread
  // arrives.
  dispatch(launch, launch.main, pick(launch));
  t_kernel_checker = nullptr;
  conclude(launch);
  if (launch.session.fault()) launch.pool.fibers.abandon_all();
  for (int i = 0; i < launch.slots; ++i) {
    for (Thread& thread : launch.slot(i).threads) {
      thread.fiber = nullptr;
      thread.copies.clear();
    }
  }
  t_launch = nullptr;
}

}  // namespace

Pool::Pool() : fibers(run_threads) {}

uint3 block_index(const Launch& launch, std::uint64_t linear) {
  const std::uint64_t x = launch.grid.x;
  const std::uint64_t y = launch.grid.y;
  return {static_cast<unsigned>(linear % x), static_cast<unsigned>(linear / x % y),
          static_cast<unsigned>(linear / x / y)};
}

void start_block(Launch& launch, Block& block) {
  block.resident = launch.blocks_started < launch.blocks;
  if (!block.resident) return;
  block.linear = launch.blocks_started++;
  block.index = block_index(launch, block.linear);
  block.live = launch.threads_per_block;
  block.cursor = launch.config.order == Order::reverse ? 0 : kBlockWarpsMax * kWarpLanes - 1;
  block.barrier = {};
  block.warps_ready = 0;
  for (unsigned w = 0; w < kBlockWarpsMax; ++w) {
    const unsigned lanes = w < launch.warps_per_block
                               ? std::min(launch.threads_per_block - w * kWarpLanes, kWarpLanes)
                               : 0;
    Warp& warp = block.warps[w];
    warp.live = lanes == kWarpLanes ? ~Mask{0} : (Mask{1} << lanes) - 1;
    warp.ready = warp.started = warp.at_barrier = 0;
    warp.pending.clear();
    if (lanes > 0) make_ready(block, w, warp.live);
  }
  ++launch.blocks_live;
  ++launch.events;
  launch.session.counters().threads += launch.threads_per_block;
  block.shared.begin_block(launch.shared_bytes);
  if (launch.checker != nullptr) {
    launch.checker->start_block(block.slot, block.index);
    if (launch.shared_bytes > 0) {
      const SharedMemory::Variable& dynamic = block.shared.variables().front();
      launch.checker->add_shared(block.slot, dynamic, 0);
    }
  }
}

void retire_block(Launch& launch, Block& block) {
  if (const SharedMemory::Variable* variable = block.shared.overrun()) {
    fail(launch, FaultKind::out_of_bounds, [&] {
      return "block " + print(block.index) + " wrote just outside shared variable " +
             variable->name + " of " + std::to_string(variable->bytes) + " bytes";
    });
  }
  if (launch.checker != nullptr) launch.checker->retire_block(block);
  --launch.blocks_live;
  launch.leave_block = true;
  start_block(launch, block);
}

void end_thread(Launch& launch, Thread& thread) {
  Block& block = *thread.block;
  if (!thread.copies.empty()) {
    for (const AsyncCopy& copy : thread.copies.copies) {
      if (copy.landed) continue;
      fail(launch, FaultKind::async_copy, [&] {
        return print(thread) + " exited before cp_async_wait for the copy issued at " +
               print(copy.site);
      });
    }
    thread.copies.clear();
  }
  ++launch.events;
  Warp& warp = block.warps[thread.warp()];
  warp.live &= ~thread.bit();
  --block.live;
  if (!warp.pending.empty()) complete_without(launch, block, thread.warp());
  if (block.live == 0) {
    retire_block(launch, block);
  } else if (block.barrier.arrived > 0 && block.barrier.arrived == block.live) {
    release_barrier(launch, block, nullptr);
  }
}

namespace runtime {

int resident_blocks(const void* session, uint3 block, std::size_t shared_bytes) {
  HALFULP_GPU_ASSERT(session != nullptr);
  if (!check_limits({1, 1, 1}, block, shared_bytes).empty()) return 0;
  return static_cast<const Session*>(session)->config().resident;
}

Status launch(void* session_pointer, uint3 grid, uint3 block, std::size_t shared_bytes,
              void (*run_thread)(void*), void* call, std::size_t call_bytes) {
  HALFULP_GPU_ASSERT(session_pointer != nullptr);
  HALFULP_GPU_ASSERT(t_launch == nullptr);
  Session& session = *static_cast<Session*>(session_pointer);
  const Config& config = session.config();
  HALFULP_GPU_ASSERT(config.resident >= 1 && config.resident <= kResidentMax);
  HALFULP_GPU_ASSERT(config.order != Order::exhaustive || config.explorer != nullptr);
  if (session.fault()) return {session.fault().text};
  if (const std::string error = check_limits(grid, block, shared_bytes); !error.empty()) {
    session.record({FaultKind::launch_error, error});
    return {error};
  }
  Launch launch{
      .session = session,
      .config = config,
      .checker = session.checker(),
      .pool = pool_of_thread(),
      .grid = grid,
      .block_extent = block,
      .shared_bytes = shared_bytes,
      .run_thread = run_thread,
      .call = call,
      .random = Random(config.seed + static_cast<std::uint64_t>(session.report().launches)),
      .main = {}};
  launch.threads_per_block = block.x * block.y * block.z;
  launch.warps_per_block = (launch.threads_per_block + kWarpLanes - 1) / kWarpLanes;
  launch.blocks = std::uint64_t{grid.x} * grid.y * grid.z;
  launch.slots =
      static_cast<int>(std::min(launch.blocks, static_cast<std::uint64_t>(config.resident)));
  if (!reserve(launch)) {
    session.record({FaultKind::no_memory, "no memory for " + std::to_string(launch.slots) +
                                              " resident blocks; lower the resident limit"});
    return {session.fault().text};
  }
  ++session.counters().launches;
  if (launch.checker != nullptr) {
    launch.checker->begin_launch(launch, call, call_bytes);
  }
  run(launch);
  session.counters().switches += launch.switches;
  if (launch.checker != nullptr) launch.checker->end_launch();
  return {session.fault().text};
}

void* shared_variable(const void* key, std::size_t bytes, std::size_t element_bytes,
                      const char* name) {
  const OutsideKernel outside;
  Launch& launch = *t_launch;
  Block& block = *launch.current->block;
  bool created = false;
  const SharedMemory::Variable* variable = block.shared.variable(key, bytes, name, created);
  if (variable == nullptr) {
    fail(launch, FaultKind::launch_error, [&] {
      return std::string("static shared memory with ") + name + " is over " +
             std::to_string(SharedMemory::kStaticBytesMax) +
             " bytes, or with the dynamic part over " + std::to_string(SharedMemory::kBytesMax);
    });
  }
  if (created && launch.checker != nullptr) {
    launch.checker->add_shared(block.slot, *variable, element_bytes);
  }
  return variable->data;
}

void* dynamic_shared() { return t_launch->current->block->shared.dynamic(); }

void vector_access(const void* address, std::size_t bytes, bool write, Site site) {
  const OutsideKernel outside;
  Launch& launch = *t_launch;
  if (reinterpret_cast<std::uintptr_t>(address) % bytes != 0) {
    fail(launch, FaultKind::misaligned, [&] {
      return "vector " + std::string(write ? "store" : "load") + " of " + std::to_string(bytes) +
             " bytes at " + print(site) + " by " + print(*launch.current) +
             ": the address is not aligned to its size";
    });
  }
  if (launch.checker != nullptr) launch.checker->access(address, bytes, write, site);
}

}  // namespace runtime
}  // namespace halfulp::gpu::simt
