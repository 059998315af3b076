// The halfulp command with the fakes of tests/properties/fakes.hpp in its registry.
#include "apps/cli.hpp"
#include "tests/properties/fakes.hpp"

int main(int argc, char** argv) {
  halfulp::gpu::add_kernels(halfulp::testing::fake_kernels());
  return halfulp::apps::cli_main(argc, argv);
}
