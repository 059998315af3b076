// A campaign: fixtures and generated cases over kernels and backends, each judged in a worker
// process.
//
//   CampaignOptions options;
//   std::string error = complete(options);           // wrong filters, unreadable files; finds the
//   backends CampaignResult result = run_campaign(options, progress);
//
// With `cases` and the same seed, kernels and backends, two runs give the same verdicts in the same
// order, whatever the number of jobs. With `seconds` only the number of generated cases differs.
//
// A kernel that hangs costs a watchdog a case: after kHangsMax of them on one backend the rest of
// its cases there are skipped.
#pragma once
#include <array>
#include <csignal>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "properties/plan.hpp"
#include "properties/shrink.hpp"
#include "properties/worker.hpp"

namespace halfulp::properties {

struct CampaignOptions {
  std::vector<std::string> filters;
  std::vector<gpu::Backend> backends;  // empty: every one that is available
  std::optional<std::int64_t> cases;   // generated ones, beside the fixtures
  std::optional<double> seconds;       // for the generated ones; neither: 20 s
  std::uint64_t seed = 1;
  std::string from;  // judge the lines of this file and nothing else
  int jobs = 0;      // worker processes; 0: one for each core, of cuda at most kDeviceJobsMost
  double watchdog_s = kWatchdog_s;
  int size_max = 100;  // of generated cases, 0 to 100
  bool fixtures = true;
  bool shrink = true;
  ShrinkBudget shrink_budget{2000, 10};  // for each kernel that fails

  // No case starts once it is not 0, and those in hand have kStopGrace_s. Null: never stops early.
  const volatile std::sig_atomic_t* stop = nullptr;

  // Filled by complete().
  std::vector<BackendState> states;
  std::vector<Case> listed;       // cases of files
  bool fixtures_missing = false;  // they were wanted, and no case file was found
};
// Empty, or what is wrong with the options.
std::string complete(CampaignOptions& options);

// Each holds a context in the device's memory, and their kernels take turns.
constexpr int kDeviceJobsMost = 16;
constexpr int kVerdicts = 5;
constexpr int kHangsMax = 2;

// What advice.hpp says of the cases of a row that passed.
struct RowAdvice {
  std::int64_t cases = 0;  // looked at
  std::int64_t beyond_cases = 0;
  std::int64_t beyond = 0;         // elements
  double worst = 0;                // error over the statistical bound
  std::optional<Case> worst_case;  // of those beyond it
};

struct Row {
  std::string operation;
  std::string kernel;
  gpu::Backend backend = gpu::Backend::host;
  std::int64_t cases = 0;
  std::array<std::int64_t, kVerdicts> count{};  // by Verdict
  double worst = 0;                             // error over bound, of cases that passed or failed
  double seconds = 0;                           // spent in kernels
  std::int64_t hangs = 0;                       // cases that timed out
  double slowest_pass_s = 0;                    // from request to verdict
  std::string skip_reason;  // of the first case that was skipped, or why the kernel was given up
  RowAdvice advice;
  bool given_up() const { return hangs >= kHangsMax; }
  std::int64_t operator[](Verdict verdict) const {
    return count[static_cast<std::size_t>(verdict)];
  }
};

// The first case of a kernel that failed or faulted.
struct Failure {
  Case found;
  Judgement judgement;
  Shrunk shrunk;
  double watchdog_s = kWatchdog_s;  // that it was found under
};

struct CampaignResult {
  std::vector<Row> rows;  // in the registry's order, then by backend
  std::vector<Failure> failures;
  Row total;
  std::int64_t elements = 0;
  std::int64_t exact_checked = 0;
  std::int64_t generated = 0;
  std::int64_t restarts = 0;  // workers lost
  int jobs = 0;               // host workers
  int stop_signal = 0;        // that `stop` told of, while cases were judged or shrunk
  bool interrupted = false;   // by it, before all cases were judged
  double seconds = 0;         // judging, shrinking aside
  double shrink_seconds = 0;
  // 0: something passed and nothing failed; 1: a kernel failed or faulted; 128 and the signal:
  // stopped; 3: nothing with power ran.
  int exit_code() const;
};

struct Progress {
  std::int64_t cases = 0;
  std::int64_t troubles = 0;  // failed or faulted
  double seconds = 0;
  std::string doing;  // "graph_attention/fused_csc host", "shrinking ..."
};
using OnProgress = std::function<void(const Progress&)>;

CampaignResult run_campaign(const CampaignOptions& options, const OnProgress& on_progress);

}  // namespace halfulp::properties
