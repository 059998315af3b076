// Matmul kernels beside cuBLAS; see bench_gpu.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <span>

#include "gpu/backend.hpp"
#include "properties/bench_gpu.hpp"
#include "properties/layout.hpp"
#include "properties/number.hpp"
#include "properties/translate.hpp"

namespace halfulp::properties {
namespace {

constexpr int kShapes = 24;
constexpr int kRepeats = 10;
constexpr int kRepeatsToChoose = 3;
constexpr std::uint64_t kSeed = 1;

// Random values are made once and repeated: a prime, so that no two rows begin alike.
constexpr std::int64_t kValues = 1048573;

constexpr std::array<std::string_view, 7> kTiles{
    "64x64x64", "128x128x64", "256x128x64", "192x112x64", "64x64x32", "128x128x32", "128x256x32"};
struct Tried {
  std::string_view parameter;
  std::array<std::int64_t, 2> values;
};
constexpr std::array kTried{Tried{"group", {8, 8}}, Tried{"splits", {2, 4}},
                            Tried{"programs", {0, 0}}, Tried{"two_tile", {0, 1}}};

constexpr std::array kFormats{gpu::Format::f16, gpu::Format::bf16, gpu::Format::tf32,
                              gpu::Format::f32};

struct Shape {
  std::int64_t m = 0, n = 0, k = 0;
};
constexpr Shape kDevelopmentShape{1536, 1792, 6016};

using Settings = std::vector<gpu::Setting>;

// A kernel at its quickest settings.
struct Timed {
  const gpu::Kernel* kernel = nullptr;
  Settings settings;
  gpu::Timing timing;
};

// A multiple of 256 from 256 to 8192, its logarithm uniform in steps of an eighth of an octave.
std::int64_t sampled_size(std::uint64_t shape, std::uint64_t axis) {
  // 256 * 2^(i/8), rounded.
  constexpr std::array<std::int64_t, 8> kEighths{256, 279, 304, 332, 362, 395, 431, 470};
  const std::uint64_t eighths = Draw(kSeed, 0, shape, axis).below(5 * kEighths.size() + 1);
  const std::int64_t size = kEighths[eighths % 8] << (eighths / 8);
  return (size + 128) / 256 * 256;
}

std::vector<std::byte> random_values(gpu::Format storage) {
  gpu::Operand operand;
  operand.format = storage;
  operand.extent = {kValues};
  operand.stride = {1};
  operand.storage.resize(static_cast<std::size_t>(kValues * gpu::size_bytes(storage)));
  for (std::int64_t i = 0; i < kValues; ++i) {
    const Draw draw(kSeed, 1, static_cast<std::uint64_t>(i));
    put(operand, i, normal(reference_format(storage), draw));
  }
  return std::move(operand.storage);
}

gpu::Operand matrix(std::string name, gpu::Format storage, gpu::Role role, std::int64_t rows,
                    std::int64_t columns) {
  gpu::Operand operand;
  operand.name = std::move(name);
  operand.format = storage;
  operand.role = role;
  operand.extent = {rows, columns};
  operand.stride = {columns, 1};
  return operand;
}

// Fills an input with `values` again and again, from the byte `from` on.
void repeat(gpu::Operand& operand, std::span<const std::byte> values, std::size_t from) {
  operand.storage.resize(
      static_cast<std::size_t>(operand.count() * gpu::size_bytes(operand.format)));
  std::span<std::byte> rest = operand.storage;
  while (!rest.empty()) {
    const std::size_t piece = std::min(rest.size(), values.size() - from);
    std::memcpy(rest.data(), values.data() + from, piece);
    rest = rest.subspan(piece);
    from = 0;
  }
}

gpu::Problem problem_of(const Shape& shape, gpu::Format storage,
                        std::span<const std::byte> values) {
  using gpu::Format;
  const Format output = storage == Format::tf32 ? Format::f32 : storage;
  gpu::Problem problem;
  problem.operation = "matmul";
  problem.operands = {matrix("a", storage, gpu::Role::input, shape.m, shape.k),
                      matrix("b", storage, gpu::Role::input, shape.k, shape.n),
                      matrix("c", output, gpu::Role::output, shape.m, shape.n)};
  const auto half = static_cast<std::size_t>(kValues / 2 * gpu::size_bytes(storage));
  repeat(problem.operands[0], values, 0);
  repeat(problem.operands[1], values, half);
  return problem;
}

// The values of one launch parameter to choose from; none: it is left out.
Settings values_tried(const gpu::Parameter& parameter) {
  Settings values;
  for (std::size_t i = 0; i < parameter.words.size(); ++i) {
    if (std::ranges::find(kTiles, parameter.words[i]) == kTiles.end()) continue;
    values.push_back({std::string(parameter.name), static_cast<std::int64_t>(i),
                      std::string(parameter.words[i])});
  }
  for (const Tried& tried : kTried) {
    if (tried.parameter != parameter.name) continue;
    values.push_back({std::string(parameter.name), tried.values[0], {}});
    if (tried.values[1] == tried.values[0]) continue;
    values.push_back({std::string(parameter.name), tried.values[1], {}});
  }
  return values;
}

// Every combination.
std::vector<Settings> settings_tried(const gpu::Kernel& kernel) {
  std::vector<Settings> tried{{}};
  for (const gpu::Parameter& parameter : kernel.parameters) {
    const Settings values = values_tried(parameter);
    if (values.empty()) continue;
    std::vector<Settings> longer;
    for (const Settings& settings : tried) {
      for (const gpu::Setting& value : values) {
        longer.push_back(settings);
        longer.back().push_back(value);
      }
    }
    tried = std::move(longer);
  }
  return tried;
}

// Each kernel at the settings that were quickest in a few calls.
std::vector<Timed> time_kernels(const std::vector<const gpu::Kernel*>& kernels,
                                const gpu::Problem& problem) {
  std::vector<gpu::TimedCall> calls;
  for (const gpu::Kernel* kernel : kernels) {
    for (Settings& settings : settings_tried(*kernel)) {
      calls.push_back({kernel, std::move(settings)});
    }
  }
  const auto quick = gpu::time_calls(calls, gpu::Backend::cuda, problem, kRepeatsToChoose);
  std::vector<gpu::TimedCall> chosen;
  for (const gpu::Kernel* kernel : kernels) {
    const gpu::TimedCall* best = nullptr;
    double best_us = 0;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (calls[i].kernel != kernel) continue;
      const bool launched = quick[i].repeats > 0;
      if (best != nullptr && (!launched || (best_us > 0 && quick[i].median_us >= best_us))) {
        continue;
      }
      best = &calls[i];
      best_us = quick[i].median_us;
    }
    chosen.push_back(*best);
  }
  const auto timings = gpu::time_calls(chosen, gpu::Backend::cuda, problem, kRepeats);
  std::vector<Timed> result;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    result.push_back({chosen[i].kernel, std::move(chosen[i].settings), timings[i]});
  }
  return result;
}

