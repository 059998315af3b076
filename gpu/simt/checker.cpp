// The rules of the checker.
#include "gpu/simt/checker.hpp"

#include <algorithm>
#include <array>

#include "gpu/simt/report.hpp"
#include "gpu/simt/scheduler.hpp"

extern __thread uint3 halfulp_simt_thread_index;
extern __thread uint3 halfulp_simt_block_index;
extern __thread uint3 halfulp_simt_block_extent;
extern __thread uint3 halfulp_simt_grid_extent;

namespace halfulp::gpu::simt {
namespace {

std::uintptr_t number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

}  // namespace

void Checker::watch(const void* data, std::size_t bytes, std::string name, Contents contents,
                    std::size_t element_bytes) {
  if (bytes == 0) return;
  regions_.add(
      std::make_unique<Region>(number(data), bytes, std::move(name), contents, element_bytes, -1));
}

void Checker::begin_launch(Launch& launch, const void* arguments, std::size_t bytes) {
  launch_ = &launch;
  const auto slots = static_cast<unsigned>(launch.slots);
  for (unsigned slot = 0; slot < starts_.size(); ++slot) {
    regions_.remove_slot(
        static_cast<int>(slot));  // a faulted launch leaves its shared memory behind
  }
  clocks_.begin_launch(slots * launch.threads_per_block, launch.threads_per_block);
  starts_.assign(slots, {});
  arguments_begin_ = number(arguments);
  arguments_end_ = arguments_begin_ + bytes;
  accesses_ = 0;
}

void Checker::start_block(int slot, uint3 index) {
  starts_[static_cast<std::size_t>(slot)].push_back({clocks_.start_block(slot), index});
}

void Checker::retire_block(Block& block) {
  for (const SharedMemory::Variable& variable : block.shared.variables()) {
    clocks_.forget(variable.data, variable.data + variable.bytes);
  }
  regions_.remove_slot(block.slot);
}

void Checker::add_shared(int slot, const SharedMemory::Variable& variable,
                         std::size_t element_bytes) {
  regions_.add(std::make_unique<Region>(number(variable.data), variable.bytes, variable.name,
                                        Contents::uninitialised, element_bytes, slot));
}

void Checker::enter(const Thread& thread) {
  thread_ = &thread;
  self_ = static_cast<ThreadId>(thread.block->slot) * launch_->threads_per_block + thread.linear;
  stack_begin_ = number(thread.fiber->stack);
  stack_end_ = stack_begin_ + thread.fiber->stack_bytes;
}

bool Checker::is_private(std::uintptr_t address, const Attempt& attempt) const {
  if (attempt.writes()) return false;
  const std::array<const uint3*, 4> builtins = {
      &halfulp_simt_thread_index, &halfulp_simt_block_index, &halfulp_simt_block_extent,
      &halfulp_simt_grid_extent};
  for (const uint3* builtin : builtins) {
    if (address >= number(builtin) && address < number(builtin + 1)) return true;
  }
  return in_program_data(address);  // constant tables
}

void Checker::touch(std::uintptr_t address, std::size_t bytes, Touch kind, Place place) {
  if (address >= stack_begin_ && address + bytes <= stack_end_) return;
  const Attempt attempt{kind, place, bytes};
  if (address >= arguments_begin_ && address < arguments_end_ && !attempt.writes()) return;
  if (++accesses_ > session_.config().accesses_max) {
    fail(FaultKind::budget, [&] {
      return "over " + std::to_string(session_.config().accesses_max) + " accesses, the last a " +
             describe(attempt);
    });
  }
  ++session_.counters().accesses;
  Region* region = regions_.find(address);
  if (region == nullptr || address + bytes > region->end()) {
    if (region == nullptr && is_private(address, attempt)) return;
    fail(FaultKind::out_of_bounds, [&] { return describe_outside(address, attempt, region); });
  }
  if (region->contents() == Contents::read_only) {
    if (!attempt.writes()) return;
    fail(FaultKind::input_written,
         [&] { return describe(attempt) + " to " + region->element(address) + ", an input"; });
  }
  const Region::Span span = region->cells(address, bytes);
  if (span.first == nullptr) {
    fail(FaultKind::no_memory, [&] { return "no memory to check accesses to " + region->name(); });
  }
  for (Cell* cell = span.first; cell != span.last; ++cell) check_cell(*region, *cell, attempt);
}

std::string Checker::describe_outside(std::uintptr_t address, const Attempt& attempt,
                                      const Region* region) const {
  const std::string what = "out-of-bounds " + describe(attempt) + ": ";
  if (region != nullptr) {
    return what + "starts at " + region->element(address) + " and crosses its end at " +
           std::to_string(region->end() - region->begin()) + " bytes";
  }
  const Region* below = regions_.below(address);
  const Region* above = regions_.above(address);
  if (below == nullptr && above == nullptr) return what + "the kernel was given no memory";
  const std::uintptr_t past = below != nullptr ? address - below->end() : ~std::uintptr_t{0};
  const std::uintptr_t before = above != nullptr ? above->begin() - address : ~std::uintptr_t{0};
  if (past <= before) {
    return what + std::to_string(past) + " bytes past the end of " + below->element(address);
  }
  return what + std::to_string(before) + " bytes before the start of " + above->name();
}

// Whether an earlier access and this one, at least one of them a write, may happen in either order.
bool Checker::conflicts(const Access& earlier, const Attempt& attempt) const {
  if (attempt.atomic() && earlier.is(Access::kAtomic)) return false;
  return !clocks_.ordered(self_, earlier.id(), earlier.time);
}

void Checker::check_cell(Region& region, Cell& cell, const Attempt& attempt) {
  if (cell.write.none()) {
    if (attempt.reads() && region.contents() == Contents::uninitialised) {
      fail(FaultKind::uninitialised, [&] {
        return describe(attempt) + " from " + region.element(region.address(&cell)) +
               ", which nothing has written";
      });
    }
  } else {
    if (cell.write.is(Access::kInFlight)) {
      fail(FaultKind::async_copy, [&] {
        return describe(attempt) + " touches " + region.element(region.address(&cell)) +
               ", where the cp.async issued at " + cell.write.place.text() + " by " +
               describe(cell.write.id(), cell.write.time) + " has not been waited for";
      });
    }
    if (conflicts(cell.write, attempt)) fail_race(region, cell, cell.write, true, attempt);
  }
  const Access mine =
      Access::by(self_, clocks_.now(self_), attempt.place, attempt.atomic() ? Access::kAtomic : 0);
  if (!attempt.writes()) {
    remember_reader(region, cell, mine);
    return;
  }
  if (!cell.read.none()) check_readers(region, cell, attempt);
  cell.write = mine;
}

void Checker::check_readers(Region& region, Cell& cell, const Attempt& attempt) {
  if (!cell.read.is(Access::kMany)) {
    if (conflicts(cell.read, attempt)) fail_race(region, cell, cell.read, false, attempt);
  } else {
    for (const Access& reader : region.readers(cell.read)) {
      if (conflicts(reader, attempt)) fail_race(region, cell, reader, false, attempt);
    }
    region.release_many(cell.read);
  }
  cell.read = {};
}

void Checker::remember_reader(Region& region, Cell& cell, const Access& mine) {
  if (!cell.read.is(Access::kMany)) {
    // A read that is ordered before this one, and not weaker, tells a later writer nothing more.
    if (cell.read.none() || (clocks_.ordered(self_, cell.read.id(), cell.read.time) &&
                             (cell.read.is(Access::kAtomic) || !mine.is(Access::kAtomic)))) {
      cell.read = mine;
      return;
    }
    const Access first = cell.read;
    cell.read = region.make_many();
    region.readers(cell.read).push_back(first);
  }
  add_reader(region.readers(cell.read), mine);
}

void Checker::add_reader(std::vector<Access>& readers, const Access& mine) {
  const ThreadId warp = mine.id() / kWarpLanes;
  int same_warp = 0;
  for (Access& reader : readers) {
    if (reader.id() / kWarpLanes != warp ||
        reader.is(Access::kAtomic) != mine.is(Access::kAtomic)) {
      continue;
    }
    if (clocks_.ordered(self_, reader.id(), reader.time)) {
      reader = mine;
      return;
    }
    ++same_warp;
  }
  // A writer that is not ordered after one of two lanes will do for the report.
  if (same_warp < 2) readers.push_back(mine);
}

void Checker::access(const void* address, std::size_t bytes, bool write, Site site) {
  touch(number(address), bytes, write ? Touch::write : Touch::read, Place(site));
}

void Checker::atomic(const void* address, std::size_t bytes, bool reads, Site site) {
  touch(number(address), bytes, reads ? Touch::atomic_update : Touch::atomic_write, Place(site));
  clocks_.atomic(self_, address);
}

void Checker::load_acquire(const void* address, Site site) {
  touch(number(address), sizeof(unsigned), Touch::atomic_read, Place(site));
  clocks_.load_acquire(self_, address);
}

void Checker::store_release(const void* address, Site site) {
  touch(number(address), sizeof(unsigned), Touch::atomic_write, Place(site));
  clocks_.store_release(self_, address);
}

void Checker::issue_copy(const void* to, std::size_t bytes, Site site) {
  touch(number(to), bytes, Touch::write, Place(site));
  const Region::Span span = regions_.find(number(to))->cells(number(to), bytes);
  for (Cell* cell = span.first; cell != span.last; ++cell) cell->write.who |= Access::kInFlight;
}

void Checker::land_copy(const void* to, std::size_t bytes, Site site) {
  const Region::Span span = regions_.find(number(to))->cells(number(to), bytes);
  for (Cell* cell = span.first; cell != span.last; ++cell) {
    cell->write = Access::by(self_, clocks_.now(self_), Place(site));
  }
}

void Checker::fail_misaligned(std::uintptr_t address, std::size_t bytes, bool write, Place place) {
  const Region* region = regions_.find(address);
  fail(FaultKind::misaligned, [&] {
    return describe({write ? Touch::write : Touch::read, place, bytes}) +
           (region != nullptr ? " of " + region->element(address) : std::string()) +
           ": the address is not aligned to its size";
  });
}

void Checker::fail_race(const Region& region, const Cell& cell, const Access& earlier,
                        bool earlier_writes, const Attempt& attempt) {
  fail(FaultKind::race, [&] {
    return "race on " + region.element(region.address(&cell)) + ": " + describe(attempt) +
           " is not ordered after the " + (earlier.is(Access::kAtomic) ? "atomic " : "") +
           (earlier_writes ? "write" : "read") + " at " + earlier.place.text() + " by " +
           describe(earlier.id(), earlier.time);
  });
}

std::string Checker::describe(const Attempt& attempt) const {
  static constexpr const char* kNames[] = {"read", "write", "atomic read", "atomic write",
                                           "atomic"};
  return std::string(kNames[static_cast<int>(attempt.kind)]) + " of " +
         std::to_string(attempt.bytes) + " bytes at " + attempt.place.text() + " by " +
         print(*thread_);
}

std::string Checker::describe(ThreadId id, Time time) const {
  const ThreadId slot = id / launch_->threads_per_block;
  const std::vector<Start>& starts = starts_[slot];
  auto block = starts.rbegin();
  while (block + 1 != starts.rend() && block->time > time) ++block;
  const unsigned linear = id % launch_->threads_per_block;
  const uint3 extent = launch_->block_extent;
  return "block " + print(block->block) + " thread " +
         print(
             uint3{linear % extent.x, linear / extent.x % extent.y, linear / extent.x / extent.y});
}

}  // namespace halfulp::gpu::simt
