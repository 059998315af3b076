// The wrappers on the host executor against the tables of the PTX and CUDA manuals.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "tests/gpu/wrappers_inputs.hpp"

namespace halfulp::gpu::wrappers {
namespace {

using Words = std::vector<std::uint32_t>;

Words run(Wrapper wrapper, const Words& input, TensorCores model = TensorCores::rounded) {
  const Result plain = run_on_host(wrapper, input, model, false);
  const Result checked = run_on_host(wrapper, input, model, true);
  EXPECT_EQ(plain.error, "") << name(wrapper);
  EXPECT_EQ(checked.error, "") << name(wrapper);
  EXPECT_EQ(plain.output, checked.output) << name(wrapper);
  return plain.output;
}

float value(const Words& words, int row, int column) {
  float v = 0;
  std::memcpy(&v, &words[static_cast<std::size_t>(row * 8 + column)], 4);
  return v;
}

TEST(Wrappers, MmaSelectsColumnsOfA) {
  for (const Wrapper wrapper : kProducts) {
    for (int first = 0; first < empty_product(wrapper).depth; first += 8) {
      for (const auto model : {TensorCores::rounded, TensorCores::ampere, TensorCores::hopper}) {
        const Words d = unpack(run(wrapper, pack(selecting_columns(wrapper, first)), model));
        for (int i = 0; i < 16; ++i) {
          for (int n = 0; n < 8; ++n) {
            EXPECT_EQ(value(d, i, n), static_cast<float>(16 * i + first + n + 1000 * (8 * i + n)))
                << name(wrapper) << " row " << i << " column " << n;
          }
        }
      }
    }
  }
}

TEST(Wrappers, MmaSelectsRowsOfB) {
  for (const Wrapper wrapper : kProducts) {
    const Product p = selecting_rows(wrapper);
    const Words d = unpack(run(wrapper, pack(p)));
    for (int i = 0; i < 16; ++i) {
      for (int n = 0; n < 8; ++n) {
        EXPECT_EQ(value(d, i, n), i < p.depth ? static_cast<float>(8 * i + n) : 0.0f)
            << name(wrapper) << " row " << i << " column " << n;
      }
    }
  }
}

// Lanes 0, 5 and 31 by hand: the raw registers, not the test's own packing.
TEST(Wrappers, MmaRegistersByHand) {
  Words input(320, 0);
  const auto a = [&input](std::size_t lane, std::size_t r) -> std::uint32_t& {
    return input[10 * lane + r];
  };
  const auto b = [&input](std::size_t lane, std::size_t r) -> std::uint32_t& {
    return input[10 * lane + 4 + r];
  };
  a(5, 0) = 0x4000'3c00;   // row 1: k = 2 is 1.0, k = 3 is 2.0
  a(31, 3) = 0x4200'0000;  // row 15: k = 15 is 3.0
  b(1, 0) = 0x4400'3c00;   // column 0: k = 2 is 1.0, k = 3 is 4.0
  b(31, 1) = 0x4500'0000;  // column 7: k = 15 is 5.0
  const Words d = unpack(run(Wrapper::mma_m16n8k16_f16, input));
  for (int i = 0; i < 16; ++i) {
    for (int n = 0; n < 8; ++n) {
      EXPECT_EQ(value(d, i, n), i == 1 && n == 0 ? 9.0f : i == 15 && n == 7 ? 15.0f : 0.0f);
    }
  }
}

TEST(Wrappers, TruncatingModelsByHand) {
  // Row 0, column 0: c + a[0] b[0] + a[1] b[1], f16.
  const auto sum = [](float c, float product_0, float product_1, TensorCores model) {
    Product p = empty_product(Wrapper::mma_m16n8k16_f16);
    p.a[0] = element_bits(p.wrapper, product_0);
    p.a[1] = element_bits(p.wrapper, product_1);
    p.b[0] = p.b[8] = element_bits(p.wrapper, 1);
    p.c[0] = float_bits(c);
    return value(unpack(run(p.wrapper, pack(p), model)), 0, 0);
  };
  // 1 + 2^-24: half an ulp; rounded to even, and cut.
  EXPECT_EQ(sum(1, 0x1p-24f, 0, TensorCores::rounded), 1.0f);
  EXPECT_EQ(sum(1, 0x1p-24f, 0x1p-24f, TensorCores::rounded), 1.0f + 0x1p-23f);
  // F = 24 keeps 2^-24 of a sum near 1: two of them make an ulp.
  EXPECT_EQ(sum(1, 0x1p-24f, 0x1p-24f, TensorCores::ampere), 1.0f + 0x1p-23f);
  EXPECT_EQ(sum(1, 0x1p-24f, 0, TensorCores::ampere), 1.0f);
  // Near 2, 2^-24 lies below F = 24 (unit 2^-23) but not below F = 25 (unit 2^-24), where four make
  // an ulp of 2^-22.
  EXPECT_EQ(sum(2, 0x1p-24f, 0x1p-24f, TensorCores::ampere), 2.0f);
  EXPECT_EQ(sum(2, 0x1.8p-23f, 0x1p-24f, TensorCores::hopper), 2.0f + 0x1p-22f);
  EXPECT_EQ(sum(2, 0x1.8p-23f, 0x1p-24f, TensorCores::ampere), 2.0f);
  // Cut toward zero, not down.
  EXPECT_EQ(sum(-1, -0x1p-24f, 0, TensorCores::hopper), -1.0f);
}

TEST(Wrappers, Ldmatrix) {
  for (const Wrapper wrapper : kMatrices) {
    const Words out = run(wrapper, matrix_rows());
    const std::string text = name(wrapper);
    const bool transposed = text.find("trans") != text.npos;
    const std::uint32_t count = text.find("x1") != text.npos   ? 1
                                : text.find("x2") != text.npos ? 2
                                                               : 4;
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
      for (std::uint32_t m = 0; m < 4; ++m) {
        const std::uint32_t row = lane / 4, pair = lane % 4 * 2;
        const std::uint32_t low = transposed ? 8 * pair + row : 8 * row + pair;
        const std::uint32_t high = transposed ? low + 8 : low + 1;
        EXPECT_EQ(out[4 * lane + m],
                  m < count ? (64 * m + low) | (64 * m + high) << 16 : 0xddddddddu)
            << text << " lane " << lane << " register " << m;
      }
    }
  }
  // By hand: lane 5 holds row 1, columns 2 and 3; transposed, rows 2 and 3 of column 1.
  EXPECT_EQ(run(Wrapper::ldmatrix_x1, matrix_rows())[4 * 5], 10u | 11u << 16);
  EXPECT_EQ(run(Wrapper::ldmatrix_x1_trans, matrix_rows())[4 * 5], 17u | 25u << 16);
}

TEST(Wrappers, CpAsyncCopiesAndFillsWithZeros) {
  for (const Wrapper wrapper : kCopies) {
    const std::size_t size = wrapper == Wrapper::cp_async_16  ? 16
                             : wrapper == Wrapper::cp_async_8 ? 8
                                                              : 4;
    const Words input = copy_words(wrapper);
    const Words out = run(wrapper, input);
    for (std::size_t lane = 0; lane < 32; ++lane) {
      std::uint32_t expected[4] = {0xcccccccc, 0xcccccccc, 0xcccccccc, 0xcccccccc};
      std::memset(expected, 0, size);
      std::memcpy(expected, &input[32 + 4 * lane], input[lane]);
      EXPECT_EQ(std::memcmp(expected, &out[4 * lane], 16), 0) << name(wrapper) << " lane " << lane;
    }
  }
}

TEST(Wrappers, Shuffles) {
  Words input(32);
  for (std::uint32_t lane = 0; lane < 32; ++lane) input[lane] = 100 + lane;
  const Words out = run(Wrapper::shuffles, input);
  for (int lane = 0; lane < 32; ++lane) {
    const int sources[11] = {
        lane * 7 % 32,
        lane / 8 * 8 + (lane + 3) % 8,
        lane >= 1 ? lane - 1 : lane,
        lane % 16 >= 5 ? lane - 5 : lane,
        lane < 31 ? lane + 1 : lane,
        lane % 8 < 5 ? lane + 3 : lane,
        lane ^ 16,
        (lane ^ 12) < lane / 8 * 8 + 8 ? lane ^ 12
                                       : lane,  // a source in an earlier segment is allowed
        (lane ^ 5) < lane / 4 * 4 + 4 ? lane ^ 5 : lane,
        lane ^ 15,
        lane < 30 ? lane + 2 : lane,
    };
    for (int i = 0; i < 11; ++i) {
      EXPECT_EQ(out[static_cast<std::size_t>(12 * lane + i)],
                static_cast<std::uint32_t>(100 + sources[i]))
          << "lane " << lane << " shuffle " << i;
    }
    EXPECT_EQ(out[static_cast<std::size_t>(12 * lane + 11)],
              static_cast<std::uint32_t>(1000 - (100 + 31 - lane)));
  }
}

TEST(Wrappers, Votes) {
  Words input(32);
  for (std::uint32_t lane = 0; lane < 32; ++lane) input[lane] = lane;
  const Words out = run(Wrapper::votes, input);
  for (std::size_t lane = 0; lane < 32; ++lane) {
    const std::uint32_t* o = &out[8 * lane];
    EXPECT_EQ(o[0], 0x49249249u);  // multiples of three
    EXPECT_EQ(o[1], lane % 2 == 0 ? 0x41041041u : 0xaaaaaaaau);
    EXPECT_EQ(o[2], lane % 2 == 0 ? 1u : 0u);
    EXPECT_EQ(o[3], lane % 2 == 0 ? 0u : 1u);
    EXPECT_EQ(o[4], 11u);
    EXPECT_EQ(o[5], 1u);
    EXPECT_EQ(o[6], 0u);
    const std::uint32_t zeros = lane == 0    ? 32
                                : lane >= 16 ? 27
                                : lane >= 8  ? 28
                                : lane >= 4  ? 29
                                : lane >= 2  ? 30
                                             : 31;
    EXPECT_EQ(o[7], 11u + 1u + zeros);
  }
}

TEST(Wrappers, Atomics) {
  Words input(64);
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    input[2 * lane] = 0xfffffff0u + lane;  // negative as int for half of the lanes
    input[2 * lane + 1] = 3 * lane;
  }
  const Words out = run(Wrapper::atomics, input);
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    const std::uint32_t* o = &out[16 * lane];
    const std::uint32_t a = 0xfffffff0u + lane, b = 3 * lane;
    for (const int i : {0, 2, 4, 6, 8, 10, 12}) EXPECT_EQ(o[i], a) << i;
    EXPECT_EQ(o[1], a + b);
    EXPECT_EQ(o[3], lane < 16 ? b : lane == 16 ? 48u : b);  // b >= a as int throughout
    EXPECT_EQ(o[5], a < b ? a : b);
    EXPECT_EQ(o[7], b);
    EXPECT_EQ(o[9], lane % 2 == 0 || a == b ? b : a);
    EXPECT_EQ(o[11], a & b);
    EXPECT_EQ(o[13], a | b);
    EXPECT_EQ(o[14], float_bits(1.5f));
    EXPECT_EQ(o[15], float_bits(1.5f + 0.75f * static_cast<float>(lane)));
  }
}

