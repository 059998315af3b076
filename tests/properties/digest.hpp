// FNV-1a over text and problems, for tests of "same seed, same bits".
#pragma once
#include <cstdint>
#include <string_view>

#include "gpu/problem.hpp"

namespace halfulp::properties {

class Digest {
 public:
  void add(std::uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8)
      add_byte(static_cast<unsigned char>(value >> shift));
  }
  void add(std::string_view text) {
    add(std::uint64_t{text.size()});
    for (const char character : text) add_byte(static_cast<unsigned char>(character));
  }
  void add(const gpu::Problem& problem) {
    for (const gpu::Operand& operand : problem.operands) {
      add(operand.name);
      for (const std::int64_t value : operand.extent) add(static_cast<std::uint64_t>(value));
      for (const std::int64_t value : operand.stride) add(static_cast<std::uint64_t>(value));
      add(static_cast<std::uint64_t>(operand.base_offset));
      for (const std::byte byte : operand.storage) add_byte(static_cast<unsigned char>(byte));
    }
  }
  std::uint64_t value() const { return value_; }

 private:
  void add_byte(unsigned char byte) { value_ = (value_ ^ byte) * 0x100000001b3u; }
  std::uint64_t value_ = 0xcbf29ce484222325u;
};

}  // namespace halfulp::properties
