// Memory that kernels run in on the host: between pages that no access survives, so that a stray
// write ends the process at once and never reaches the heap of the process that judges.
//
//   FencedMemory memory;
//   std::span<std::byte> block = memory.take(bytes);   // valid until the next take()
//   memory.label({"x", block.data()}, {"out", block.data() + bytes});
#pragma once
#include <array>
#include <cstddef>
#include <span>
#include <string_view>

namespace halfulp::gpu::simt {

// Ends in the thread that made it.
class FencedMemory {
 public:
  static constexpr std::size_t kAlignmentBytes = 256;  // of the start of a block
  static constexpr std::size_t kFenceBytes = std::size_t{4} << 20;

  // One end of what a kernel may touch: a name for messages and an address.
  struct End {
    std::string_view name;
    const std::byte* address;
  };

  FencedMemory();
  ~FencedMemory();
  FencedMemory(const FencedMemory&) = delete;
  FencedMemory& operator=(const FencedMemory&) = delete;

  // Bytes of any content. The fence behind them is less than kAlignmentBytes away, the one before
  // them less than a page; spare bytes between are 0xFF, and nobody looks at them afterwards.
  // Memory once taken stays for later calls.
  // Throws std::bad_alloc.
  std::span<std::byte> take(std::size_t bytes);
  // The block is now the last `bytes` of what take() once returned, at least as many: its end stays
  // where it is, what it holds too. False when the system has no memory.
  bool resize(std::size_t bytes);
  std::size_t opened_bytes() const { return opened_; }  // of the block and the spare before it
  // What lies first in the block and where it begins, what lies last and where it ends.
  void label(const End& first, const End& last);
  // What a message says of an access to this address, if a fence of this block is there: how many
  // bytes from which end. Takes no memory and no lock: a handler of signals may ask.
  struct Stray {
    const char* name = nullptr;  // nullptr: no fence of this block
    std::size_t bytes = 0;
    bool past_end = false;
  };
  Stray stray(const void* address) const;
  Stray spare_written() const;  // the nearest spare byte before the block that was written to
  static Stray stray_of_thread(const void* address);  // of any block that this thread has

 private:
  struct Label {
    std::array<char, 32> name{};
    const std::byte* address = nullptr;
  };
  void reserve(std::size_t bytes);
  void open(std::size_t bytes);  // the last bytes of the capacity, and no others
  void release();
  void fill_spare();
  std::byte* end() const { return mapping_ + kFenceBytes + capacity_; }

  std::byte* mapping_ = nullptr;  // fence | capacity_ | fence
  std::size_t capacity_ = 0;      // a multiple of the page, as the next one
  std::size_t opened_ = 0;        // at the end of the capacity; before them all is fence
  std::size_t used_ = 0;          // by the block
  Label first_;
  Label last_;
  FencedMemory* before_;  // another block of this thread
};

}  // namespace halfulp::gpu::simt