// A finite number of this format: 5 exponent bits for half, 8 for bfloat16.
double value_16_bit(std::uint32_t bits, int exponent_bits) {
  const int fraction_bits = 15 - exponent_bits;
  const int stored = static_cast<int>(bits >> fraction_bits) & ((1 << exponent_bits) - 1);
  const double fraction = static_cast<double>(bits & ((1u << fraction_bits) - 1));
  const double significand = fraction + (stored > 0 ? std::ldexp(1.0, fraction_bits) : 0.0);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const double magnitude =
      std::ldexp(significand, (stored > 0 ? stored : 1) - bias - fraction_bits);
  return (bits >> 15 & 1) != 0 ? -magnitude : magnitude;
}

// The nearest of all finite numbers to an exact sum, ties to the even one, by search.
std::uint32_t nearest_16_bit(double sum, int exponent_bits) {
  const std::uint32_t sign = std::signbit(sum) ? 0x8000u : 0u;
  const double magnitude = std::fabs(sum);
  std::uint32_t low = 0;
  std::uint32_t high = ((1u << exponent_bits) - 1) << (15 - exponent_bits);  // infinity
  // Infinity is where the next binade would begin: what lies halfway rounds to it.
  const auto value = [exponent_bits, infinity = high](std::uint32_t bits) {
    return bits == infinity ? std::ldexp(1.0, 1 << (exponent_bits - 1))
                            : value_16_bit(bits, exponent_bits);
  };
  if (magnitude >= value(high)) return sign | high;
  while (high - low > 1) {
    const std::uint32_t middle = (low + high) / 2;
    (value(middle) <= magnitude ? low : high) = middle;
  }
  const double below = magnitude - value(low);
  const double above = value(high) - magnitude;
  const bool up = above < below || (above == below && low % 2 == 1);
  return sign | (up ? high : low);
}

