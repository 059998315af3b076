// Shared memory arenas.
#include "gpu/simt/shared_memory.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace halfulp::gpu::simt {
namespace {

constexpr std::size_t kGapBytes = 64;
constexpr unsigned char kGapByte = 0xA5;
// Room for the limit, and for a gap and the rounding to 16 bytes of 1000 variables.
constexpr std::size_t kArenaBytes = SharedMemory::kBytesMax + 1024 * (kGapBytes + 16);

}  // namespace

bool SharedMemory::reserve() try {
  if (arena_ != nullptr) return true;
  const std::span<std::byte> arena = memory_.take(kArenaBytes);
  memory_.label({"shared memory", arena.data()}, {"shared memory", arena.data() + arena.size()});
  arena_ = reinterpret_cast<char*>(arena.data());
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
  const std::size_t begin = (used_ + kGapBytes + alignment - 1) / alignment * alignment;
  if (begin + bytes + kGapBytes > kArenaBytes) return nullptr;
  char* data = arena_ + begin;
  std::memset(data - kGapBytes, kGapByte, kGapBytes);
  std::memset(data, 0xFF, bytes);
  std::memset(data + bytes, kGapByte, kGapBytes);
  used_ = begin + bytes;
  variables_.push_back({key, name, data, bytes});
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
  const auto intact = [](const char* gap) {
    return std::all_of(gap, gap + kGapBytes,
                       [](char c) { return static_cast<unsigned char>(c) == kGapByte; });
  };
  for (const Variable& v : variables_) {
    if (!intact(v.data + v.bytes) || !intact(v.data - kGapBytes)) return &v;
  }
  return nullptr;
}

}  // namespace halfulp::gpu::simt
