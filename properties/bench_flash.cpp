// Times of attention; see bench_flash.hpp.
#include "properties/bench_flash.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "gpu/backend.hpp"
#include "properties/assert.hpp"
#include "properties/bench_gpu.hpp"
#include "properties/flash_problem.hpp"
#include "properties/operation.hpp"
#include "properties/parameters.hpp"

namespace halfulp::properties {
namespace {

constexpr int kRepeats = 10;
// Pairs of queries and keys times channels beyond which a call of a kernel without tensor cores
// takes up to a large part of a second: it is then timed less often.
constexpr double kSlowWork = 2e10;
constexpr int kSlowRepeats = 1;

struct Shape {
  std::int64_t batches, heads, length, dim;
};
constexpr std::array kShapes{Shape{16, 8, 1024, 64}, Shape{32, 96, 512, 128},
                             Shape{4, 16, 4096, 128}};
constexpr std::array kFormats{gpu::Format::f16, gpu::Format::bf16, gpu::Format::tf32,
                              gpu::Format::f32};
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

// For one batch and one head.
gpu::Problem problem_of(const gpu::Kernel& kernel, gpu::Format storage, std::int64_t queries,
                        std::int64_t keys, std::int64_t dim, std::string_view mask) {
  const Parsed parsed =
      parse(fmt::format("flash_attention {} backend=cuda in={} queries={} keys={} dim={} mask={} "
                        "mask_layout=broadcast:bh fill=normal",
                        kernel.name, gpu::name(storage), queries, keys, dim, mask));
  HALFULP_ASSERT(!parsed.error, parsed.error.what);
  return materialise_flash(parsed.value);
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

// A kernel with a mask: one row of the table, the quickest of its tiles.
struct Entry {
  std::size_t mask = 0;  // of kMasks
  const gpu::Kernel* kernel = nullptr;
  std::vector<gpu::TimedCall> calls;  // one a tile
};

// Calls on the same operands: masks that are settings, or one that is an operand.
struct Group {
  gpu::Problem problem;  // of one head until it is used
  std::vector<Entry> entries;
};

std::vector<gpu::TimedCall> calls_of(const gpu::Kernel& kernel,
                                     const std::vector<gpu::Setting>& settings) {
  const gpu::Parameter* tiles = find_parameter(kernel, "tile");
  if (tiles == nullptr) return {{&kernel, settings}};
  std::vector<gpu::TimedCall> calls;
  for (std::size_t i = 0; i < tiles->words.size(); ++i) {
    gpu::TimedCall& call = calls.emplace_back(gpu::TimedCall{&kernel, settings});
    for (gpu::Setting& setting : call.settings) {
      if (setting.name != "tile") continue;
      setting.value = static_cast<std::int64_t>(i);
      setting.word = tiles->words[i];
    }
  }
  return calls;
}

double work_of(const Shape& shape) {
  return static_cast<double>(shape.batches * shape.heads * shape.dim) *
         static_cast<double>(shape.length * shape.length);
}

bool is_slow(const gpu::Kernel& kernel, const Shape& shape) {
  return !kernel.numerics.tensor_cores && work_of(shape) > kSlowWork;
}

// bf16 is to kernels without tensor cores what f16 is.
bool timed(const gpu::Kernel& kernel, gpu::Format storage) {
  return kernel.numerics.tensor_cores || storage != gpu::Format::bf16;
}

// The group of the masks that are settings, then one for each mask as an operand.
std::vector<Group> groups_of(const std::vector<const gpu::Kernel*>& kernels, gpu::Format storage,
                             const Shape& shape) {
  std::vector<Group> groups(1 + kMasks.size());
  for (std::size_t mask = 0; mask < kMasks.size(); ++mask) {
    const std::string text = mask_text(kMasks[mask], shape);
    for (const gpu::Kernel* kernel : kernels) {
      const MaskPassing way = passing(*kernel, parse_mask(text));
      if (way == MaskPassing::none || !timed(*kernel, storage)) continue;
      Group& group = groups[way == MaskPassing::settings ? 0 : 1 + mask];
      // Settings do not depend on how many queries there are.
      const auto settings = problem_of(*kernel, storage, 1, shape.length, 8, text).settings;
      group.entries.push_back({mask, kernel, calls_of(*kernel, settings)});
      if (!group.problem.operands.empty()) continue;
      group.problem = problem_of(*kernel, storage, shape.length, shape.length, shape.dim, text);
    }
  }
  return groups;
}

// What was measured of an entry.
struct Row {
  std::size_t mask = 0;
  gpu::TimedCall call;
  gpu::Timing timing;
};

// Of those entries of the group that are slow, or of those that are not.
void time_entries(const Group& group, const Shape& shape, bool slow, std::vector<Row>& rows) {
  std::vector<gpu::TimedCall> calls;
  for (const Entry& entry : group.entries) {
    if (is_slow(*entry.kernel, shape) != slow) continue;
    calls.insert(calls.end(), entry.calls.begin(), entry.calls.end());
  }
  if (calls.empty()) return;
  const auto timings =
      gpu::time_calls(calls, gpu::Backend::cuda, group.problem, slow ? kSlowRepeats : kRepeats);
  const auto better = [](const gpu::Timing& a, const gpu::Timing& b) {
    return a.repeats > 0 && (b.repeats == 0 || a.median_us < b.median_us);
  };
  std::size_t at = 0;
  for (const Entry& entry : group.entries) {
    if (is_slow(*entry.kernel, shape) != slow) continue;
    std::size_t best = at;
    for (std::size_t i = at; i < at + entry.calls.size(); ++i) {
      if (better(timings[i], timings[best])) best = i;
    }
    rows.push_back({entry.mask, calls[best], timings[best]});
    at += entry.calls.size();
  }
}

std::string tile_of(const gpu::TimedCall& call) {
  const auto found = std::ranges::find(call.settings, "tile", &gpu::Setting::name);
  return found == call.settings.end() ? "-" : found->word;
}

void say_row(const Say& say, const Row& row, gpu::Format storage, const Shape& shape,
             double copy_bytes_per_s) {
  const std::string mask = mask_text(kMasks[row.mask], shape);
  const std::string head =
      fmt::format("{:<14} {:<4} {:<16} {:<15}",
                  fmt::format("{},{},{},{}", shape.batches, shape.heads, shape.length, shape.dim),
                  gpu::name(storage), mask, row.call.kernel->name);
  if (row.timing.repeats == 0) {
    say(fmt::format("{} not launched: {}", head, row.timing.failure));
    return;
  }
  const double seconds = row.timing.median_us * 1e-6;
  const double operations = 4 * work_of(shape) * open_share(parse_mask(mask), shape);
  const double bytes = 4 * static_cast<double>(shape.batches * shape.heads * shape.length) *
                       static_cast<double>(shape.dim * gpu::size_bytes(storage));
  say(fmt::format("{} {:>10.1f} {:>8.1f} {:>8.1f} {:>6.1f}% {}", head, row.timing.median_us,
                  operations / seconds * 1e-12, bytes / seconds * 1e-9,
                  100 * bytes / seconds / copy_bytes_per_s, tile_of(row.call)));
}

// All masks and kernels of one shape and format, by mask, then in the registry's order.
void time_all(const Say& say, const std::vector<const gpu::Kernel*>& kernels, gpu::Format storage,
              const Shape& shape, double copy_bytes_per_s) {
  std::vector<Row> rows;
  std::vector<gpu::Operand> inputs;  // q, k and v are those of the group before
  for (Group& group : groups_of(kernels, storage, shape)) {
    if (group.entries.empty()) continue;
    std::vector<gpu::Operand>& operands = group.problem.operands;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (i < inputs.size()) {
        HALFULP_ASSERT(operands[i].name == inputs[i].name, "q, k and v come first");
        operands[i] = std::move(inputs[i]);
      } else {
        repeat_heads(operands[i], shape);
      }
    }
    for (const bool slow : {false, true}) time_entries(group, shape, slow, rows);
    operands.resize(3);
    inputs = std::move(operands);
  }
  std::ranges::sort(rows, {}, [](const Row& row) { return std::pair(row.mask, row.call.kernel); });
  for (const Row& row : rows) say_row(say, row, storage, shape, copy_bytes_per_s);
}

void say_head(const Say& say) {
  say(fmt::format(
      "flash_attention: N(0,1), the same in every head; median of {} calls ({} of kernels "
      "without tensor cores at the larger shapes), each at the quickest tile; TFLOP/s of "
      "open pairs; GB/s: q, k, v, out once",
      kRepeats, kSlowRepeats));
  say(fmt::format("{:<14} {:<4} {:<16} {:<15} {:>10} {:>8} {:>8} {:>7} {}", "B,H,T,D", "in", "mask",
                  "kernel", "median us", "TFLOP/s", "GB/s", "of copy", "tile"));
}

}  // namespace

void bench_flash(const Say& say, const std::vector<std::string>& filters, double copy_bytes_per_s) {
  bool headed = false;
  for (const Shape& shape : kShapes) {
    for (const gpu::Format storage : kFormats) {
      const auto kernels = timed_kernels("flash_attention", storage, filters);
      if (kernels.empty()) continue;
      if (!headed) say_head(say);
      headed = true;
      time_all(say, kernels, storage, shape, copy_bytes_per_s);
    }
  }
}

}  // namespace halfulp::properties
