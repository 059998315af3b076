// Views: the fast rows say what decode says of every stored pattern, at any address and stride.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "reference/answer.hpp"

namespace halfulp::reference {
namespace {

// NaN are equal whatever their payload; zeros differ by sign.
void expect_same(double value, double expected) {
  if (std::isnan(expected)) {
    ASSERT_TRUE(std::isnan(value));
  } else {
    ASSERT_EQ(std::bit_cast<std::uint64_t>(value), std::bit_cast<std::uint64_t>(expected));
  }
}

TEST(View, EveryHalfAndBfloatInARowIsDecoded) {
  std::vector<std::uint16_t> stored(65536);
  for (std::size_t i = 0; i < stored.size(); ++i) stored[i] = static_cast<std::uint16_t>(i);
  std::vector<double> row(stored.size());
  for (const Format format : {Format::fp16, Format::bf16}) {
    const View view{stored.data(), format, {65536, 1, 1, 1}, {1, 0, 0, 0}};
    view.row(0, 0, 0, 0, 65536, row.data());
    for (std::size_t i = 0; i < row.size(); ++i) {
      expect_same(row[i], decode(format, stored[i]));
      expect_same(view.at(static_cast<std::int64_t>(i)), decode(format, stored[i]));
    }
  }
}

TEST(View, RowsOfWideFormatsAreDecoded) {
  std::mt19937_64 random(1);
  std::vector<std::uint64_t> stored(10007);
  for (std::uint64_t& bits : stored) bits = random();
  const auto* const bytes = reinterpret_cast<const unsigned char*>(stored.data());
  for (const Format format : {Format::fp64, Format::fp32, Format::tf32}) {
    const auto size = static_cast<std::size_t>(traits(format).storage_bits / 8);
    const std::size_t count = stored.size() * 8 / size - 1;
    std::vector<double> row(count);
    for (const std::size_t misalignment : {std::size_t{0}, size / 2 - 1}) {
      const View view{bytes + misalignment, format, {1, 1, 1, 1}, {0, 0, 0, 1}};
      view.row(0, 0, 0, 3, static_cast<std::int64_t>(count), row.data());
      for (std::size_t i = 0; i < count; ++i) {
        std::uint64_t bits = 0;
        std::memcpy(&bits, bytes + misalignment + i * size, size);
        expect_same(row[i], decode(format, bits));
      }
    }
  }
}

TEST(View, StridesMayBeAnything) {
  std::vector<float> stored(1000);
  for (std::size_t i = 0; i < stored.size(); ++i) stored[i] = static_cast<float>(i);
  // (3, 5, 2, 4) with gaps, the second dimension backwards, the last one repeated.
  const View view{stored.data() + 200, Format::fp32, {3, 5, 2, 4}, {100, -10, 3, 0}};
  EXPECT_EQ(view.at(2, 4, 1, 3), 200 + 200 - 40 + 3);
  double row[5];
  view.row(1, 0, 1, 1, 5, row);
  for (int j = 0; j < 5; ++j) EXPECT_EQ(row[j], 303 - 10 * j);
  view.row(1, 2, 0, 3, 4, row);
  for (int l = 0; l < 4; ++l) EXPECT_EQ(row[l], 280);
  view.row(0, 1, 1, 0, 3, row);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(row[i], 193 + 100 * i);
  row[0] = -1;
  View{}.row(0, 0, 0, 0, 0, row);
  EXPECT_EQ(row[0], -1);
}

}  // namespace
}  // namespace halfulp::reference
