// Registry rows of the mutants.
#include "tests/mutants/mutant.hpp"

#include <cstdio>
#include <cstdlib>

namespace halfulp::mutants {

namespace {

// Of the flash_attention kernels those that take every channel of a tile at once.
bool channels_limited(const gpu::Kernel& row) {
  return row.operation == "flash_attention" && row.numerics.tensor_cores;
}

// Mutants are compiled with HALFULP_FEW_VARIANTS (gpu/kernels/matmul_body.hpp).
void keep_few(gpu::Kernel& row) {
  if (row.operation != "matmul" && row.operation != "flash_attention") return;
  std::erase_if(row.storage, [&](gpu::Format format) {
    return format != gpu::Format::f16 && (format != gpu::Format::f32 || channels_limited(row));
  });
  if (channels_limited(row)) return;  // all tiles are built
  for (gpu::Parameter& parameter : row.parameters) {
    if (parameter.name != "tile") continue;
    parameter.words.resize(2);
    parameter.high = 1;
  }
}

}  // namespace

bool is_built(const properties::Case& c) {
  const gpu::Kernel* row = gpu::find_kernel(c.operation, c.kernel);
  const bool limited = c.kernel.find('~') != std::string::npos && channels_limited(*row);
  return !limited || c.integer("dim") <= 64;
}

std::vector<gpu::Kernel> mutant_kernels() {
  std::vector<gpu::Kernel> rows;
  for (const Mutant& mutant : mutant_table()) {
    const gpu::Kernel* original = gpu::find_kernel(mutant.operation, mutant.kernel);
    if (original == nullptr) {
      std::fprintf(stderr, "mutants: the registry has no row for the kernel of mutant %s\n",
                   std::string(mutant.full_name).c_str());
      std::abort();
    }
    gpu::Kernel row = *original;
    row.name = mutant.full_name;
    row.summary = mutant.kind;
    row.entry = {};
    row.entry[static_cast<std::size_t>(gpu::Backend::host)] = mutant.host_entry;
    row.entry[static_cast<std::size_t>(gpu::Backend::host_checked)] = mutant.host_checked_entry;
    keep_few(row);
    rows.push_back(row);
  }
  return rows;
}

}  // namespace halfulp::mutants
