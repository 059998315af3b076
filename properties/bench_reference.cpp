// How fast the truth is; see bench.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "gpu/kernel.hpp"
#include "properties/assert.hpp"
#include "properties/bench.hpp"
#include "properties/number.hpp"
#include "properties/operation.hpp"
#include "properties/outputs.hpp"
#include "reference/exact_sum.hpp"

namespace halfulp::properties {

namespace {

// Processor time of this thread of work: other processes on the machine do not count.
double now_s() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

const gpu::Kernel* first_kernel(std::string_view operation) {
  const auto kernels = gpu::kernels();
  const auto found = std::ranges::find(kernels, operation, &gpu::Kernel::operation);
  return found == kernels.end() ? nullptr : &*found;
}

// Elements evaluated exactly per second: of every output every `stride`th element, in order.
std::string exact_rates(const Operation& operation, const gpu::Kernel& kernel,
                        const gpu::Problem& problem, std::int64_t stride) {
  const auto outputs = output_operands(problem);
  const reference::ExactAnswers exact = operation.exact(problem, kernel.numerics);
  std::string text;
  for (std::size_t output = 0; output < outputs.size(); ++output) {
    const double start = now_s();
    std::int64_t evaluated = 0;
    const std::int64_t count = outputs[output]->count();
    while ((now_s() - start) < 0.5) {
      exact({static_cast<int>(output), evaluated * stride % count});
      ++evaluated;
    }
    text += fmt::format("{}{} {:.0f}/s", text.empty() ? "" : ", ", outputs[output]->name,
                        static_cast<double>(evaluated) / (now_s() - start));
  }
  return text;
}

void bench_operation(const Say& say, std::string_view name) {
  const Operation* operation = find_operation(name);
  const gpu::Kernel* kernel = first_kernel(name);
  if (operation == nullptr || kernel == nullptr) return;
  const Parsed parsed = parse(fmt::format(
      "{} {} in=f32 nodes=100000 heads=4 dim=32 graph=random:1000000 fill=normal seed=0x1", name,
      kernel->name));
  HALFULP_ASSERT(!parsed.error, parsed.error.what);
  const double materialised = now_s();
  const gpu::Problem problem = operation->materialise(parsed.value);
  const double materialise_s = now_s() - materialised;
  double best_s = 1e30;
  for (int repeat = 0; repeat < 3; ++repeat) {
    const double start = now_s();
    operation->evaluate(problem, kernel->numerics, [](const reference::Rows&) {});
    best_s = std::min(best_s, (now_s() - start));
  }
  say(
      fmt::format("{:<18} 10^6 edges x 4 x 32, f32: {:.2f} s on one core with bounds, best of 3 "
                  "(inputs made in {:.2f} s); exactly: neighbours {}; one in 101 {}",
                  name, best_s, materialise_s, exact_rates(*operation, *kernel, problem, 1),
                  exact_rates(*operation, *kernel, problem, 101)));
}

// Dot products of 4096 terms, in products per second.
double sum_rate(reference::Format format, int exponent_low, int exponent_high) {
  constexpr std::int64_t kTerms = 4096;
  std::vector<double> left, right;
  for (std::int64_t i = 0; i < 2 * kTerms; ++i) {
    const Draw draw(1, 0, static_cast<std::uint64_t>(i));
    const std::uint64_t bits = any_exponent(format, draw, exponent_low, exponent_high);
    (i < kTerms ? left : right).push_back(reference::decode(format, bits));
  }
  const double start = now_s();
  std::int64_t sums = 0;
  std::uint64_t used = 0;
  while ((now_s() - start) < 0.5) {
    reference::ExactSum sum;
    sum.add_products(left.data(), right.data(), kTerms);
    used ^= sum.round(format);
    ++sums;
  }
  HALFULP_ASSERT(used != 1, "the sums are used");
  return static_cast<double>(sums * kTerms) / (now_s() - start);
}

}  // namespace

void bench_reference(const Say& say) {
  for (const std::string_view name : {"graph_attention", "scatter_normalize"}) {
    bench_operation(say, name);
  }
  say(fmt::format(
      "exact sums         fp16 products {:.0f} M/s; fp32 within 2^-20..2^20 {:.0f} M/s; "
      "fp32 of any exponent {:.0f} M/s",
      sum_rate(reference::Format::fp16, -14, 15) / 1e6,
      sum_rate(reference::Format::fp32, -20, 20) / 1e6,
      sum_rate(reference::Format::fp32, -126, 126) / 1e6));
}

}  // namespace halfulp::properties
