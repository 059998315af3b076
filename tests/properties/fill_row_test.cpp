// Numbers made many at once and by several threads: the bits of those made one by one.
#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "properties/fill.hpp"
#include "properties/number.hpp"
#include "properties/number_row.hpp"
#include "properties/parallel.hpp"
#include "tests/properties/materialised.hpp"

namespace halfulp::properties {
namespace {

using reference::Format;

constexpr Format kFormats[] = {Format::fp32, Format::tf32, Format::fp16, Format::bf16};

TEST(DrawsInRow, AreTheDrawsOneByOne) {
  const std::array<std::uint64_t, 3> first{7, 0xffffff00u, 123456};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const Draws row = draws_in_row(0xfeedface12345678u, 9, first, axis);
    for (std::size_t t = 0; t < kDrawsAtOnce; ++t) {
      std::array<std::uint64_t, 3> at = first;
      at[axis] += t;
      const Draw one(0xfeedface12345678u, 9, at[0], at[1], at[2]);
      for (std::size_t w = 0; w < 4; ++w) EXPECT_EQ(row.words[w][t], one.words[w]) << axis;
    }
  }
}

std::uint64_t by_the_reference(Format format, std::int64_t significand, int exponent) {
  reference::Dyadic value;
  value.negative = significand < 0;
  value.significand = static_cast<unsigned __int128>(value.negative ? -significand : significand);
  value.exponent = exponent;
  return reference::encode(format, value);
}

TEST(Number, IsRoundedAsTheReferenceRounds) {
  for (const Format format : kFormats) {
    const auto check = [format](std::int64_t significand, int exponent) {
      for (const std::int64_t s : {significand, -significand}) {
        ASSERT_EQ(number(format, s, exponent), by_the_reference(format, s, exponent))
            << reference::traits(format).name << " " << s << " * 2^" << exponent;
      }
    };
    for (std::uint64_t i = 0; i < 20000; ++i) {
      const Draw draw(5, 1, i);
      check(static_cast<std::int64_t>(draw.high() >> (1 + draw.below(63, 2))),
            static_cast<int>(draw.below(400, 1)) - 230);
    }
    // Ties and their neighbours, from the smallest subnormal number to beyond the largest.
    const reference::FormatTraits& traits = reference::traits(format);
    const int lowest = traits.exponent_min - 2 * traits.precision;
    for (int exponent = lowest; exponent <= traits.exponent_max + 2; ++exponent) {
      for (const std::int64_t leading : {0, 1, 2, 3}) {
        for (int width = 1; width < 40; ++width) {
          for (int near = -2; near <= 2; ++near) {
            const std::int64_t tie = (2 * leading + 1) * (std::int64_t{1} << width);
            check(tie + near, exponent - width);
            check((std::int64_t{1} << width) + near, exponent - width);
          }
        }
      }
    }
    check(0, 0);
    check(std::numeric_limits<std::int64_t>::max(), -63);
    check((std::int64_t{1} << 52) + 1, -40);
    check(1, 2000);
    check(1, -2000);
  }
}

Scene scene_of(Format format) {
  Scene scene = make_scene(0x77, format, nullptr);
  scene.m = scene.n = scene.k = 300;
  scene.quantities = {Quantity::a, Quantity::b};
  return scene;
}

TEST(NumberRow, IsTheFillOneByOne) {
  for (const Format format : kFormats) {
    const Scene scene = scene_of(format);
    for (const Fill& fill : fills()) {
      const NumberRow row = number_row(fill.name);
      if (row == nullptr) continue;
      for (const Quantity quantity : {Quantity::x, Quantity::a, Quantity::q, Quantity::mask}) {
        for (std::uint64_t start = 0; start < 2000; start += kDrawsAtOnce) {
          RowBits bits;
          row(format,
              draws_in_row(scene.seed, static_cast<std::uint32_t>(quantity), {3, start, 5}, 1),
              bits);
          for (std::size_t t = 0; t < kDrawsAtOnce; ++t) {
            ASSERT_EQ(bits[t], fill.value(scene, quantity, {3, start + t, 5})) << fill.name;
          }
        }
      }
    }
  }
  for (const char* name : {"integers", "uniform", "normal", "positive", "M1"}) {
    EXPECT_NE(number_row(name), nullptr) << name;
  }
  EXPECT_EQ(number_row("M3"), nullptr);
}

// Fills of every kind, dimensions of every number and order, one long line.
std::vector<gpu::Problem> problems() {
  std::vector<gpu::Problem> result;
  for (const std::string fill : {"normal", "integers", "M1", "M3", "cancelling"}) {
    for (const std::string rest : {"", " transpose=ab layout=gap:3", " in=f16 layout=every:2"}) {
      result.push_back(problem_of("matmul", "m=700 n=130 k=900 fill=" + fill + rest));
    }
  }
  result.push_back(problem_of("vector_add", "n=1500001 fill=uniform layout=offset:1"));
  result.push_back(
      problem_of("graph_attention", "nodes=4000 heads=3 dim=67 graph=ring layout=permuted"));
  result.push_back(problem_of("flash_attention",
                              "batches=2 heads=3 queries=300 keys=400 dim=64 layout=permuted"));
  return result;
}

TEST(Fill, BitsDoNotDependOnTheThreads) {
  const int most = threads_most();
  set_threads_most(1);
  const std::vector<gpu::Problem> alone = problems();
  for (const int threads : {2, 3, 7}) {
    set_threads_most(threads);
    const std::vector<gpu::Problem> together = problems();
    for (std::size_t i = 0; i < alone.size(); ++i) {
      for (std::size_t j = 0; j < alone[i].operands.size(); ++j) {
        EXPECT_TRUE(alone[i].operands[j].storage == together[i].operands[j].storage)
            << i << " " << j;
      }
    }
  }
  set_threads_most(most);
}

TEST(ForParts, CoversEveryPartOnce) {
  const int most = threads_most();
  set_threads_most(5);
  for (const std::int64_t count : {0, 1, 4, 5, 6, 1000}) {
    std::vector<int> seen(static_cast<std::size_t>(count));
    for_parts(count, 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t part = first; part < last; ++part) ++seen[static_cast<std::size_t>(part)];
    });
    EXPECT_EQ(seen, std::vector<int>(static_cast<std::size_t>(count), 1));
  }
  set_threads_most(most);
}

TEST(ForParts, ThrowsWhatAPartThrows) {
  const int most = threads_most();
  set_threads_most(3);
  const auto work = [](std::int64_t first, std::int64_t) {
    if (first > 0) throw std::runtime_error("part");
  };
  EXPECT_THROW(for_parts(30, 1, work), std::runtime_error);
  set_threads_most(most);
}

}  // namespace
}  // namespace halfulp::properties
