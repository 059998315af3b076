// The executor's random numbers: splitmix64, the same on every machine.
#pragma once
#include <cstdint>

namespace halfulp::gpu::simt {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }
  // 0 to count - 1; the bias of the remainder does not matter for schedules.
  unsigned below(unsigned count) { return static_cast<unsigned>((next() >> 32) % count); }

 private:
  std::uint64_t state_;
};

}  // namespace halfulp::gpu::simt
