// The pipeline: one case in, one verdict out.
//
//   Judgement j = judge(c);            // in this process
//   Judgement j = worker.judge(c);     // in a worker process (properties/worker.hpp): survives
//   crash and hang
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "gpu/backend.hpp"
#include "properties/advice.hpp"
#include "properties/case.hpp"
#include "properties/stage.hpp"
#include "reference/answer.hpp"

namespace halfulp::properties {

enum class Verdict : std::uint8_t { pass, fail, faulted, skipped, powerless };
std::string_view name(Verdict verdict);

// One output element that was looked at closely.
struct Suspect {
  int output = 0;
  std::string output_name;
  std::vector<std::int64_t> index;  // logical
  std::uint64_t bits = 0;           // what the kernel gave
  double got = 0;
  double lo = 0, hi = 0;        // enclosure of the truth
  double bound = 0;             // E
  double error_over_bound = 0;  // properties/compare.hpp; at most 1 for what is accepted
  std::uint64_t accept_lo = 0, accept_hi = 0;  // patterns of the accepted interval's ends
};

struct Judgement {
  Verdict verdict = Verdict::pass;
  std::string reason;  // skipped, powerless, faulted: why; fail: "2 of 35 elements", the law's name
  gpu::Fault fault;             // also of a skipped case that memory or time ran out for
  std::vector<Suspect> worst;  // at most 8, worst first; for a pass, the worst one
  double worst_error_over_bound = 0;
  std::vector<std::string> notes;  // about the worst element of a failure, for people
  std::int64_t elements = 0;
  std::int64_t failed = 0;
  std::int64_t unbounded = 0;      // elements that accept anything
  std::int64_t exact_checked = 0;  // elements re-evaluated exactly: flagged, failing, audited
  Advice advice;                   // of a case that passed, where somebody looked
  std::int64_t launches = 0;
  double kernel_seconds = 0;
  double seconds = 0;  // from request to verdict; only worker pools know
};

struct JudgeOptions {
  // How long order=exhaustive may try schedules on one problem; 0: no limit. The verdict is then of
  // those that ran, and the reason says that there are more.
  double search_s = 0;
  StageBoard* board = nullptr;  // told when the kernel's call begins and ends
  bool advise_always = false;   // a case that passes; else every eighth, by its seed
};
Judgement judge(const Case& c, const JudgeOptions& options = {});

}  // namespace halfulp::properties
