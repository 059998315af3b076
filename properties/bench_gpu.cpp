// Kernels on a device: those of graphs against its copy bandwidth; see bench.hpp.
#include "properties/bench_gpu.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "gpu/backend.hpp"
#include "properties/assert.hpp"
#include "properties/bench_flash.hpp"
#include "properties/operation.hpp"
#include "properties/plan.hpp"

namespace halfulp::properties {

namespace {

constexpr std::int64_t kCopyBytes = std::int64_t{1} << 30;
constexpr double kSecondsEach = 0.2;  // of device time for one kernel at one shape

// Every operand read or written once.
double minimal_bytes(const gpu::Problem& problem) {
  double bytes = 0;
  for (const gpu::Operand& operand : problem.operands) {
    bytes += static_cast<double>(operand.count() * gpu::size_bytes(operand.format));
  }
  return bytes;
}

std::string shape_line(const gpu::Kernel& kernel, std::string_view storage, std::int64_t batch) {
  return fmt::format(
      "{} {} backend=cuda in={} nodes={} heads=4 dim=32 graph=batch:{}:1000 fill=normal seed=0x1",
      kernel.operation, kernel.name, storage, 100 * batch, batch);
}

void time_one(const Say& say, const gpu::Kernel& kernel, std::string_view storage,
              std::int64_t batch, const gpu::Problem& problem, double copy_bytes_per_s) {
  const double first_us =
      std::max(1.0, gpu::time_kernel(kernel, gpu::Backend::cuda, problem, 3).median_us);
  const int repeats = static_cast<int>(std::clamp(kSecondsEach * 1e6 / first_us, 5.0, 500.0));
  const gpu::Timing timing = gpu::time_kernel(kernel, gpu::Backend::cuda, problem, repeats);
  const double bytes_per_s = minimal_bytes(problem) / (timing.median_us * 1e-6);
  say(fmt::format("{:<36} {:<4} {:>5} {:>10.1f} {:>10.1f} {:>9.1f} {:>7.1f}%",
                  fmt::format("{}/{}", kernel.operation, kernel.name), storage, batch,
                  timing.median_us, timing.minimum_us, bytes_per_s / 1e9,
                  100 * bytes_per_s / copy_bytes_per_s));
}

void say_header(const Say& say) {
  say("graphs of 100 nodes and 1000 edges, 4 heads, 32 channels; GB/s: every operand once");
  say(fmt::format("{:<36} {:<4} {:>5} {:>10} {:>10} {:>9} {:>8}", "kernel", "in", "batch",
                  "median us", "min us", "GB/s", "of copy"));
}

void bench_graphs(const Say& say, const std::vector<std::string>& filters,
                  const std::vector<std::int64_t>& batches, double copy_bytes_per_s) {
  bool headed = false;
  for (const std::string_view operation : {"scatter_normalize", "graph_attention"}) {
    for (const gpu::Format storage : {gpu::Format::f32, gpu::Format::f16}) {
      const auto kernels = timed_kernels(operation, storage, filters);
      if (kernels.empty()) continue;
      if (!headed) say_header(say);
      headed = true;
      for (const std::int64_t batch : batches) {
        const Parsed parsed = parse(shape_line(*kernels.front(), gpu::name(storage), batch));
        HALFULP_ASSERT(!parsed.error, parsed.error.what);
        const gpu::Problem problem = find_operation(operation)->materialise(parsed.value);
        for (const gpu::Kernel* kernel : kernels) {
          time_one(say, *kernel, gpu::name(storage), batch, problem, copy_bytes_per_s);
        }
      }
    }
  }
}

}  // namespace

std::vector<const gpu::Kernel*> timed_kernels(std::string_view operation, gpu::Format storage,
                                              const std::vector<std::string>& filters) {
  std::vector<const gpu::Kernel*> result;
  for (const Pairing& pair : pairings(filters, {gpu::Backend::cuda})) {
    const auto& accepted = pair.kernel->storage;
    const bool takes = std::ranges::find(accepted, storage) != accepted.end();
    if (pair.kernel->operation == operation && takes) result.push_back(pair.kernel);
  }
  return result;
}

std::string bench_gpu(const Say& say, const std::vector<std::string>& filters,
                      const std::vector<std::int64_t>& batches) {
  const std::string unavailable = gpu::unavailable_reason(gpu::Backend::cuda);
  if (!unavailable.empty()) return unavailable;
  const double copy = gpu::copy_bandwidth_bytes_per_s(gpu::Backend::cuda, kCopyBytes);
  say(fmt::format("{}; copy of 1 GiB: {:.1f} GB/s read and written",
                  gpu::device_name(gpu::Backend::cuda), copy / 1e9));
  bench_graphs(say, filters, batches, copy);
  bench_matmul(say, filters);
  bench_flash(say, filters, copy);
  return {};
}

}  // namespace halfulp::properties
