// Mappings of blocks and their fences.
#include "gpu/simt/fenced_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "gpu/assert.hpp"

namespace halfulp::gpu::simt {
namespace {

const auto kPageBytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
constexpr unsigned char kSpareByte = 0xFF;  // a NaN of every format, an index out of range
constexpr std::size_t kAheadBytesMax = std::size_t{256} << 20;  // taken in advance, at most

std::size_t align_up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

// The last of this thread's blocks, each of which knows the one before it. Without a destructor:
// some blocks end with the thread, after all that has one.
constinit thread_local FencedMemory* last_of_thread = nullptr;

}  // namespace

FencedMemory::FencedMemory() : before_(last_of_thread) { last_of_thread = this; }

FencedMemory::~FencedMemory() {
  FencedMemory** link = &last_of_thread;
  while (*link != this) link = &(*link)->before_;
  *link = before_;
  release();
}

void FencedMemory::release() {
  if (mapping_ != nullptr) munmap(mapping_, capacity_ + 2 * kFenceBytes);
  mapping_ = nullptr;
  capacity_ = 0;
  opened_ = 0;
  used_ = 0;
}

void FencedMemory::reserve(std::size_t bytes) {
  if (bytes <= capacity_ && mapping_ != nullptr) return;
  // Campaigns take thousands of blocks of growing sizes.
  const std::size_t ahead = std::min(2 * capacity_, kAheadBytesMax);
  release();
  const std::size_t capacity = align_up(std::max({bytes, ahead, kPageBytes}), kPageBytes);
  if (capacity < bytes) throw std::bad_alloc();
  void* const mapping = mmap(nullptr, capacity + 2 * kFenceBytes, PROT_NONE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) throw std::bad_alloc();
  mapping_ = static_cast<std::byte*>(mapping);
  capacity_ = capacity;
}

void FencedMemory::open(std::size_t bytes) {
  const bool more = bytes > opened_;
  const std::size_t changed = more ? bytes - opened_ : opened_ - bytes;
  if (changed == 0) return;
  if (mprotect(end() - std::max(bytes, opened_), changed,
               more ? PROT_READ | PROT_WRITE : PROT_NONE) != 0) {
    throw std::bad_alloc();
  }
  opened_ = bytes;
}

std::span<std::byte> FencedMemory::take(std::size_t bytes) {
  const std::size_t block = align_up(bytes, kAlignmentBytes);
  if (block < bytes) throw std::bad_alloc();
  reserve(block);
  open(align_up(block, kPageBytes));
  const std::span<std::byte> taken{end() - block, bytes};
  std::memset(taken.data() + bytes, kSpareByte, block - bytes);
  used_ = block;
  fill_spare();
  label({"a block", taken.data()}, {"a block", taken.data() + bytes});
  return taken;
}

bool FencedMemory::resize(std::size_t bytes) {
  HALFULP_GPU_ASSERT(bytes <= capacity_);
  const std::size_t opened = std::max(align_up(bytes, kPageBytes), opened_);
  try {
    open(opened);
  } catch (const std::bad_alloc&) {
    return false;
  }
  used_ = bytes;
  fill_spare();
  return true;
}

// What a stray read gets must not depend on earlier blocks.
void FencedMemory::fill_spare() { std::memset(end() - opened_, kSpareByte, opened_ - used_); }

FencedMemory::Stray FencedMemory::spare_written() const {
  if (mapping_ == nullptr) return {};
  const auto written = [](std::byte byte) { return byte != std::byte{kSpareByte}; };
  const std::span<const std::byte> spare(end() - opened_, opened_ - used_);
  // Each byte like the next, and the first as it was filled: the quick answer.
  if (spare.empty() || (!written(spare.front()) &&
                        std::memcmp(spare.data(), spare.data() + 1, spare.size() - 1) == 0)) {
    return {};
  }
  const std::byte* const at = &*std::find_if(spare.rbegin(), spare.rend(), written);
  return {first_.name.data(), static_cast<std::size_t>(first_.address - at), false};
}

FencedMemory::Stray FencedMemory::stray_of_thread(const void* address) {
  for (const FencedMemory* memory = last_of_thread; memory != nullptr; memory = memory->before_) {
    if (const Stray stray = memory->stray(address); stray.name != nullptr) return stray;
  }
  return {};
}

void FencedMemory::label(const End& first, const End& last) {
  const auto labelled = [](const End& end) {
    Label label;
    end.name.copy(label.name.data(), label.name.size() - 1);
    label.address = end.address;
    return label;
  };
  first_ = labelled(first);
  last_ = labelled(last);
}

FencedMemory::Stray FencedMemory::stray(const void* address) const {
  const auto* at = static_cast<const std::byte*>(address);
  if (mapping_ == nullptr) return {};
  // The closed part before the block belongs to the fence.
  if (at >= mapping_ && at < mapping_ + kFenceBytes + capacity_ - opened_) {
    return {first_.name.data(), static_cast<std::size_t>(first_.address - at), false};
  }
  const std::byte* const after = end();
  if (at >= after && at < after + kFenceBytes) {
    return {last_.name.data(), static_cast<std::size_t>(at - last_.address), true};
  }
  return {};
}

}  // namespace halfulp::gpu::simt
