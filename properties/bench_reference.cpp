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
#include "reference/freivalds.hpp"
#include "reference/ops/flash_attention.hpp"
#include "reference/ops/matmul_exact.hpp"

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

std::size_t size(std::int64_t count) { return static_cast<std::size_t>(count); }

// A row-major matrix of stored halves, or of fp32 numbers.
struct Stored {
  std::vector<std::uint32_t> words;
  reference::View view;

  Stored(reference::Format format, std::int64_t rows, std::int64_t columns) {
    const int bytes = reference::traits(format).storage_bits / 8;
    words.resize(size((rows * columns * bytes + 3) / 4));
    view.data = words.data();
    view.format = format;
    view.extent[0] = rows;
    view.extent[1] = view.stride[0] = columns;
    view.stride[1] = 1;
  }
  template <typename Pattern>
  Pattern* patterns() {
    return reinterpret_cast<Pattern*>(words.data());
  }
  void fill_normal(std::uint32_t stream) {
    for (std::int64_t i = 0; i < view.extent[0] * view.extent[1]; ++i) {
      const std::uint64_t bits =
          normal(view.format, Draw(1, stream, static_cast<std::uint64_t>(i)));
      if (view.format == reference::Format::fp32) {
        words[size(i)] = static_cast<std::uint32_t>(bits);
      } else {
        patterns<std::uint16_t>()[i] = static_cast<std::uint16_t>(bits);
      }
    }
  }
  void fill_signs(std::uint32_t stream) {
    for (std::int64_t i = 0; i < view.extent[0] * view.extent[1]; i += 64) {
      const std::uint64_t signs = Draw(1, stream, static_cast<std::uint64_t>(i)).high();
      for (std::int64_t bit = 0; bit < 64; ++bit) {
        patterns<std::uint16_t>()[i + bit] = (signs >> bit & 1) != 0 ? 0xbc00 : 0x3c00;
      }
    }
  }
};

// 10^9 products a second, for `run` of a product of so many.
template <typename Run>
double rate(double products, Run run) {
  double best_s = 1e30;
  for (int repeat = 0; repeat < 3; ++repeat) {
    const double start = now_s();
    run();
    best_s = std::min(best_s, now_s() - start);
  }
  return products / best_s * 1e-9;
}

void bench_matmul(const Say& say, reference::Format format) {
  constexpr std::int64_t kRows = 1024, kDepth = 4096;
  Stored a(format, kRows, kDepth), b(format, kDepth, kRows);
  a.fill_normal(0);
  b.fill_normal(1);
  reference::Matmul op;
  op.m = op.n = kRows;
  op.k = kDepth;
  op.a = a.view;
  op.b = b.view;
  op.arithmetic.input = op.arithmetic.output = format;
  const double products = 1.0 * kRows * kRows * kDepth;
  const auto ignore = [](const reference::Rows&) {};
  const double any = rate(products, [&] { evaluate(op, ignore); });
  op.arithmetic.sum_order = reference::SumOrder::contiguous;
  const double ranges = rate(products, [&] { evaluate(op, ignore); });
  const double whole = rate(products, [&] { evaluate_exactly(op, [](auto, auto) {}); });
  const reference::ExactAnswers exact = exact_answers(op);
  constexpr std::int64_t kElements = 100;
  const double element = rate(kElements * kDepth, [&] {
    for (std::int64_t i = 0; i < kElements; ++i) exact({0, i * 37 % (kRows * kRows)});
  });
  say(fmt::format(
      "matmul {}        N(0,1), 10^9 products/s on one core: sums and magnitudes {:.1f}; "
      "ranges too {:.1f}; exactly, whole {:.1f}, by elements {:.2f}",
      reference::traits(format).name, any, ranges, whole, element));
}

