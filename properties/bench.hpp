// Benchmarks behind the figures in docs/. Each prints its lines as it goes; none judges by time.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace halfulp::properties {

using Say = std::function<void(const std::string& line)>;

// The truth of 10^6 edges x 4 heads x 32 channels, bound included, on one core (processor time);
// exact sums and exact elements; products of matrices, whole and by elements; Freivalds' check.
void bench_reference(const Say& say);

// Judged cases per second of campaigns over the graph families at smoke sizes (up to 20 of 100),
// one campaign for each host backend.
void bench_host(const Say& say, int jobs, double seconds);

// Kernels of graphs at `batches` graphs of 100 nodes and 1000 edges, 4 heads x 32 channels: median
// time, and minimal bytes (every operand once) per second beside what a copy reaches in the same
// run. Kernels of matmul beside cuBLAS, with their mean ratio to it. Kernels of flash_attention at
// three shapes (properties/bench_flash.hpp). Empty, or why no device is usable.
std::string bench_gpu(const Say& say, const std::vector<std::string>& filters,
                      const std::vector<std::int64_t>& batches);

}  // namespace halfulp::properties
