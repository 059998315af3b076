#include "properties/philox.hpp"

#include "properties/assert.hpp"

namespace halfulp::properties {
namespace {

constexpr std::uint32_t kMultiplier0 = 0xD2511F53u;
constexpr std::uint32_t kMultiplier1 = 0xCD9E8D57u;
constexpr std::uint32_t kWeyl0 = 0x9E3779B9u;  // golden ratio
constexpr std::uint32_t kWeyl1 = 0xBB67AE85u;  // sqrt(3) - 1
constexpr int kRounds = 10;

std::uint32_t word(std::uint64_t value) { return static_cast<std::uint32_t>(value); }

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

std::uint64_t Draw::high() const { return (std::uint64_t{words[0]} << 32) | words[1]; }
std::uint64_t Draw::low() const { return (std::uint64_t{words[2]} << 32) | words[3]; }

std::uint64_t Draw::below(std::uint64_t count, int which) const {
  HALFULP_ASSERT(count >= 1 && which >= 0 && which <= 2, "bad draw");
  const auto first = static_cast<std::size_t>(which);
  const std::uint64_t bits = (std::uint64_t{words[first]} << 32) | words[first + 1];
  return static_cast<std::uint64_t>((static_cast<unsigned __int128>(bits) * count) >> 64);
}

}  // namespace halfulp::properties