// One head of 1024 queries, with the arithmetic of tensor cores.
void bench_flash_attention(const Say& say, reference::Format format) {
  constexpr std::int64_t kKeys = 1024, kDim = 64;
  Stored q(format, kKeys, kDim), k(format, kKeys, kDim), v(format, kKeys, kDim);
  reference::FlashAttention op;
  op.batches = op.heads = 1;
  op.queries = op.keys = kKeys;
  op.dim = kDim;
  std::uint32_t stream = 5;
  const auto filled = [&](Stored& stored) {
    stored.fill_normal(stream++);
    reference::View view = stored.view;  // (1, 1, keys, dim)
    for (int axis = 0; axis < 2; ++axis) {
      view.extent[axis + 2] = stored.view.extent[axis];
      view.stride[axis + 2] = stored.view.stride[axis];
      view.extent[axis] = 1;
      view.stride[axis] = 0;
    }
    return view;
  };
  op.q = filled(q);
  op.k = filled(k);
  op.v = filled(v);
  op.arithmetic.input = op.arithmetic.output = op.arithmetic.weight = format;
  if (format != reference::Format::fp32) op.arithmetic.tensor_core = {25, 16};
  op.arithmetic.rescales = kKeys / 64;
  op.arithmetic.exponential.base_2 = true;
  const auto seconds = [&] {
    return 1e-9 / rate(1, [&] { evaluate(op, [](const reference::Rows&) {}); });
  };
  const double all_s = seconds();
  op.open = reference::OpenKeys::causal;
  const double causal_s = seconds();
  op.open = reference::OpenKeys::all;
  const reference::ExactAnswers exact = exact_answers(op);
  std::int64_t row = 0;
  const double row_s = 1e-9 / rate(1, [&] {
                         for (std::int64_t d = 0; d < kDim; ++d) exact({0, row * kDim + d});
                         ++row;
                       });
  say(fmt::format(
      "flash_attention {} 1024 queries x 1024 keys x 64, N(0,1): {:.3f} s on one core with bounds, "
      "causal {:.3f} s; exactly: a row in {:.1f} ms",
      reference::traits(format).name, all_s, causal_s, row_s * 1e3));
}

// Signs of which a has 8 different rows, so that the product is soon made.
void bench_freivalds(const Say& say) {
  constexpr std::int64_t kRows = 4096, kColumns = 4096, kDepth = 8192, kDistinct = 8;
  const reference::Format half = reference::Format::fp16;
  Stored a(half, kRows, kDepth), b(half, kDepth, kColumns), c(half, kRows, kColumns);
  a.fill_signs(2);
  b.fill_signs(3);
  auto* const left = a.patterns<std::uint16_t>();
  for (std::int64_t i = kDistinct; i < kRows; ++i) {
    std::copy_n(left + i % kDistinct * kDepth, kDepth, left + i * kDepth);
  }
  reference::Matmul op;
  op.m = kDistinct;
  op.n = kColumns;
  op.k = kDepth;
  op.a = a.view;
  op.b = b.view;
  op.arithmetic.input = op.arithmetic.output = half;
  evaluate(op, [&](const reference::Rows& rows) {
    for (std::int64_t row = rows.first / kColumns; row < kRows; row += kDistinct) {
      for (std::size_t j = 0; j < rows.value.size(); ++j) {
        c.patterns<std::uint16_t>()[row * kColumns + static_cast<std::int64_t>(j)] =
            static_cast<std::uint16_t>(reference::encode(half, rows.value[j]));
      }
    }
  });
  std::vector<std::uint64_t> words(size(kColumns));
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = Draw(1, 4, i).high();
  const double start = now_s();
  const bool right = freivalds(a.view, b.view, c.view, words).wrong_rows.empty();
  const double took_s = now_s() - start;
  c.patterns<std::uint16_t>()[1234 * kColumns + 567] ^= 1;
  const reference::FreivaldsCheck found = freivalds(a.view, b.view, c.view, words);
  HALFULP_ASSERT(right && found.applies && found.wrong_rows == std::vector<std::int64_t>{1234},
                 "the wrong row is named, and no other");
  say(fmt::format(
      "freivalds          signs, 4096 x 4096 x 8192, fp16: verdict in {:.2f} s on one core",
      took_s));
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
  bench_matmul(say, reference::Format::fp16);
  bench_matmul(say, reference::Format::fp32);
  bench_freivalds(say);
  bench_flash_attention(say, reference::Format::fp16);
  bench_flash_attention(say, reference::Format::fp32);
}

}  // namespace halfulp::properties
