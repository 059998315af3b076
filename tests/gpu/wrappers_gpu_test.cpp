// Host executor and GPU, word for word. Skips where there is no GPU; fails there under
// HALFULP_REQUIRE_GPU=1.
#include <gtest/gtest.h>

#include <string>

#include "tests/device.hpp"
#include "tests/gpu/wrappers_inputs.hpp"

namespace halfulp::gpu::wrappers {
namespace {

using Words = std::vector<std::uint32_t>;

class WrappersGpu : public testing::Test {
 protected:
  void SetUp() override { HALFULP_NEED_DEVICE(gpu_unavailable()); }
};

void expect_same(Wrapper wrapper, const Words& input, TensorCores model = TensorCores::rounded) {
  const Result host = run_on_host(wrapper, input, model);
  const Result gpu = run_on_gpu(wrapper, input);
  ASSERT_EQ(host.error, "") << name(wrapper);
  ASSERT_EQ(gpu.error, "") << name(wrapper);
  ASSERT_EQ(host.output.size(), gpu.output.size());
  int shown = 0;
  for (std::size_t i = 0; i < host.output.size() && shown < 8; ++i) {
    if (host.output[i] == gpu.output[i]) continue;
    ++shown;
    ADD_FAILURE() << name(wrapper) << " word " << i << ": host 0x" << std::hex << host.output[i]
                  << ", gpu 0x" << gpu.output[i];
  }
}

TEST_F(WrappersGpu, Ldmatrix) {
  for (const Wrapper wrapper : kMatrices) {
    expect_same(wrapper, matrix_rows());
    expect_same(wrapper, random_words(128, 3));
  }
}

TEST_F(WrappersGpu, MmaFragments) {
  for (const Wrapper wrapper : kProducts) {
    for (int first = 0; first < empty_product(wrapper).depth; first += 8) {
      expect_same(wrapper, pack(selecting_columns(wrapper, first)));
    }
    expect_same(wrapper, pack(selecting_rows(wrapper)));
  }
}

// The model of the arithmetic, bit for bit, on random products of narrow and wide exponents and on
// any bits.
void expect_same_arithmetic(TensorCores model) {
  simt::Random random(1);
  for (const Wrapper wrapper : kProducts) {
    for (int i = 0; i < 300; ++i) {
      const Product product =
          i % 5 == 4 ? any_product(wrapper, random) : random_product(wrapper, random, 1 + i % 13);
      expect_same(wrapper, pack(product), model);
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST_F(WrappersGpu, MmaArithmeticOfHopper) {
  if (gpu_compute_capability() != 90) GTEST_SKIP() << "not an sm_90 GPU";
  expect_same_arithmetic(TensorCores::hopper);
}
TEST_F(WrappersGpu, MmaArithmeticOfAmpere) {
  const int capability = gpu_compute_capability();
  if (capability < 80 || capability > 89) GTEST_SKIP() << "not an sm_8x GPU";
  expect_same_arithmetic(TensorCores::ampere);
}

TEST_F(WrappersGpu, CpAsync) {
  for (const Wrapper wrapper : kCopies) expect_same(wrapper, copy_words(wrapper));
}

TEST_F(WrappersGpu, ShufflesVotesAtomicsVectors) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    expect_same(Wrapper::shuffles, random_words(32, seed));
    expect_same(Wrapper::votes, random_words(32, seed));
    expect_same(Wrapper::atomics, random_words(64, seed));
    expect_same(Wrapper::vectors, random_words(128, seed));
  }
}

TEST_F(WrappersGpu, AtomicsOfHalfAndBfloat16) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    expect_same(Wrapper::atomics_16_bit, pairs_16_bit(seed));
    if (HasFailure()) return;
  }
}

TEST_F(WrappersGpu, Conversions) {
  Words every_16_bits(65536);
  for (std::uint32_t i = 0; i < 65536; ++i) every_16_bits[i] = i | i << 16;
  expect_same(Wrapper::conversions, every_16_bits);
  Words floats = random_words(1 << 20, 9);
  for (std::size_t i = 0; i < floats.size(); ++i) {
    if (i % 4 == 1) floats[i] = (floats[i] & 0x8fffffff) | 0x30000000;  // around half's subnormals
    if (i % 4 == 2) floats[i] &= 0xfffff000;                            // ties of half
    if (i % 4 == 3) floats[i] = (floats[i] & 0xffff0001) | 0x8000;      // ties of bfloat16
  }
  expect_same(Wrapper::conversions, floats);
}

}  // namespace
}  // namespace halfulp::gpu::wrappers
