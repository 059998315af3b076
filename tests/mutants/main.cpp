// halfulp_mutants: the halfulp command with the mutants among its kernels.
//
//   halfulp_mutants check 'graph_attention/fused_csc~no_epsilon'
#include "apps/cli.hpp"
#include "tests/mutants/mutant.hpp"

int main(int argc, char** argv) {
  halfulp::gpu::add_kernels(halfulp::mutants::mutant_kernels());
  return halfulp::apps::cli_main(argc, argv);
}
