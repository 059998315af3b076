// Simulated attention kernels: every order, tile, form of the exponent and rounding of weights that
// the declared Arithmetic of flash_attention allows. Independent of the bounds they test.
#pragma once
#include <vector>

#include "reference/ops/flash_attention.hpp"
#include "tests/reference/ops/simulated_matmul.hpp"

namespace halfulp::reference::simulated {

// How the argument of an exponential comes about, s a score, m the maximum, c log2 e.
enum class Exponent {
  difference,         // e^(s - m)
  scaled_difference,  // 2^((s - m) c)
  raw_difference,     // the same, the scale a factor of c where there is no mask
  fused,              // 2^(fma(s, c, -(m c))), the scale a factor of c where there is no mask
  unfused,            // 2^(s c - m c), the same
  folded,             // 2^(s' - m'), s' = q k (scale c) + mask c
  kinds
};

struct FlashStyle {
  DotStyle dot;  // of q and k; what is declared is in dot.declared
  Exponent exponent = Exponent::difference;
  bool online = false;
  bool reverse = false;  // tiles of keys from the last to the first
  std::int64_t tile = 8;
  std::int64_t splits = 1;       // of the tiles, merged at the end
  int lazy_bits = 0;             // the maximum may grow by so much before sums are rescaled
  bool query_scaled = false;     // before the products are summed
  bool fma = false;              // multiplications go into the additions that follow them
  int exp_ulps = 0;              // off by up to so many, of either sign
  bool exp_adversarial = false;  // in the direction that moves channel 0
  int reciprocal_ulps = -1;      // -1: a division; else off by up to so many

  const Arithmetic& declared() const { return dot.declared; }
};
FlashStyle random_flash_style(Format input, std::int64_t keys, Generator& generator);
const char* name_of(Exponent exponent);

enum class FlashFill {
  normal,
  peaky,
  ladder,    // every score beyond the one before by more than exp can tell from 0
  equal,     // q = 0
  two_keys,  // v = 0 and 4096
  identity,  // v of the first keys
  integers,
  lowest,  // every score far below 0
  biased,  // v about 3
  wide,
  subnormal,  // values, and some of q and k
  huge,       // v near the largest number
  any_bits,
  kinds
};
enum class FlashMask { none, causal, window, random, finite, large, one_open, closed, kinds };

struct FlashSizes {
  std::int64_t batches = 1, heads = 1, queries = 1, keys = 1, dim = 4;
};
// Storage of the operands of one case, rows apart by an odd gap.
struct FlashData {
  std::vector<unsigned char> storage;  // little endian
  std::vector<float> mask;
  FlashAttention op;

  FlashData(const FlashSizes& sizes, Format input);
  FlashData(const FlashData&) = delete;
  FlashData& operator=(const FlashData&) = delete;
  void set(const View& view, std::int64_t head, std::int64_t row, std::int64_t d, double value);
  void fill(FlashFill fill, Generator& generator);
  void set_mask(FlashMask mask, Generator& generator);
  float& mask_at(std::int64_t head, std::int64_t query, std::int64_t key);
};

// One query of a head (batches and heads counted through), all channels; before the rounding to the
// output's format.
std::vector<double> run(const FlashAttention& op, const FlashStyle& style, std::int64_t head,
                        std::int64_t query, Generator& generator);

}  // namespace halfulp::reference::simulated
