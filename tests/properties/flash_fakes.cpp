// Attention kernels of plain loops, on the host backend, for tests of what judges them: a test
// program that lists this file has them in its registry. All take f32, f16, bf16 and tf32, tiles
// 16x32, 32x64 and 64x32, and masks as operands; sums are taken in double, tile by tile, weights
// are rounded to the storage format. flash_attention
//
//   fake_right            right
//   fake_dropped          leaves out an open key with the largest score
//   fake_doubled          counts it twice
//   fake_denominator      does not rescale the denominator when the maximum grows
//   fake_numerator        does not rescale the numerator
//   fake_late             rescales by the factor of the tile before
//   fake_swapped          exchanges v of keys 2 j and 2 j + 1
//   fake_scaled           scales scores by 1 + 2^-8 too much
//   fake_base             takes 2^x for e^x
//   fake_shifted          reads the mask one key too far
//   fake_unmasked         reads no mask
//   fake_unguarded        takes exp(-infinity + infinity) where no key of a tile is open
//   fake_last_tile        leaves out the last tile of keys, if there are two
//   fake_epsilon          adds 1/1000 to the denominator
//   fake_tail             gives keys past the last one a score of 0
//   fake_weights          rounds weights to bf16
//   fake_floored          rounds down what it stores
//   fake_prescaled        rounds q times scale to the storage format
//   fake_narrowed         rounds the mask to fp16
//   fake_int32            counts positions of a window in 32 bits, which wrap
//   fake_settings         right, and is told of causal masks, prefixes and windows
//   fake_plain            right, and takes no parameter
//   fake_untiled          right, and takes masks but no tiles
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "gpu/kernel.hpp"
#include "reference/format.hpp"
#include "tests/properties/fake_element.hpp"

