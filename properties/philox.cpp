#include "properties/philox.hpp"

#include "properties/assert.hpp"
#include "reference/ops/clones.hpp"

namespace halfulp::properties {
namespace {

constexpr std::uint32_t kMultiplier0 = 0xD2511F53u;
constexpr std::uint32_t kMultiplier1 = 0xCD9E8D57u;
constexpr std::uint32_t kWeyl0 = 0x9E3779B9u;  // golden ratio
constexpr std::uint32_t kWeyl1 = 0xBB67AE85u;  // sqrt(3) - 1
constexpr int kRounds = 10;

std::uint32_t word(std::uint64_t value) { return static_cast<std::uint32_t>(value); }

// philox() of every column. Lanes are loops of a fixed length, which compilers vectorise.
HALFULP_CLONES void philox_columns(Draws& draws, std::uint32_t key0, std::uint32_t key1) {
  constexpr std::size_t kLanes = 16;
  for (std::size_t start = 0; start < kDrawsAtOnce; start += kLanes) {
    std::uint32_t c0[kLanes], c1[kLanes], c2[kLanes], c3[kLanes];
    for (std::size_t t = 0; t < kLanes; ++t) {
      c0[t] = draws.words[0][start + t];
      c1[t] = draws.words[1][start + t];
      c2[t] = draws.words[2][start + t];
      c3[t] = draws.words[3][start + t];
    }
    std::uint32_t round_key0 = key0, round_key1 = key1;
    for (int round = 0; round < kRounds; ++round) {
      for (std::size_t t = 0; t < kLanes; ++t) {
        const std::uint64_t product0 = std::uint64_t{kMultiplier0} * c0[t];
        const std::uint64_t product1 = std::uint64_t{kMultiplier1} * c2[t];
        c0[t] = word(product1 >> 32) ^ c1[t] ^ round_key0;
        c1[t] = word(product1);
        c2[t] = word(product0 >> 32) ^ c3[t] ^ round_key1;
        c3[t] = word(product0);
      }
      round_key0 += kWeyl0;
      round_key1 += kWeyl1;
    }
    for (std::size_t t = 0; t < kLanes; ++t) {
      draws.words[0][start + t] = c0[t];
      draws.words[1][start + t] = c1[t];
      draws.words[2][start + t] = c2[t];
      draws.words[3][start + t] = c3[t];
    }
  }
}

}  // namespace

Philox philox(Philox counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t product0 = std::uint64_t{kMultiplier0} * counter[0];
    const std::uint64_t product1 = std::uint64_t{kMultiplier1} * counter[2];
    counter = {word(product1 >> 32) ^ counter[1] ^ key[0], word(product1),
               word(product0 >> 32) ^ counter[3] ^ key[1], word(product0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

Draw::Draw(std::uint64_t seed, std::uint32_t stream, std::uint64_t i, std::uint64_t j,
           std::uint64_t k) {
  HALFULP_ASSERT(((i | j | k) >> 32) == 0, "a coordinate does not fit in 32 bits");
  words = philox({word(k), word(j), word(i), stream}, {word(seed), word(seed >> 32)});
}

Draws draws_in_row(std::uint64_t seed, std::uint32_t stream,
                   const std::array<std::uint64_t, 3>& first, std::size_t axis) {
  HALFULP_ASSERT(((first[0] | first[1] | first[2]) >> 32) == 0 && axis < 3, "bad row of draws");
  const std::array<std::uint32_t, 4> start{word(first[2]), word(first[1]), word(first[0]), stream};
  Draws draws;
  for (std::size_t w = 0; w < 4; ++w) {
    const std::uint32_t step = w == 2 - axis ? 1 : 0;
    for (std::uint32_t t = 0; t < kDrawsAtOnce; ++t) draws.words[w][t] = start[w] + t * step;
  }
  philox_columns(draws, word(seed), word(seed >> 32));
  return draws;
}

std::uint64_t Draw::high() const { return (std::uint64_t{words[0]} << 32) | words[1]; }
std::uint64_t Draw::low() const { return (std::uint64_t{words[2]} << 32) | words[3]; }

std::uint64_t Draw::below(std::uint64_t count, int which) const {
  HALFULP_ASSERT(count >= 1 && which >= 0 && which <= 2, "bad draw");
  const auto first = static_cast<std::size_t>(which);
  const std::uint64_t bits = (std::uint64_t{words[first]} << 32) | words[first + 1];
  return static_cast<std::uint64_t>((static_cast<unsigned __int128>(bits) * count) >> 64);
}

}  // namespace halfulp::properties
