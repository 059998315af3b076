// The checker of one session: bounds, uninitialised reads and races, on unmodified kernel code.
// Internal.
//
// Kernel sources compiled with -fsanitize=thread call a hook at every load and store (hooks.cpp);
// the executor reports everything that orders threads, and the accesses that it makes for a kernel
// (atomics, cp.async, ldmatrix, vector accesses). The first fault ends the launch.
#pragma once
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string>
#include <vector>

#include "gpu/simt/clocks.hpp"
#include "gpu/simt/executor.hpp"
#include "gpu/simt/scheduler.hpp"
#include "gpu/simt/shadow.hpp"

namespace halfulp::gpu::simt {

enum class Touch : std::uint8_t { read, write, atomic_read, atomic_write, atomic_update };

class Checker {
 public:
  explicit Checker(Session& session) : session_(session) {}
  void watch(const void* data, std::size_t bytes, std::string name, Contents contents,
             std::size_t element_bytes);

  void begin_launch(Launch& launch, const void* arguments, std::size_t bytes);
  void end_launch() { launch_ = nullptr; }
  void start_block(int slot, uint3 index);
  void retire_block(Block& block);
  void add_shared(int slot, const SharedMemory::Variable& variable, std::size_t element_bytes);
  // `thread` runs from now on.
  void enter(const Thread& thread);

  void sync_block(int slot) { clocks_.sync_block(slot); }
  void sync_warp(int slot, unsigned warp, Mask lanes) { clocks_.sync_warp(slot, warp, lanes); }
  void fence(runtime::Scope scope) { clocks_.fence(self_, scope); }

  // By the current thread.
  void touch(std::uintptr_t address, std::size_t bytes, Touch kind, Place place);
  void access(const void* address, std::size_t bytes, bool write, Site site);
  void atomic(const void* address, std::size_t bytes, bool reads, Site site);
  void load_acquire(const void* address, Site site);
  void store_release(const void* address, Site site);
  void issue_copy(const void* to, std::size_t bytes, Site site);
  void land_copy(const void* to, std::size_t bytes, Site site);
  [[noreturn]] void fail_misaligned(std::uintptr_t address, std::size_t bytes, bool write,
                                    Place place);

 private:
  struct Start {
    Time time;
    uint3 block;
  };
  struct Attempt {  // the access being checked
    Touch kind;
    Place place;
    std::size_t bytes;
    bool reads() const { return kind != Touch::write && kind != Touch::atomic_write; }
    bool writes() const { return kind != Touch::read && kind != Touch::atomic_read; }
    bool atomic() const { return kind != Touch::read && kind != Touch::write; }
  };

  bool is_private(std::uintptr_t address, const Attempt& attempt) const;
  void check_cell(Region& region, Cell& cell, const Attempt& attempt);
  void check_readers(Region& region, Cell& cell, const Attempt& attempt);
  void remember_reader(Region& region, Cell& cell, const Access& mine);
  void add_reader(std::vector<Access>& readers, const Access& mine);
  bool conflicts(const Access& earlier, const Attempt& attempt) const;

  template <class Text>
  [[noreturn]] void fail(FaultKind kind, const Text& text) {
    simt::fail(*launch_, kind, text);
  }
  [[noreturn]] void fail_race(const Region& region, const Cell& cell, const Access& earlier,
                              bool earlier_writes, const Attempt& attempt);
  // `region`: the one the access begins in, or nullptr.
  std::string describe_outside(std::uintptr_t address, const Attempt& attempt,
                               const Region* region) const;
  std::string describe(const Attempt& attempt) const;  // "read of 4 bytes at x.cuh:7 by block ..."
  std::string describe(ThreadId id, Time time) const;  // "block (1,0,0) thread (3,0,0)"

  Session& session_;
  Launch* launch_ = nullptr;
  Clocks clocks_;
  RegionTable regions_;
  std::vector<std::vector<Start>> starts_;  // by slot: which block ran there from when
  const Thread* thread_ = nullptr;
  ThreadId self_ = 0;
  std::uintptr_t stack_begin_ = 0, stack_end_ = 0;
  std::uintptr_t arguments_begin_ = 0, arguments_end_ = 0;
  std::int64_t accesses_ = 0;  // of this launch
};

}  // namespace halfulp::gpu::simt