TEST(Wrappers, AtomicsOfHalfAndBfloat16RoundOnceAndKeepSubnormals) {
  int compared = 0;
  int subnormal = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const Words input = pairs_16_bit(seed);
    const Words out = run(Wrapper::atomics_16_bit, input);
    for (std::size_t i = 0; i < 32 * 8; i += 2) {
      const std::size_t lane = i / 8;
      const int exponent_bits = i / 2 % 2 == 0 ? 5 : 8;
      EXPECT_EQ(out[i], input[2 * lane]);  // what was there before
      for (const int shift : {0, 16}) {
        const std::uint32_t a = input[2 * lane] >> shift & 0xffff;
        const std::uint32_t b = input[2 * lane + 1] >> shift & 0xffff;
        const std::uint32_t infinity = ((1u << exponent_bits) - 1) << (15 - exponent_bits);
        if ((a & infinity) == infinity || (b & infinity) == infinity) continue;
        const double x = value_16_bit(a, exponent_bits);
        const double y = value_16_bit(b, exponent_bits);
        const double sum = x + y;
        if (sum - x != y || sum - y != x) continue;  // not exact in double
        const std::uint32_t expected = nearest_16_bit(sum, exponent_bits);
        EXPECT_EQ(out[i + 1] >> shift & 0xffff, expected) << std::hex << a << " + " << b;
        ++compared;
        subnormal += (expected & infinity) == 0 && (expected & 0x7fff) != 0;
      }
    }
  }
  EXPECT_GT(compared, 10000);
  EXPECT_GT(subnormal, 1000);
}

TEST(Wrappers, AtomicsOfHalfAndBfloat16OnNanAndInfinity) {
  Words input(64, 0);
  input[0] = 0x7c00'7c01;  // half: a NaN, infinity
  input[1] = 0xfc00'3c00;  // half: one, -infinity
  input[2] = 0x7bff'8000;  // half: -0, the largest
  input[3] = 0x7bff'8000;
  const Words out = run(Wrapper::atomics_16_bit, input);
  EXPECT_EQ(out[1], 0x7fff'7fffu);
  EXPECT_EQ(out[8 + 1], 0x7c00'8000u);
}

TEST(Wrappers, Vectors) {
  const Words input = random_words(128, 11);
  const Words out = run(Wrapper::vectors, input);
  for (std::size_t lane = 0; lane < 32; ++lane) {
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(out[4 * (31 - lane) + i], input[4 * lane + i]);
    EXPECT_EQ(out[128 + 2 * lane], input[4 * lane + 3]);
    EXPECT_EQ(out[128 + 2 * lane + 1], input[4 * lane + 2]);
  }
}

}  // namespace
}  // namespace halfulp::gpu::wrappers
