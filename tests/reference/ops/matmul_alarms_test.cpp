// No false alarm: random legal kernels on random data are never refused, neither before their last
// rounding nor after it. HALFULP_FUZZ_DOTS=1500000 runs so many dot products; the table says how
// near to the bound each kind of kernel came.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>

#include "tests/reference/ops/judge.hpp"
#include "tests/reference/ops/simulated_matmul.hpp"

namespace halfulp::reference::simulated {
namespace {

std::int64_t dots_wanted() {
  const char* text = std::getenv("HALFULP_FUZZ_DOTS");
  return text != nullptr ? std::atoll(text) : 60000;
}

std::string name_of(const DotStyle& style) {
  const Arithmetic& declared = style.declared;
  std::string name;
  switch (declared.tensor_core.alignment_bits) {
    case 0: {
      const char* const names[] = {"sequential", "blocked", "pairwise", "random tree"};
      name = names[static_cast<int>(style.summation)];
      name += " " + std::string(traits(declared.compute).name);
      break;
    }
    case 13:
      name = "tensor core, 13 bits";
      break;
    default:
      name = "tensor core, " + std::to_string(declared.tensor_core.alignment_bits) + " bits, " +
             std::to_string(declared.tensor_core.products) + " products";
  }
  if (declared.partials > 1) {
    name += " | parts " + std::string(traits(declared.partial).name);
  }
  return name;
}

struct Count {
  std::int64_t dots = 0, exact = 0, open = 0, alarms = 0;
  double worst = 0;
};

class Alarms {
 public:
  // All elements of one product by one kernel.
  void judge(const MatmulData& data, const DotStyle& style, Format output, Generator& generator) {
    Matmul op = data.op;
    op.arithmetic = style.declared;
    const std::int64_t elements = op.m * op.n;
    op.arithmetic.output = Format::fp64;  // beyond every rounding but those of doubles themselves
    const bool narrow = op.arithmetic.compute != Format::fp64;
    const Judged before = judged(op, 0, elements);
    op.arithmetic.output = output;
    const Judged after = judged(op, 0, elements);
    Count& count = counts_[name_of(style)];
    for (std::int64_t i = 0; i < elements; ++i) {
      const std::size_t at = static_cast<std::size_t>(i);
      ++count.dots;
      count.exact += after.bound[at] == 0;
      count.open += std::isinf(after.bound[at]);
      if (std::isinf(after.bound[at])) continue;  // concludes nothing
      const Enclosure truth = exact(op, {0, i});
      const double result = dot(style, data.row(i / op.n), data.column(i % op.n), generator);
      const double ratio = narrow ? error_over_bound(result, truth, before.bound[at]) : 0;
      count.worst = std::max(count.worst, ratio);
      const double room = after.error[at] + after.bound[at];
      const Enclosure centre{after.value[at], after.value[at]};
      count.alarms += ratio > 1 || !accepted(output, round_to(output, result), centre, room) ||
                      !agree(after.value[at], after.error[at], truth);
    }
  }

  Count print() const {
    Count all;
    for (const auto& [name, count] : counts_) {
      std::printf("%-50s %8ld dots, %7ld exact, %7ld open, error/bound %.3f, alarms %ld\n",
                  name.c_str(), static_cast<long>(count.dots), static_cast<long>(count.exact),
                  static_cast<long>(count.open), count.worst, static_cast<long>(count.alarms));
      all.dots += count.dots;
      all.exact += count.exact;
      all.open += count.open;
      all.alarms += count.alarms;
      all.worst = std::max(all.worst, count.worst);
    }
    std::printf("%zu kinds: %ld dots, %ld exact, %ld open, error/bound %.4f, alarms %ld\n",
                counts_.size(), static_cast<long>(all.dots), static_cast<long>(all.exact),
                static_cast<long>(all.open), all.worst, static_cast<long>(all.alarms));
    return all;
  }

 private:
  std::map<std::string, Count> counts_;
};

TEST(MatmulAlarms, NoneForLegalKernels) {
  const Format inputs[] = {Format::fp16, Format::bf16, Format::tf32,
                           Format::fp32, Format::fp16, Format::fp64};
  const Format outputs[] = {Format::fp16, Format::bf16, Format::fp32};
  Generator generator(2024);
  Alarms alarms;
  std::int64_t dots = 0;
  for (std::int64_t round = 0; dots < dots_wanted(); ++round) {
    const Format input = inputs[round % 6];
    const std::int64_t longest = round % 200 == 0 ? 4096 : round % 10 == 0 ? 600 : 24;
    const std::int64_t k = 1 + below(generator, longest);
    MatmulData data(1 + below(generator, 3), 1 + below(generator, 9), k, input, round % 3 == 0);
    data.fill(static_cast<MatrixFill>(below(generator, static_cast<int>(MatrixFill::kinds))),
              generator);
    for (int style = 0; style < 3; ++style) {
      const Format output = input == Format::fp64 ? input : outputs[below(generator, 3)];
      alarms.judge(data, random_dot_style(input, k, generator), output, generator);
      dots += data.op.m * data.op.n;
    }
  }
  const Count all = alarms.print();
  EXPECT_EQ(all.alarms, 0);
  EXPECT_GT(all.worst, 0.9) << "the bounds have become loose";
  EXPECT_LT(all.open, all.dots / 4);
}

}  // namespace
}  // namespace halfulp::reference::simulated
