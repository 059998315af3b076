// Shared memory arenas.
#include "gpu/simt/shared_memory.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace halfulp::gpu::simt {
namespace {

constexpr std::size_t kGapBytes = 64;
constexpr unsigned char kGapByte = 0xA5;
// Open at first: opening and closing takes a while, and more than this is rare.
constexpr std::size_t kOpenBytes = 8192;
// Room for the limit, and for a gap and the rounding to 16 bytes of 1000 variables.
constexpr std::size_t kArenaBytes = SharedMemory::kBytesMax + 1024 * (kGapBytes + 16);

}  // namespace

bool SharedMemory::reserve() try {
  if (end_ == nullptr) {
    const std::span<std::byte> arena = memory_.take(kArenaBytes);
    end_ = reinterpret_cast<char*>(arena.data() + arena.size());
  }
  // Whatever an earlier kernel declared, this one finds the same.
  if (memory_.opened_bytes() != kOpenBytes) memory_.take(kOpenBytes);
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

void SharedMemory::begin_block(std::size_t dynamic_bytes) {
  variables_.clear();
  used_ = 0;
  static_bytes_ = 0;
  dynamic_bytes_ = dynamic_bytes;
  dynamic_ = nullptr;
  if (dynamic_bytes > 0) dynamic_ = place(nullptr, dynamic_bytes, 128, "dynamic shared")->data;
}

const SharedMemory::Variable* SharedMemory::place(const void* key, std::size_t bytes,
                                                  std::size_t alignment, const char* name) {
  // Distances from the end.
  const std::size_t start = (used_ + kGapBytes + bytes + alignment - 1) / alignment * alignment;
  const std::size_t used = start + kGapBytes;
  if (used > kArenaBytes || !memory_.resize(used)) return nullptr;
  char* const data = end_ - start;
  std::memset(data - kGapBytes, kGapByte, kGapBytes);
  std::memset(data, 0xFF, bytes);
  std::memset(data + bytes, kGapByte, start - bytes - used_);
  used_ = used;
  variables_.push_back({key, name, data, bytes});
  const Variable& first = variables_.front();
  memory_.label({name, reinterpret_cast<std::byte*>(data)},
                {first.name, reinterpret_cast<std::byte*>(first.data + first.bytes)});
  return &variables_.back();
}

const SharedMemory::Variable* SharedMemory::variable(const void* key, std::size_t bytes,
                                                     const char* name, bool& created) {
  created = false;
  for (const Variable& v : variables_) {
    if (v.key == key) return &v;
  }
  created = true;
  if (static_bytes_ + bytes > kStaticBytesMax ||
      static_bytes_ + bytes + dynamic_bytes_ > kBytesMax) {
    return nullptr;
  }
  static_bytes_ += bytes;
  return place(key, bytes, 16, name);
}

bool SharedMemory::contains(const void* address, std::size_t bytes) const {
  const auto* p = static_cast<const char*>(address);
  return std::any_of(variables_.begin(), variables_.end(), [p, bytes](const Variable& v) {
    return p >= v.data && p + bytes <= v.data + v.bytes;
  });
}

const SharedMemory::Variable* SharedMemory::overrun() const {
  const auto intact = [](const char* gap, const char* gap_end) {
    return std::all_of(gap, gap_end,
                       [](char c) { return static_cast<unsigned char>(c) == kGapByte; });
  };
  const char* end = end_;  // of the gap behind the next variable
  for (const Variable& v : variables_) {
    if (!intact(v.data + v.bytes, end) || !intact(v.data - kGapBytes, v.data)) return &v;
    end = v.data - kGapBytes;
  }
  const bool before = !variables_.empty() && memory_.spare_written().name != nullptr;
  return before ? &variables_.back() : nullptr;
}

}  // namespace halfulp::gpu::simt
