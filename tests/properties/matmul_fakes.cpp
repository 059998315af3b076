// Matmul kernels of plain loops, on the host backend, for tests of what judges them: a test program
// that lists this file has them in its registry. All take f32,
// f16, bf16 and tf32, and parameters tile, group, splits, programs and two_tile; sums are taken in
// double and rounded once.
//
//   matmul fake_right      right
//   matmul fake_dropped    leaves out one k (the last but one third) of element (1, 0)
//   matmul fake_dropped_tile   leaves it out of rows 32 to 63, columns 0 to 31
//   matmul fake_swapped    takes a row of b too far in the last two k
//   matmul fake_rounded    rounds sums of 32 products to the output format
//   matmul fake_converted  converts operands to tf32
//   matmul fake_truncated  rounds the output towards zero
//   matmul fake_biased     rounds the sum towards zero in fp32 after each product
//   matmul fake_plain      right, and takes no parameter
#include <gtest/gtest.h>

#include <algorithm>

#include "gpu/kernel.hpp"
#include "reference/format.hpp"
#include "tests/properties/fake_element.hpp"

namespace halfulp::testing {
namespace {

enum class Fault { none, dropped, dropped_tile, swapped, rounded, converted, truncated, biased };

template <Fault kFault>
gpu::Status multiply(const gpu::Arguments& arguments) {
  const gpu::Argument &a = arguments["a"], &b = arguments["b"], &c = arguments["c"];
  const std::int64_t m = c.operand->extent[0], n = c.operand->extent[1], k = a.operand->extent[1];
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0, part = 0;
      for (std::int64_t q = 0; q < k; ++q) {
        if (kFault == Fault::dropped && i == 1 && j == 0 && q == k * 2 / 3) continue;
        if (kFault == Fault::dropped_tile && i / 32 == 1 && j < 32 && q == k * 2 / 3) continue;
        const bool swapped = kFault == Fault::swapped && k > 1 && q >= k - 2;
        const std::int64_t other = swapped ? 2 * k - 3 - q : q;
        double left = read(a, i, q), right = read(b, other, j);
        if (kFault == Fault::converted) {
          left = reference::round_to(reference::Format::tf32, left);
          right = reference::round_to(reference::Format::tf32, right);
        }
        part += left * right;
        if (kFault == Fault::biased) {
          part =
              reference::round_to(reference::Format::fp32, part, reference::Rounding::toward_zero);
        }
        if (kFault != Fault::rounded || (q % 32 != 31 && q != k - 1)) continue;
        sum = reference::round_to(format_of(c.operand->format),
                                  sum + reference::round_to(format_of(c.operand->format), part));
        part = 0;
      }
      sum += part;
      if (kFault == Fault::truncated) {
        sum = reference::round_to(format_of(c.operand->format), sum,
                                  reference::Rounding::toward_zero);
      }
      write(c, sum, i, j);
    }
  }
  return {};
}

gpu::Kernel row(std::string_view name, gpu::EntryPoint entry) {
  gpu::Kernel kernel;
  kernel.operation = "matmul";
  kernel.name = name;
  kernel.summary = "a fake of the test suite";
  kernel.numerics.product_rounded = false;
  kernel.numerics.partials = gpu::Partials::programs;
  kernel.numerics.operand_rounding = gpu::OperandRounding::truncated;
  kernel.storage = {gpu::Format::f16, gpu::Format::bf16, gpu::Format::f32, gpu::Format::tf32};
  kernel.edges = {16, 64};
  kernel.entry[static_cast<std::size_t>(gpu::Backend::host)] = entry;
  kernel.parameters = {{.name = "tile", .words = {"32x32x32", "64x64x32"}, .low = 0, .high = 0},
                       {.name = "group", .words = {}, .low = 1, .high = 64},
                       {.name = "splits", .words = {}, .low = 1, .high = 16},
                       {.name = "programs", .words = {}, .low = 0, .high = 65536},
                       {.name = "two_tile", .words = {}, .low = 0, .high = 1}};
  return kernel;
}

std::vector<gpu::Kernel> rows() {
  std::vector<gpu::Kernel> result{row("fake_right", multiply<Fault::none>),
                                  row("fake_dropped", multiply<Fault::dropped>),
                                  row("fake_dropped_tile", multiply<Fault::dropped_tile>),
                                  row("fake_swapped", multiply<Fault::swapped>),
                                  row("fake_rounded", multiply<Fault::rounded>),
                                  row("fake_converted", multiply<Fault::converted>),
                                  row("fake_truncated", multiply<Fault::truncated>),
                                  row("fake_biased", multiply<Fault::biased>),
                                  row("fake_plain", multiply<Fault::none>)};
  result.back().parameters.clear();
  return result;
}

class Registration : public ::testing::Environment {
  void SetUp() override { gpu::add_kernels(rows()); }
};
const auto* const registration = ::testing::AddGlobalTestEnvironment(new Registration);

}  // namespace
}  // namespace halfulp::testing
