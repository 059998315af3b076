// Which element of a matrix each register of each lane holds, as the PTX manual gives it ("Matrix
// Fragments for mma.m16n8k16 with floating point type", "... for mma.m16n8k8"), and packing by it.
// Written for the tests from the manual's formulas; the executor has its own.
#pragma once
#include <cstdint>
#include <vector>

#include "tests/gpu/wrappers.hpp"

namespace halfulp::gpu::wrappers {

struct Position {
  int row, column;
};

// m16n8k16: a0..a7 are halves, two in a register.
inline Position a_16_bit(int lane, int i) {
  const int group = lane >> 2;
  const int thread = lane % 4;
  const bool upper = (0 <= i && i < 2) || (4 <= i && i < 6);
  return {upper ? group : group + 8, i < 4 ? thread * 2 + (i & 1) : thread * 2 + (i & 1) + 8};
}
inline Position b_16_bit(int lane, int i) {  // row: k, column: n
  const int thread = lane % 4;
  return {i < 2 ? thread * 2 + (i & 1) : thread * 2 + (i & 1) + 8, lane >> 2};
}
// m16n8k8, tf32: one element in a register.
inline Position a_tf32(int lane, int i) {
  const int group = lane >> 2;
  return {i == 0 || i == 2 ? group : group + 8, i < 2 ? lane % 4 : lane % 4 + 4};
}
inline Position b_tf32(int lane, int i) { return {i == 0 ? lane % 4 : lane % 4 + 4, lane >> 2}; }
// The accumulator, both shapes.
inline Position c_f32(int lane, int i) {
  return {i < 2 ? lane >> 2 : (lane >> 2) + 8, lane % 4 * 2 + (i & 1)};
}

// One multiplication: a (16, depth), b (depth, 8), c (16, 8); row-major element bits.
struct Product {
  Wrapper wrapper = Wrapper::mma_m16n8k16_f16;
  int depth = 16;
  std::vector<std::uint32_t> a, b, c;
};

inline Product empty_product(Wrapper wrapper) {
  const int depth = wrapper == Wrapper::mma_m16n8k8_tf32 ? 8 : 16;
  const auto d = static_cast<std::size_t>(depth);
  return {wrapper, depth, std::vector<std::uint32_t>(16 * d), std::vector<std::uint32_t>(d * 8),
          std::vector<std::uint32_t>(128)};
}

// The input words of the mma kernels.
inline std::vector<std::uint32_t> pack(const Product& p) {
  std::vector<std::uint32_t> words;
  const auto element = [](const std::vector<std::uint32_t>& matrix, int columns, Position at) {
    return matrix[static_cast<std::size_t>(at.row * columns + at.column)];
  };
  for (int lane = 0; lane < 32; ++lane) {
    for (int r = 0; r < 4; ++r) {
      words.push_back(p.depth == 8 ? element(p.a, 8, a_tf32(lane, r))
                                   : element(p.a, 16, a_16_bit(lane, 2 * r)) |
                                         element(p.a, 16, a_16_bit(lane, 2 * r + 1)) << 16);
    }
    for (int r = 0; r < 2; ++r) {
      words.push_back(p.depth == 8 ? element(p.b, 8, b_tf32(lane, r))
                                   : element(p.b, 8, b_16_bit(lane, 2 * r)) |
                                         element(p.b, 8, b_16_bit(lane, 2 * r + 1)) << 16);
    }
    for (int r = 0; r < 4; ++r) words.push_back(element(p.c, 8, c_f32(lane, r)));
  }
  return words;
}

// The output words of the mma kernels as a (16, 8) matrix of float bits.
inline std::vector<std::uint32_t> unpack(const std::vector<std::uint32_t>& output) {
  std::vector<std::uint32_t> d(128);
  for (int lane = 0; lane < 32; ++lane) {
    for (int r = 0; r < 4; ++r) {
      const Position at = c_f32(lane, r);
      d[static_cast<std::size_t>(at.row * 8 + at.column)] =
          output[static_cast<std::size_t>(4 * lane + r)];
    }
  }
  return d;
}

}  // namespace halfulp::gpu::wrappers
