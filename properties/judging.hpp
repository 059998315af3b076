// Judges the outputs of a kernel element by element while the reference streams its rows.
//
//   Judging judging(operation, numerics, problem, outcome.outputs, seed);
//   operation.evaluate(problem, numerics, [&](const reference::Rows& rows) { judging.see(rows); });
//   judging.finish(judgement);
//
// Elements whose decision depends on the reference's own error, the failing ones (the worst 64 of
// them) and an audit of 1% (at most 64 an output, chosen by the seed) are evaluated again by
// Operation::exact. An exact answer that contradicts the streamed one is a bug of the reference and
// ends in verdict faulted.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "properties/check.hpp"
#include "properties/compare.hpp"
#include "properties/operation.hpp"
#include "properties/power.hpp"

namespace halfulp::properties {

class Judging {
 public:
  // Each entry of `results` is one distinct set of outputs of the same call; all of them are
  // judged.
  Judging(const Operation& operation, const gpu::Numerics& numerics, const gpu::Problem& problem,
          const std::vector<gpu::Outputs>& results, std::uint64_t seed);

  void see(const reference::Rows& rows);
  // Fills verdict (pass, fail, powerless, or faulted for a bug of the reference), reason, worst and
  // counts.
  void finish(Judgement& judgement);

 private:
  enum class Why : std::uint8_t { undecided, failing, audit };
  struct Pending {
    reference::Element element;
    Expected expected;
    std::uint64_t bits = 0;
    double got = 0;
    Why why = Why::audit;
    double ratio = 0;  // of failing ones: error over bound, as far as the fast path knows
  };
  struct Output {
    const gpu::Operand* operand = nullptr;
    reference::Format format = reference::Format::fp32;
    std::int64_t size_bytes = 0;
    std::uint64_t audit_below = 0;  // elements whose hash is below are audited
    Power power;
  };

  void see_element(Output& output, reference::Element element, const Expected& expected,
                   std::int64_t position);
  void keep_failing(const Pending& pending);
  void settle(const Pending& pending, Judgement& judgement);
  Suspect suspect(const Pending& pending, reference::Enclosure truth) const;
  void keep(Suspect suspect);

  const Operation& operation_;
  const gpu::Numerics& numerics_;
  const gpu::Problem& problem_;
  const std::vector<gpu::Outputs>& results_;
  std::uint64_t seed_;
  reference::ExactAnswers exact_;  // made at the first element that needs it
  std::vector<Output> outputs_;
  std::vector<Pending> pending_;
  std::vector<Pending> failing_;
  Pending best_;  // the accepted element with the largest error over bound so far
  double best_ratio_ = -1;
  std::int64_t elements_ = 0;
  std::int64_t failed_ = 0;
  std::string contradiction_;
  std::vector<Suspect> worst_;
};

}  // namespace halfulp::properties
