// The shared memory of one block: the dynamic part and one object per SIMT_SHARED declaration, each
// between gaps, from the end of the arena to its start, so that there is no room past an end and
// none before the last that is not watched. Everything is filled with 0xFF (a NaN in every float
// format) before the block starts.
#pragma once
#include <cstddef>
#include <vector>

#include "gpu/simt/fenced_memory.hpp"

namespace halfulp::gpu::simt {

class SharedMemory {
 public:
  // CUDA's limits on sm_90: static, and static plus dynamic.
  static constexpr std::size_t kStaticBytesMax = 48 * 1024;
  static constexpr std::size_t kBytesMax = 227 * 1024;

  struct Variable {
    const void* key;  // nullptr: the dynamic part
    const char* name;
    char* data;
    std::size_t bytes;
  };

  // For a launch: takes the memory that the other functions need; false without it.
  bool reserve();
  // Forgets the last block's variables and makes the dynamic part, of the exact size, 128-byte
  // aligned.
  void begin_block(std::size_t dynamic_bytes);
  // The variable of this key, 16-byte aligned; made on the first call. nullptr: over a limit.
  const Variable* variable(const void* key, std::size_t bytes, const char* name, bool& created);
  void* dynamic() const { return dynamic_; }
  bool contains(const void* address, std::size_t bytes) const;
  // The first variable beside which something has been written, or nullptr.
  const Variable* overrun() const;
  const std::vector<Variable>& variables() const { return variables_; }

 private:
  const Variable* place(const void* key, std::size_t bytes, std::size_t alignment,
                        const char* name);

  FencedMemory memory_;
  char* end_ = nullptr;  // of the arena
  std::vector<Variable> variables_;
  char* dynamic_ = nullptr;
  std::size_t used_ = 0;
  std::size_t static_bytes_ = 0;
  std::size_t dynamic_bytes_ = 0;
};

}  // namespace halfulp::gpu::simt
