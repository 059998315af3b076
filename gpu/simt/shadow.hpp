// What the checker remembers of memory: for every few bytes of a region the last write and the
// reads since.
//
// A cell covers 4 bytes until the first access that is smaller or not aligned to 4; the region is
// then split into cells of 2 bytes or 1, so that neighbours never alarm each other.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "gpu/simt/clocks.hpp"
#include "gpu/simt/locations.hpp"
#include "gpu/simt/session.hpp"

namespace halfulp::gpu::simt {

// One access; all zero: none.
struct Access {
  static constexpr std::uint32_t kAtomic = 1u << 31;
  static constexpr std::uint32_t kInFlight = 1u << 30;  // a cp.async that has not landed
  static constexpr std::uint32_t kMany = 1u
                                         << 29;  // reads only: `time` is an index of a reader set
  std::uint32_t who = 0;                         // thread id + 1, and flags
  Time time = 0;
  Place place;

  static Access by(ThreadId id, Time time, Place place, std::uint32_t flags = 0) {
    return {(id + 1) | flags, time, place};
  }
  bool none() const { return who == 0; }
  bool is(std::uint32_t flag) const { return (who & flag) != 0; }
  ThreadId id() const { return (who & (kMany - 1)) - 1; }
};

struct Cell {
  Access write;
  Access read;
};

class Region {
 public:
  Region(std::uintptr_t begin, std::size_t bytes, std::string name, Contents contents,
         std::size_t element_bytes, int slot);

  std::uintptr_t begin() const { return begin_; }
  std::uintptr_t end() const { return end_; }
  Contents contents() const { return contents_; }
  int slot() const { return slot_; }  // of the block whose shared memory it is, or -1
  const std::string& name() const { return name_; }
  std::string element(std::uintptr_t address) const;  // "out, element 5 (byte 20)"

  // The cells of bytes that lie inside, split as fine as this access needs; null without memory for
  // them.
  struct Span {
    Cell* first;
    Cell* last;
  };
  Span cells(std::uintptr_t address, std::size_t bytes);
  std::uintptr_t address(const Cell* cell) const {
    return begin_ + (static_cast<std::size_t>(cell - cells_.get()) << shift_);
  }

  // More readers than one since the last write: at most two lanes of each warp.
  std::vector<Access>& readers(const Access& many) { return reader_sets_[many.time]; }
  Access make_many();
  void release_many(const Access& many);

 private:
  struct Free {
    void operator()(Cell* cells) const { std::free(cells); }
  };
  using Cells =
      std::unique_ptr<Cell[], Free>;  // zeroed by the system, so that untouched pages cost nothing
  static Cells allocate(std::size_t count);  // nullptr: no memory
  bool split();

  std::uintptr_t begin_, end_;
  std::string name_;
  Contents contents_;
  std::size_t element_bytes_;
  int slot_;
  unsigned shift_ = 2;
  Cells cells_;
  std::vector<std::vector<Access>> reader_sets_;
  std::vector<Time> reader_sets_free_;
};

// Regions by address.
class RegionTable {
 public:
  void add(std::unique_ptr<Region> region);  // must not overlap another
  void remove_slot(int slot);
  // The region that holds the address, or nullptr.
  Region* find(std::uintptr_t address) {
    if (recent_ != nullptr && address >= recent_->begin() && address < recent_->end())
      return recent_;
    return search(address);
  }
  // The closest region that ends at or below / begins above the address, or nullptr.
  const Region* below(std::uintptr_t address) const;
  const Region* above(std::uintptr_t address) const;

 private:
  Region* search(std::uintptr_t address);
  std::size_t position(std::uintptr_t address) const;

  std::vector<std::unique_ptr<Region>> regions_;  // ascending
  Region* recent_ = nullptr;
};

}  // namespace halfulp::gpu::simt
