// The executor's state: a launch, its resident blocks, their warps and threads. Internal to
// halfulp_simt.
//
// A launch keeps up to Config::resident blocks in slots. A thread is ready (a bit of its warp),
// running (the launch's `current`), or waiting at a barrier or in a collective. It gets a fiber
// when it first runs and keeps it until it ends; a fiber whose thread has ended goes on with the
// next thread that has not started, so that kernels which never wait run on one stack and never
// switch.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <string>
#include <vector>

#include "gpu/simt/async_copy.hpp"
#include "gpu/simt/fiber.hpp"
#include "gpu/simt/random.hpp"
#include "gpu/simt/runtime.hpp"
#include "gpu/simt/session.hpp"
#include "gpu/simt/shared_memory.hpp"

namespace halfulp::gpu::simt {

using Site = std::source_location;
using Mask = std::uint32_t;  // one bit a lane
inline constexpr unsigned kWarpLanes = 32;
inline constexpr unsigned kBlockWarpsMax = 32;

struct Block;
struct Launch;

enum class Wait : std::uint8_t { none, barrier, collective };

struct Thread {
  Fiber* fiber = nullptr;
  Block* block = nullptr;
  uint3 index{};
  unsigned linear = 0;  // in the block
  Wait wait = Wait::none;
  Site site;  // where it waits or last polled
  const char* operation = "";

  // Polls: atomics that changed nothing since `poll_event`. See scheduler.cpp.
  std::array<const void*, 2> poll_addresses{};
  std::uint64_t poll_event = 0;
  int polls = 0;         // on the two last addresses
  int unproductive = 0;  // on any address

  // What a collective takes from and gives to this lane.
  std::uint64_t value = 0;
  std::uint64_t result = 0;
  int argument = 0;
  int width = 0;
  const void* input = nullptr;
  void* output = nullptr;

  AsyncCopies copies;

  unsigned warp() const { return linear / kWarpLanes; }
  unsigned lane() const { return linear % kWarpLanes; }
  Mask bit() const { return Mask{1} << lane(); }
};

// A warp operation that some lanes have reached and others not yet.
struct Collective {
  using Complete = void (*)(Launch& launch, Block& block, unsigned warp, const Collective& self);
  Mask mask = 0;  // lanes that must take part, those that have exited excepted
  Mask arrived = 0;
  const char* operation = "";
  Complete complete = nullptr;  // computes every arrived lane's result
  Site site;
};

struct Warp {
  Mask live = 0;  // started or not, but not ended
  Mask ready = 0;
  Mask started = 0;
  Mask at_barrier = 0;
  std::vector<Collective> pending;  // of disjoint masks
};

struct BarrierState {
  unsigned arrived = 0;
  runtime::Barrier kind = runtime::Barrier::plain;
  Site site;           // of the first thread that arrived
  unsigned count = 0;  // predicates that held so far
  int result = 0;      // of the last round; every thread reads it before it can arrive again
};

struct Block {
  int slot = 0;
  bool resident = false;
  uint3 index{};
  std::uint64_t linear = 0;  // in the grid
  unsigned live = 0;
  Mask warps_ready = 0;  // warps with a ready lane
  unsigned cursor = 0;   // the thread that ran last
  std::array<Warp, kBlockWarpsMax> warps;
  std::vector<Thread> threads;
  BarrierState barrier;
  SharedMemory shared;
};

// Kept by an OS thread from launch to launch: stacks, blocks and their arenas.
struct Pool {
  Pool();
  FiberPool fibers;
  std::vector<std::unique_ptr<Block>> blocks;
};

struct Launch {
  Session& session;
  const Config& config;
  Checker* checker;  // nullptr: not checked
  Pool& pool;
  uint3 grid{};
  uint3 block_extent{};
  std::size_t shared_bytes = 0;
  void (*run_thread)(void*) = nullptr;
  void* call = nullptr;

  unsigned threads_per_block = 0;
  unsigned warps_per_block = 0;
  std::uint64_t blocks = 0;
  std::uint64_t blocks_started = 0;
  int slots = 0;
  int blocks_live = 0;

  Thread* current = nullptr;
  Block* last = nullptr;     // the block that ran last
  bool leave_block = false;  // the running block asked to let another one run
  std::uint64_t events =
      0;  // anything that can end a poll: a changed value, a release, an exit, a start
  std::int64_t switches = 0;
  Random random;
  Fiber main;

  Block& slot(int i) const { return *pool.blocks[static_cast<std::size_t>(i)]; }
};

// The launch that this OS thread runs, and its checker while kernel code runs, otherwise nullptr.
extern constinit thread_local Launch* t_launch;
extern constinit thread_local Checker* t_kernel_checker;

// Every function of the runtime that kernels call holds one: the runtime's own memory is not
// checked, even where the linker has merged a library template with a kernel's instrumented copy.
class OutsideKernel {
 public:
  OutsideKernel() { t_kernel_checker = nullptr; }
  ~OutsideKernel() { t_kernel_checker = t_launch->checker; }
  OutsideKernel(const OutsideKernel&) = delete;
  OutsideKernel& operator=(const OutsideKernel&) = delete;
};

// launch.cpp: the blockIdx of a block of the grid, which start in this order.
uint3 block_index(const Launch& launch, std::uint64_t linear);
// launch.cpp: makes the next block of the grid resident in this slot; `block` has ended; `thread`
// has ended.
void start_block(Launch& launch, Block& block);
void retire_block(Launch& launch, Block& block);
void end_thread(Launch& launch, Thread& thread);
// barrier.cpp: lets the waiting threads go, all of them ready but `except`.
void release_barrier(Launch& launch, Block& block, const Thread* except);
// warp.cpp: completes collectives that waited only for lanes which have ended.
void complete_without(Launch& launch, Block& block, unsigned warp);
// True in the lane that completed the operation or after it was completed: results are in the
// Thread.
void join_collective(Launch& launch, Mask mask, const char* operation,
                     Collective::Complete complete, Site site);

}  // namespace halfulp::gpu::simt