std::string describe(const Settings& settings) {
  std::string text;
  for (const gpu::Setting& setting : settings) {
    text += text.empty() ? "" : " ";
    text += setting.word.empty() ? fmt::format("{}={}", setting.name, setting.value) : setting.word;
  }
  return text.empty() ? "-" : text;
}

// The time of cuBLAS by the kernel's; 0 where either was not launched.
double ratio_to_cublas(const std::vector<Timed>& all, const Timed& timed) {
  for (const Timed& other : all) {
    if (other.kernel->name != "cublas" || timed.timing.repeats == 0) continue;
    return other.timing.median_us / timed.timing.median_us;
  }
  return 0;
}

// Each kernel's ratio to cuBLAS, one a shape, and the best of them.
using Ratios = std::map<std::string_view, std::vector<double>>;
constexpr std::string_view kBest = "best of each shape";

void time_shape(const Say& say, const std::vector<const gpu::Kernel*>& kernels, const Shape& shape,
                gpu::Format storage, std::span<const std::byte> values, Ratios* ratios) {
  const auto timed = time_kernels(kernels, problem_of(shape, storage, values));
  const double operations = 2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) *
                            static_cast<double>(shape.k);
  double best = 0;
  for (const Timed& one : timed) {
    const std::string name = fmt::format("{}x{}x{}", shape.m, shape.n, shape.k);
    const std::string head =
        fmt::format("{:<14} {:<4} {:<19}", name, gpu::name(storage), one.kernel->name);
    if (one.timing.repeats == 0) {
      say(fmt::format("{} not launched: {}", head, one.timing.failure));
      continue;
    }
    const double ratio = ratio_to_cublas(timed, one);
    say(fmt::format("{} {:>9.1f} {:>8.1f} {:>9} {}", head, one.timing.median_us,
                    operations / one.timing.median_us * 1e-6,
                    ratio > 0 ? fmt::format("{:.3f}", ratio) : "-", describe(one.settings)));
    if (one.kernel->name == "cublas" || ratio == 0) continue;
    best = std::max(best, ratio);
    if (ratios != nullptr) (*ratios)[one.kernel->name].push_back(ratio);
  }
  if (ratios != nullptr && best > 0) (*ratios)[kBest].push_back(best);
}

