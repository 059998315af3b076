// Shadow cells and the table of regions.
#include "gpu/simt/shadow.hpp"

#include <algorithm>
#include <new>
#include <type_traits>

#include "gpu/assert.hpp"

namespace halfulp::gpu::simt {

static_assert(std::is_trivially_copyable_v<Cell> && sizeof(Cell) == 32);

Region::Region(std::uintptr_t begin, std::size_t bytes, std::string name, Contents contents,
               std::size_t element_bytes, int slot)
    : begin_(begin),
      end_(begin + bytes),
      name_(std::move(name)),
      contents_(contents),
      element_bytes_(element_bytes),
      slot_(slot) {
  // Cells must not straddle two aligned words.
  while (begin_ % (std::size_t{1} << shift_) != 0) --shift_;
}

std::string Region::element(std::uintptr_t address) const {
  const std::uintptr_t byte = address - begin_;
  std::string text = name_;
  if (element_bytes_ > 0) text += ", element " + std::to_string(byte / element_bytes_);
  return text + (element_bytes_ > 0 ? " (byte " : ", byte ") + std::to_string(byte) +
         (element_bytes_ > 0 ? ")" : "");
}

Region::Cells Region::allocate(std::size_t count) {
  return Cells(static_cast<Cell*>(std::calloc(count, sizeof(Cell))));
}

bool Region::split() {
  --shift_;
  if (cells_ == nullptr) return true;
  const std::size_t count = (end_ - begin_ + (std::size_t{1} << shift_) - 1) >> shift_;
  Cells finer = allocate(count);
  if (finer == nullptr) return false;
  for (std::size_t i = 0; i < count; ++i) {
    finer[i] = cells_[i / 2];
    // Two cells must not own one reader set.
    if (i % 2 == 1 && finer[i].read.is(Access::kMany)) {
      const Access copy = make_many();
      readers(copy) = readers(finer[i].read);
      finer[i].read = copy;
    }
  }
  cells_ = std::move(finer);
  return true;
}

Region::Span Region::cells(std::uintptr_t address, std::size_t bytes) {
  while (shift_ > 0 && ((address | bytes) & ((std::size_t{1} << shift_) - 1)) != 0) {
    if (!split()) return {nullptr, nullptr};
  }
  if (cells_ == nullptr) {
    cells_ = allocate((end_ - begin_ + (std::size_t{1} << shift_) - 1) >> shift_);
    if (cells_ == nullptr) return {nullptr, nullptr};
  }
  Cell* first = &cells_[(address - begin_) >> shift_];
  return {first, first + (bytes >> shift_)};
}

Access Region::make_many() {
  if (reader_sets_free_.empty()) {
    reader_sets_free_.push_back(static_cast<Time>(reader_sets_.size()));
    reader_sets_.emplace_back();
  }
  Access many;
  many.who = Access::kMany;
  many.time = reader_sets_free_.back();
  reader_sets_free_.pop_back();
  return many;
}

void Region::release_many(const Access& many) {
  readers(many).clear();
  reader_sets_free_.push_back(many.time);
}

std::size_t RegionTable::position(std::uintptr_t address) const {
  const auto after = std::upper_bound(
      regions_.begin(), regions_.end(), address,
      [](std::uintptr_t a, const std::unique_ptr<Region>& region) { return a < region->begin(); });
  return static_cast<std::size_t>(after - regions_.begin());
}

void RegionTable::add(std::unique_ptr<Region> region) {
  const std::size_t at = position(region->begin());
  HALFULP_GPU_ASSERT(at == 0 || regions_[at - 1]->end() <= region->begin());
  HALFULP_GPU_ASSERT(at == regions_.size() || region->end() <= regions_[at]->begin());
  regions_.insert(regions_.begin() + static_cast<std::ptrdiff_t>(at), std::move(region));
}

void RegionTable::remove_slot(int slot) {
  recent_ = nullptr;
  std::erase_if(regions_, [slot](const auto& region) { return region->slot() == slot; });
}

Region* RegionTable::search(std::uintptr_t address) {
  const std::size_t at = position(address);
  if (at == 0 || address >= regions_[at - 1]->end()) return nullptr;
  return recent_ = regions_[at - 1].get();
}

const Region* RegionTable::below(std::uintptr_t address) const {
  const std::size_t at = position(address);
  return at == 0 ? nullptr : regions_[at - 1].get();
}

const Region* RegionTable::above(std::uintptr_t address) const {
  const std::size_t at = position(address);
  return at == regions_.size() ? nullptr : regions_[at].get();
}

}  // namespace halfulp::gpu::simt