namespace halfulp::testing {
namespace {

enum class Fault {
  none,
  dropped,
  doubled,
  denominator,
  numerator,
  late,
  swapped,
  scaled,
  base,
  shifted,
  unmasked,
  unguarded,
  last_tile,
  epsilon,
  tail,
  weights,
  floored,
  prescaled,
  narrowed,
  int32,
};

struct Call {
  Fault fault = Fault::none;
  const gpu::Argument *q = nullptr, *k = nullptr, *v = nullptr, *mask = nullptr, *out = nullptr;
  std::int64_t keys = 0, dim = 0, tile = 32;
  double scale = 1;
  std::string_view mask_word = "none";
  std::int64_t queries = 0, prefix = 0, left = 0, right = 0;
  reference::Format weight = reference::Format::fp32;
};

bool open(const Call& call, std::int64_t i, std::int64_t j) {
  const std::int64_t shift = call.keys - call.queries;
  if (call.mask_word == "causal_top_left") return j <= i;
  if (call.mask_word == "causal_bottom_right") return j <= i + shift;
  if (call.mask_word == "prefix_lm") return j <= i || (i < call.prefix && j < call.prefix);
  if (call.mask_word == "window" && call.fault == Fault::int32) {
    const auto wrapped = [](std::int64_t x) { return static_cast<std::int32_t>(x); };
    return j >= wrapped(i + shift - call.left) && j < wrapped(i + shift + call.right + 1);
  }
  if (call.mask_word == "window") {
    return j >= i + shift - call.left && j <= i + shift + call.right;
  }
  return true;
}

// Scores of one query, and of keys that are not there for Fault::tail.
std::vector<double> scores_of(const Call& call, std::int64_t b, std::int64_t h, std::int64_t i) {
  const std::int64_t padded = (call.keys + call.tile - 1) / call.tile * call.tile;
  std::vector<double> score(
      static_cast<std::size_t>(call.fault == Fault::tail ? padded : call.keys), 0.0);
  for (std::int64_t j = 0; j < call.keys; ++j) {
    double sum = 0;
    for (std::int64_t d = 0; d < call.dim; ++d) {
      double q = read(*call.q, b, h, i, d);
      if (call.fault == Fault::prescaled) q = reference::round_to(call.weight, q * call.scale);
      sum += q * read(*call.k, b, h, j, d);
    }
    if (call.fault != Fault::prescaled) sum *= call.scale;
    if (call.fault == Fault::scaled) sum *= 1 + 0x1p-8;
    if (call.mask != nullptr && call.fault != Fault::unmasked) {
      const std::int64_t cell = call.fault == Fault::shifted ? std::min(j + 1, call.keys - 1) : j;
      double added = read(*call.mask, b, h, i, cell);
      if (call.fault == Fault::narrowed) {
        added = reference::round_to(reference::Format::fp16, added);
      }
      sum += added;
    }
    score[static_cast<std::size_t>(j)] = open(call, i, j) ? sum : -HUGE_VAL;
  }
  if (call.fault == Fault::last_tile && call.keys > call.tile) {
    score.resize(static_cast<std::size_t>((call.keys - 1) / call.tile * call.tile));
  }
  return score;
}

// The key that Fault::dropped and Fault::doubled are about: one of those with the largest score, a
// third on.
std::int64_t chosen_key(const std::vector<double>& score) {
  double most = -HUGE_VAL;
  for (const double s : score) most = std::max(most, s);
  std::vector<std::int64_t> keys;
  for (std::size_t j = 0; j < score.size(); ++j) {
    if (score[j] == most && most != -HUGE_VAL) keys.push_back(static_cast<std::int64_t>(j));
  }
  return keys.empty() ? -1 : keys[keys.size() / 3];
}

void attend(const Call& call, std::int64_t b, std::int64_t h, std::int64_t i) {
  const std::vector<double> score = scores_of(call, b, h, i);
  const auto count = static_cast<std::int64_t>(score.size());
  const std::int64_t chosen = chosen_key(score);
  std::vector<double> sum(static_cast<std::size_t>(call.dim), 0.0);
  double most = -HUGE_VAL, total = 0, factor_before = 1;
  const auto power = [&](double x) {
    return call.fault == Fault::base ? std::exp2(x) : std::exp(x);
  };
  for (std::int64_t begin = 0; begin < count; begin += call.tile) {
    const std::int64_t end = std::min(count, begin + call.tile);
    double next = most;
    for (std::int64_t j = begin; j < end; ++j) {
      const double s = score[static_cast<std::size_t>(j)];
      next = s > next || std::isnan(s) ? s : next;
    }
    if (next == -HUGE_VAL && call.fault != Fault::unguarded) continue;
    double factor = most == -HUGE_VAL && next != most ? 0 : power(most - next);
    if (call.fault == Fault::late) std::swap(factor, factor_before);
    if (call.fault != Fault::denominator) total *= factor;
    for (double& x : sum) x *= call.fault == Fault::numerator && most != -HUGE_VAL ? 1 : factor;
    most = next;
    for (std::int64_t j = begin; j < end; ++j) {
      double w = power(score[static_cast<std::size_t>(j)] - most);
      if (j == chosen && call.fault == Fault::dropped) continue;
      if (j == chosen && call.fault == Fault::doubled) w *= 2;
      total += w;
      if (w == 0 || j >= call.keys) continue;
      const double rounded = reference::round_to(call.weight, w);
      const std::int64_t row = call.fault == Fault::swapped && (j | 1) < call.keys ? (j ^ 1) : j;
      for (std::int64_t d = 0; d < call.dim; ++d) {
        sum[static_cast<std::size_t>(d)] += rounded * read(*call.v, b, h, row, d);
      }
    }
  }
  if (call.fault == Fault::epsilon) total += 1e-3;
  const bool empty = most == -HUGE_VAL && call.fault != Fault::unguarded;
  const gpu::Format format = call.out->operand->format;
  for (std::int64_t d = 0; d < call.dim; ++d) {
    double value = empty ? 0 : sum[static_cast<std::size_t>(d)] / total;
    if (call.fault == Fault::floored) {
      value = reference::round_to(format_of(format), value, reference::Rounding::downward);
    }
    write(*call.out, value, b, h, i, d);
  }
}

constexpr std::int64_t kTileKeys[] = {32, 64, 32};
constexpr std::string_view kMaskWords[] = {
    "none", "additive", "causal_top_left", "window", "causal_bottom_right", "prefix_lm"};

template <Fault kFault>
gpu::Status run(const gpu::Arguments& arguments) {
  Call call;
  call.fault = kFault;
  call.q = &arguments["q"];
  call.k = &arguments["k"];
  call.v = &arguments["v"];
  call.out = &arguments["out"];
  for (const gpu::Argument& argument : arguments.operands) {
    if (argument.operand->name == "mask") call.mask = &argument;
  }
  const auto& extent = call.q->operand->extent;
  call.queries = extent[2];
  call.keys = call.k->operand->extent[2];
  call.dim = extent[3];
  call.scale =
      arguments.scale != 0 ? arguments.scale : 1 / std::sqrt(static_cast<double>(call.dim));
  call.tile = kTileKeys[arguments.setting("tile", 0)];
  call.mask_word = kMaskWords[arguments.setting("mask", 0)];
  call.prefix = arguments.setting("prefix", 0);
  call.left = arguments.setting("window_left", 0);
  call.right = arguments.setting("window_right", 0);
  call.weight =
      kFault == Fault::weights ? reference::Format::bf16 : format_of(call.q->operand->format);
  for (std::int64_t b = 0; b < extent[0]; ++b) {
    for (std::int64_t h = 0; h < extent[1]; ++h) {
      for (std::int64_t i = 0; i < extent[2]; ++i) attend(call, b, h, i);
    }
  }
  return {};
}

gpu::Kernel row(std::string_view name, gpu::EntryPoint entry) {
  gpu::Kernel kernel;
  kernel.operation = "flash_attention";
  kernel.name = name;
  kernel.summary = "a fake of the test suite";
  kernel.numerics.product_rounded = false;
  kernel.numerics.scale = gpu::Scale::reciprocal;
  kernel.numerics.exponential = gpu::Exponential::expf;
  kernel.numerics.division = gpu::Division::ieee;
  kernel.numerics.weight_in_input = true;
  kernel.numerics.rescaled = true;
  kernel.storage = {gpu::Format::f16, gpu::Format::f32, gpu::Format::bf16, gpu::Format::tf32};
  kernel.edges = {16, 32, 64};
  kernel.entry[static_cast<std::size_t>(gpu::Backend::host)] = entry;
  kernel.parameters = {{.name = "tile", .words = {"16x32", "32x64", "64x32"}, .low = 0, .high = 2},
                       {.name = "mask", .words = {"none", "additive"}, .low = 0, .high = 1}};
  return kernel;
}

std::vector<gpu::Kernel> rows() {
  std::vector<gpu::Kernel> result{row("fake_right", run<Fault::none>),
                                  row("fake_dropped", run<Fault::dropped>),
                                  row("fake_doubled", run<Fault::doubled>),
                                  row("fake_denominator", run<Fault::denominator>),
                                  row("fake_numerator", run<Fault::numerator>),
                                  row("fake_late", run<Fault::late>),
                                  row("fake_swapped", run<Fault::swapped>),
                                  row("fake_scaled", run<Fault::scaled>),
                                  row("fake_base", run<Fault::base>),
                                  row("fake_shifted", run<Fault::shifted>),
                                  row("fake_unmasked", run<Fault::unmasked>),
                                  row("fake_unguarded", run<Fault::unguarded>),
                                  row("fake_last_tile", run<Fault::last_tile>),
                                  row("fake_epsilon", run<Fault::epsilon>),
                                  row("fake_tail", run<Fault::tail>),
                                  row("fake_weights", run<Fault::weights>),
                                  row("fake_floored", run<Fault::floored>),
                                  row("fake_prescaled", run<Fault::prescaled>),
                                  row("fake_narrowed", run<Fault::narrowed>),
                                  row("fake_int32", run<Fault::int32>),
                                  row("fake_settings", run<Fault::none>),
                                  row("fake_plain", run<Fault::none>)};
  for (const std::size_t told : {result.size() - 3, result.size() - 2}) {
    auto& settings = result[told].parameters;
    settings[1].words.assign(std::begin(kMaskWords), std::end(kMaskWords));
    settings[1].high = std::ssize(kMaskWords) - 1;
    for (const char* name : {"prefix", "window_left", "window_right"}) {
      settings.push_back({.name = name, .words = {}, .low = 0, .high = INT32_MAX});
    }
  }
  result.back().parameters.clear();
  result.push_back(row("fake_untiled", run<Fault::none>));
  result.back().parameters.erase(result.back().parameters.begin());
  return result;
}

class Registration : public ::testing::Environment {
  void SetUp() override { gpu::add_kernels(rows()); }
};
const auto* const registration = ::testing::AddGlobalTestEnvironment(new Registration);

}  // namespace
}  // namespace halfulp::testing