// Says them, and returns the means in one line.
std::string say_ratios(const Say& say, const std::vector<const gpu::Kernel*>& kernels,
                       gpu::Format storage, const Ratios& ratios) {
  if (ratios.empty()) return {};
  say(fmt::format("{:<19} {:>6} {:>6} {:>6} {:>6}  TFLOP/s by cuBLAS's, {}", "kernel", "shapes",
                  "mean", "least", "most", gpu::name(storage)));
  std::vector<std::string_view> names;
  if (ratios.size() > 2) names.push_back(kBest);
  for (const gpu::Kernel* kernel : kernels) names.push_back(kernel->name);
  std::string closing;
  for (const std::string_view name : names) {
    const auto found = ratios.find(name);
    if (found == ratios.end()) continue;
    const std::vector<double>& all = found->second;
    double sum = 0;
    for (const double ratio : all) sum += ratio;
    const double mean = sum / static_cast<double>(all.size());
    say(fmt::format("{:<19} {:>6} {:>6.3f} {:>6.3f} {:>6.3f}", name, all.size(), mean,
                    std::ranges::min(all), std::ranges::max(all)));
    closing += fmt::format("{}{} {:.2f}", closing.empty() ? "" : ", ", name, mean);
  }
  return fmt::format("{}: {}", gpu::name(storage), closing);
}

// cuBLAS last, whatever the filters.
std::vector<const gpu::Kernel*> kernels_beside_cublas(gpu::Format storage,
                                                      const std::vector<std::string>& filters) {
  std::vector<const gpu::Kernel*> kernels = timed_kernels("matmul", storage, filters);
  if (kernels.empty()) return kernels;
  std::erase_if(kernels, [](const gpu::Kernel* kernel) { return kernel->name == "cublas"; });
  const auto cublas = timed_kernels("matmul", storage, {"matmul/cublas"});
  kernels.insert(kernels.end(), cublas.begin(), cublas.end());
  return kernels;
}

}  // namespace

void bench_matmul(const Say& say, const std::vector<std::string>& filters) {
  if (kernels_beside_cublas(gpu::Format::f16, filters).empty() &&
      kernels_beside_cublas(gpu::Format::f32, filters).empty()) {
    return;
  }
  say(
      fmt::format("matmul: {} values N(0,1), repeated; median of {} calls, each after the L2 cache "
                  "was overwritten; settings the quickest of {} calls each",
                  kValues, kRepeats, kRepeatsToChoose));
  say(fmt::format("{:<14} {:<4} {:<19} {:>9} {:>8} {:>9} {}", "m x n x k", "in", "kernel",
                  "median us", "TFLOP/s", "of cuBLAS", "settings"));
  for (const gpu::Format storage : kFormats) {
    const auto kernels = kernels_beside_cublas(storage, filters);
    if (kernels.empty()) continue;
    time_shape(say, kernels, kDevelopmentShape, storage, random_values(storage), nullptr);
  }
  std::string closing;
  for (const gpu::Format storage : kFormats) {
    auto kernels = kernels_beside_cublas(storage, filters);
    if (storage != gpu::Format::f16) {
      std::erase_if(kernels, [](const gpu::Kernel* kernel) {
        return kernel->name != "tile" && kernel->name != "cublas";
      });
      if (kernels.size() < 2) continue;
    }
    if (kernels.empty()) continue;
    const std::vector<std::byte> values = random_values(storage);
    Ratios ratios;
    for (std::uint64_t i = 0; i < kShapes; ++i) {
      const Shape shape{sampled_size(i, 0), sampled_size(i, 1), sampled_size(i, 2)};
      time_shape(say, kernels, shape, storage, values, &ratios);
    }
    const std::string means = say_ratios(say, kernels, storage, ratios);
    if (!means.empty()) closing += (closing.empty() ? "" : "; ") + means;
  }
  if (closing.empty()) return say("no ratio to cuBLAS: it was not launched");
  say("mean ratio to cuBLAS, " + closing);
}

}  // namespace halfulp::properties
