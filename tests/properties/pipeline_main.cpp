// main() of the pipeline's tests: the registry holds the fakes as well.
#include <gtest/gtest.h>

#include "tests/properties/fakes.hpp"

int main(int argc, char** argv) {
  halfulp::gpu::add_kernels(halfulp::testing::fake_kernels());
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
