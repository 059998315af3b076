// Judges the outputs of a kernel element by element while the reference streams its rows.
//
//   Judging judging(operation, numerics, problem, outcome.outputs, seed);
//   operation.evaluate(problem, numerics, [&](const reference::Rows& rows) { judging.see(rows); });
//   judging.finish(judgement);
//
// Evaluated again by Operation::exact, where they stream by: every element whose decision depends
// on the reference's own error, every failing one, and an audit by the seed of 1% of the elements
// and one of each output. Of more than 2^20 failing elements of one output, the rest is evaluated
// only where it is worse than all before, and the reason says how many were. (Effort: both are less
// where exact answers take long.) An exact answer that contradicts the streamed one is a bug of the
// reference and ends in verdict faulted.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "properties/check.hpp"
#include "properties/compare.hpp"
#include "properties/operation.hpp"
#include "properties/power.hpp"

namespace halfulp::properties {

// How many elements are evaluated exactly beside the undecided ones.
struct Effort {
  std::uint64_t audited_one_in = 100;
  std::int64_t failing_most = 1 << 20;  // of an output
};

class Judging {
 public:
  // Each entry of `results` is one distinct set of outputs of the same call; all of them are
  // judged.
  Judging(const Operation& operation, const gpu::Numerics& numerics, const gpu::Problem& problem,
          const std::vector<gpu::Outputs>& results, std::uint64_t seed);

  // Of the elements that come.
  void set_effort(const Effort& effort) { effort_ = effort; }
  void see(const reference::Rows& rows);
  // Fills verdict (pass, fail, powerless, or faulted for a bug of the reference), reason, worst and
  // counts.
  void finish(Judgement& judgement);

 private:
  struct Output {
    const gpu::Operand* operand = nullptr;
    reference::Format format = reference::Format::fp32;
    std::int64_t size_bytes = 0;
    std::int64_t audited = 0;            // this element, whatever its hash
    std::int64_t failing_evaluated = 0;  // of the failing elements
    Power power;
  };
  // One result for an element, and its error over the bound.
  struct Seen {
    reference::Element element;
    Expected expected;
    std::uint64_t bits = 0;
    double got = 0;
    double ratio = -1;
  };

  void see_element(Output& output, reference::Element element, const Expected& expected,
                   std::int64_t position);
  bool audits(const Output& output, reference::Element element) const;
  Seen read(const Output& output, reference::Element element, const Expected& expected,
            std::int64_t position, const gpu::Outputs& result) const;
  void settle(Output& output, reference::Element element, const Expected& expected,
              std::int64_t position, bool rejected);
  Suspect suspect(const Seen& seen, reference::Enclosure truth) const;
  void keep(const Seen& seen, reference::Enclosure truth);

  const Operation& operation_;
  const gpu::Numerics& numerics_;
  const gpu::Problem& problem_;
  const std::vector<gpu::Outputs>& results_;
  std::uint64_t seed_;
  Effort effort_;
  reference::ExactAnswers exact_;  // made at the first element that needs it
  std::vector<Output> outputs_;
  Seen best_;  // the accepted element with the largest error over bound so far
  std::int64_t elements_ = 0;
  std::int64_t failed_ = 0;
  std::int64_t failing_left_out_ = 0;
  std::int64_t exact_checked_ = 0;
  std::string contradiction_;
  std::vector<Suspect> worst_;
};

}  // namespace halfulp::properties
