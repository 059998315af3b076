// Times of attention; see bench_flash.hpp.
#include "properties/bench_flash.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "gpu/backend.hpp"
#include "properties/assert.hpp"
#include "properties/bench_gpu.hpp"
#include "properties/flash_problem.hpp"
#include "properties/operation.hpp"
#include "properties/parameters.hpp"

namespace halfulp::properties {
namespace {

constexpr int kRepeats = 10;
constexpr int kRepeatsToChoose = 2;
// Pairs of queries and keys times channels up to which kernels without tensor cores are timed.
constexpr double kPlainWorkMost = 2e10;

struct Shape {
  std::int64_t batches, heads, length, dim;
};
constexpr std::array kShapes{Shape{16, 8, 1024, 64}, Shape{32, 96, 512, 128},
                             Shape{4, 16, 4096, 128}};
constexpr std::array kFormats{gpu::Format::f16, gpu::Format::tf32};
constexpr std::array<std::string_view, 3> kMasks{"none", "causal_top_left", "prefix_lm"};

// Every head and batch gets the numbers of the first, at places of its own.
void repeat_heads(gpu::Operand& operand, const Shape& shape) {
  operand.extent[0] = shape.batches;
  operand.extent[1] = shape.heads;
  if (operand.name == "mask") return;  // strides of 0 there
  operand.stride[1] = operand.extent[2] * operand.extent[3];
  operand.stride[0] = shape.heads * operand.stride[1];
  const std::vector<std::byte> head = std::move(operand.storage);
  operand.storage = {};
  if (operand.role == gpu::Role::output) return;
  operand.storage.resize(head.size() * static_cast<std::size_t>(shape.batches * shape.heads));
  for (std::size_t at = 0; at < operand.storage.size(); at += head.size()) {
    std::memcpy(operand.storage.data() + at, head.data(), head.size());
  }
}

std::string mask_text(std::string_view family, const Shape& shape) {
  const std::string text(family);
  return text == "prefix_lm" ? fmt::format("{}:{}", text, shape.length / 2) : text;
}

gpu::Problem problem_of(const gpu::Kernel& kernel, gpu::Format storage, const Shape& shape,
                        std::string_view mask) {
  const Parsed parsed = parse(
      fmt::format("flash_attention {} backend=cuda in={} queries={} keys={} dim={} mask={} "
                  "mask_layout=broadcast:bh fill=normal",
                  kernel.name, gpu::name(storage), shape.length, shape.length, shape.dim, mask));
  HALFULP_ASSERT(!parsed.error, parsed.error.what);
  gpu::Problem problem = materialise_flash(parsed.value);
  for (gpu::Operand& operand : problem.operands) repeat_heads(operand, shape);
  return problem;
}

double open_share(const Mask& mask, const Shape& shape) {
  const MaskShape sizes{1, 1, shape.length, shape.length};
  std::vector<double> row(static_cast<std::size_t>(shape.length));
  double open = 0;
  for (std::int64_t i = 0; i < shape.length; ++i) {
    mask_row(mask, sizes, {.query = i}, row);
    open += static_cast<double>(std::ranges::count(row, 0.0));
  }
  return open / static_cast<double>(shape.length * shape.length);
}

// Kernels that take the mask in the same way have the same problem but for settings.
struct Group {
  gpu::Problem problem;
  std::vector<gpu::TimedCall> calls;
};

bool timed(const gpu::Kernel& kernel, const Shape& shape, const Mask& mask, MaskPassing way) {
  if (passing(kernel, mask) != way) return false;
  const double work = static_cast<double>(shape.batches * shape.heads * shape.dim) *
                      static_cast<double>(shape.length * shape.length);
  return kernel.numerics.tensor_cores || work <= kPlainWorkMost;
}

Group group_of(const std::vector<const gpu::Kernel*>& kernels, gpu::Format storage,
               const Shape& shape, std::string_view mask, MaskPassing way) {
  Group group;
  for (const gpu::Kernel* kernel : kernels) {
    if (!timed(*kernel, shape, parse_mask(mask), way)) continue;
    gpu::Problem own = problem_of(*kernel, storage, shape, mask);
    const gpu::Parameter* tiles = find_parameter(*kernel, "tile");
    const std::size_t count = tiles == nullptr ? 1 : tiles->words.size();
    for (std::size_t i = 0; i < count; ++i) {
      gpu::TimedCall call{kernel, own.settings};
      for (gpu::Setting& setting : call.settings) {
        if (setting.name != "tile") continue;
        setting.value = static_cast<std::int64_t>(i);
        setting.word = tiles->words[i];
      }
      group.calls.push_back(std::move(call));
    }
    if (group.problem.operands.empty()) group.problem = std::move(own);
  }
  return group;
}

// Of each kernel's calls, the one that was quickest in a few repeats.
std::vector<gpu::TimedCall> quickest(const Group& group) {
  const auto quick =
      gpu::time_calls(group.calls, gpu::Backend::cuda, group.problem, kRepeatsToChoose);
  std::vector<gpu::TimedCall> chosen;
  double best_us = 0;
  for (std::size_t i = 0; i < group.calls.size(); ++i) {
    const bool first = chosen.empty() || chosen.back().kernel != group.calls[i].kernel;
    const bool launched = quick[i].repeats > 0;
    if (!first && (!launched || (best_us > 0 && quick[i].median_us >= best_us))) continue;
    if (first) {
      chosen.push_back(group.calls[i]);
    } else {
      chosen.back() = group.calls[i];
    }
    best_us = launched ? quick[i].median_us : 0;
  }
  return chosen;
}

std::string tile_of(const gpu::TimedCall& call) {
  const auto found = std::ranges::find(call.settings, "tile", &gpu::Setting::name);
  return found == call.settings.end() ? "-" : found->word;
}

void time_group(const Say& say, const Group& group, const Shape& shape, std::string_view mask,
                double copy_bytes_per_s) {
  if (group.calls.empty()) return;
  const auto chosen = quickest(group);
  const auto timings = gpu::time_calls(chosen, gpu::Backend::cuda, group.problem, kRepeats);
  const auto pairs = static_cast<double>(shape.batches * shape.heads) *
                     static_cast<double>(shape.length * shape.length);
  const double operations =
      4 * pairs * static_cast<double>(shape.dim) * open_share(parse_mask(mask), shape);
  double bytes = 0;
  for (const gpu::Operand& operand : group.problem.operands) {
    if (operand.name == "mask") continue;
    bytes += static_cast<double>(operand.count() * gpu::size_bytes(operand.format));
  }
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const std::string head =
        fmt::format("{:<14} {:<4} {:<16} {:<15}",
                    fmt::format("{},{},{},{}", shape.batches, shape.heads, shape.length, shape.dim),
                    gpu::name(group.problem.operand("q").format), mask, chosen[i].kernel->name);
    if (timings[i].repeats == 0) {
      say(fmt::format("{} not launched: {}", head, timings[i].failure));
      continue;
    }
    const double seconds = timings[i].median_us * 1e-6;
    say(fmt::format("{} {:>10.1f} {:>8.1f} {:>8.1f} {:>6.1f}% {}", head, timings[i].median_us,
                    operations / seconds * 1e-12, bytes / seconds * 1e-9,
                    100 * bytes / seconds / copy_bytes_per_s, tile_of(chosen[i])));
  }
}

}  // namespace

void bench_flash(const Say& say, const std::vector<std::string>& filters, double copy_bytes_per_s) {
  bool headed = false;
  for (const Shape& shape : kShapes) {
    for (const gpu::Format storage : kFormats) {
      const auto kernels = timed_kernels("flash_attention", storage, filters);
      if (kernels.empty()) continue;
      if (!headed) {
        say(
            fmt::format("flash_attention: N(0,1), the same in every head; median of {} calls, each "
                        "at the quickest tile; TFLOP/s of open pairs; GB/s: q, k, v, out once",
                        kRepeats));
        say(fmt::format("{:<14} {:<4} {:<16} {:<15} {:>10} {:>8} {:>8} {:>7} {}", "B,H,T,D", "in",
                        "mask", "kernel", "median us", "TFLOP/s", "GB/s", "of copy", "tile"));
      }
      headed = true;
      for (const std::string_view family : kMasks) {
        const std::string mask = mask_text(family, shape);
        for (const MaskPassing way : {MaskPassing::operand, MaskPassing::settings}) {
          time_group(say, group_of(kernels, storage, shape, mask, way), shape, mask,
                     copy_bytes_per_s);
        }
      }
    }
  }
}

}  // namespace halfulp::properties
