// No false alarm: random legal kernels on random data are never refused, neither before their last
// rounding nor after it. HALFULP_FUZZ_ROWS=200000 runs so many rows of the output; the table says
// how near to the bound each kind of kernel and of data came.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>

#include "tests/reference/ops/flash_attention_simulated.hpp"
#include "tests/reference/ops/judge.hpp"

namespace halfulp::reference::simulated {
namespace {

std::int64_t rows_wanted() {
  const char* text = std::getenv("HALFULP_FUZZ_ROWS");
  return text != nullptr ? std::atoll(text) : 6000;
}

const char* name_of(FlashFill fill) {
  const char* const names[] = {"normal",    "peaky",    "ladder",  "equal",  "two keys",
                               "identity",  "integers", "lowest",  "biased", "wide",
                               "subnormal", "huge",     "any bits"};
  return names[static_cast<int>(fill)];
}

std::string name_of(const FlashStyle& style) {
  const Arithmetic& declared = style.declared();
  std::string name = declared.tensor_core.alignment_bits == 0
                         ? "ieee"
                         : "cores " + std::to_string(declared.tensor_core.alignment_bits);
  name += " weights " + std::string(traits(declared.weight).name);
  name += declared.weight_sum_rounded ? " summed, " : ", ";
  return name + simulated::name_of(style.exponent);
}

struct Count {
  std::int64_t elements = 0, exact = 0, open = 0, alarms = 0;
  double worst = 0;

  void add(double bound, double ratio, bool alarm) {
    ++elements;
    exact += bound == 0;
    open += std::isinf(bound);
    alarms += alarm;
    worst = std::max(worst, ratio);
  }
  void print(const std::string& name) const {
    std::printf("%-46s %8ld elements, %7ld exact, %6ld open, error/bound %.3f, alarms %ld\n",
                name.c_str(), static_cast<long>(elements), static_cast<long>(exact),
                static_cast<long>(open), worst, static_cast<long>(alarms));
  }
};

// The default; or given, one in three a power of two, of either sign.
double random_scale(Generator& generator) {
  if (below(generator, 2) == 0) return 0;
  const double significand = below(generator, 3) == 0 ? 1 : 1 + uniform(generator);
  const auto exponent = static_cast<int>(below(generator, 6) - 4);
  const double sign = below(generator, 2) == 0 ? 1 : -1;
  return static_cast<float>(sign * std::ldexp(significand, exponent));
}

class Alarms {
 public:
  // All rows of one case by one kernel.
  void judge(const FlashData& data, FlashFill fill, FlashMask mask, const FlashStyle& style,
             Format output, Generator& generator) {
    FlashAttention op = data.op, plain = data.op;
    op.arithmetic = style.declared();
    op.arithmetic.output = Format::fp64;  // beyond every rounding
    // The kernel takes the mask as numbers, the reference by its closed form.
    if (op.open != OpenKeys::all && below(generator, 2) == 0) op.mask = {};
    plain.open = OpenKeys::all;
    const std::int64_t rows = op.batches * op.heads * op.queries;
    const Judged before = judged(op, 0, rows * op.dim);
    op.arithmetic.output = output;
    const Judged after = judged(op, 0, rows * op.dim);
    const ExactAnswers answers = exact_answers(op);
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::vector<double> result =
          run(plain, style, row / op.queries, row % op.queries, generator);
      for (std::int64_t d = 0; d < op.dim; ++d) {
        const auto at = static_cast<std::size_t>(row * op.dim + d);
        const double x = result[static_cast<std::size_t>(d)];
        const Enclosure centre{after.value[at], after.value[at]};
        Enclosure truth{before.value[at] - before.error[at], before.value[at] + before.error[at]};
        const double ratio = error_over_bound(x, truth, before.bound[at]);
        bool alarm = ratio > 1;
        if (std::isfinite(after.bound[at]) && std::isfinite(x)) {
          alarm |=
              !accepted(output, round_to(output, x), centre, after.error[at] + after.bound[at]);
        }
        if (row % 8 == 0 && std::isfinite(after.bound[at])) {
          alarm |= !agree(after.value[at], after.error[at], answers({0, std::int64_t(at)}));
        }
        if (alarm && reported_++ < 20) {
          ADD_FAILURE() << name_of(style) << ", " << name_of(fill) << " mask "
                        << static_cast<int>(mask) << " in " << traits(op.q.format).name << " keys "
                        << op.keys << " dim " << op.dim << " online " << style.online << " lazy "
                        << style.lazy_bits << " scale " << op.scale << " splits " << style.splits
                        << " tile " << style.tile << " flush " << op.arithmetic.flush_to_zero
                        << ": " << x << " for " << before.value[at] << " +- " << before.error[at]
                        << ", bound " << before.bound[at] << " / " << after.bound[at] << " ratio "
                        << ratio;
        }
        kinds_[name_of(style)].add(after.bound[at], ratio, alarm);
        fills_[name_of(fill)].add(after.bound[at], ratio, alarm);
        all.add(after.bound[at], ratio, alarm);
      }
    }
  }

  void print() const {
    for (const auto& [name, count] : kinds_) count.print(name);
    for (const auto& [name, count] : fills_) count.print(name);
    all.print(std::to_string(kinds_.size()) + " kinds");
  }

  Count all;

 private:
  std::map<std::string, Count> kinds_, fills_;
  int reported_ = 0;
};

TEST(FlashAttentionAlarms, NoneForLegalKernels) {
  const Format inputs[] = {Format::fp16, Format::bf16, Format::tf32, Format::fp32};
  const Format outputs[] = {Format::fp16, Format::bf16, Format::fp32};
  Generator generator(2025);
  Alarms alarms;
  std::int64_t rows = 0, negative = 0;
  for (std::int64_t round = 0; rows < rows_wanted(); ++round) {
    const Format input = inputs[round % 4];
    const std::int64_t longest = round % 100 == 0 ? 1000 : round % 10 == 0 ? 150 : 20;
    const FlashSizes sizes{1, 1, 1 + below(generator, 8), below(generator, longest + 1),
                           1 + below(generator, 9)};
    FlashData data(sizes, input);
    const auto fill = static_cast<FlashFill>(below(generator, static_cast<int>(FlashFill::kinds)));
    const auto mask =
        below(generator, 2) == 0
            ? FlashMask::none
            : static_cast<FlashMask>(below(generator, static_cast<int>(FlashMask::kinds)));
    data.fill(fill, generator);
    data.set_mask(mask, generator);
    data.op.scale = random_scale(generator);
    negative += data.op.scale < 0;
    for (int style = 0; style < 2; ++style) {
      alarms.judge(data, fill, mask, random_flash_style(input, sizes.keys, generator),
                   outputs[below(generator, 3)], generator);
      rows += sizes.queries;
    }
  }
  alarms.print();
  EXPECT_EQ(alarms.all.alarms, 0);
  EXPECT_GT(negative, rows / 100);
  EXPECT_GT(alarms.all.worst, 0.7) << "the bounds have become loose";
  EXPECT_LT(alarms.all.open, alarms.all.elements / 4);
}

}  // namespace
}  // namespace halfulp::reference::simulated
