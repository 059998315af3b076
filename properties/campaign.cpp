// Campaigns; see campaign.hpp.
#include "properties/campaign.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "properties/assert.hpp"
#include "properties/deadline.hpp"
#include "properties/fields.hpp"
#include "properties/setup.hpp"

namespace halfulp::properties {

namespace {

constexpr double kSecondsByDefault = 20;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

bool available(const CampaignOptions& options, gpu::Backend backend) {
  return std::ranges::any_of(options.states, [&](const BackendState& state) {
    return state.backend == backend && state.unavailable.empty();
  });
}

int jobs_of(const CampaignOptions& options, bool cuda) {
  if (options.jobs > 0) return options.jobs;
  const auto cores = static_cast<int>(std::max<long>(1, sysconf(_SC_NPROCESSORS_ONLN)));
  return cuda ? std::min(cores, kDeviceJobsMost) : cores;
}

class Campaign {
 public:
  Campaign(const CampaignOptions& options, const OnProgress& on_progress)
      : options_(options), on_progress_(on_progress) {}

  CampaignResult run();

 private:
  // Judges one stream of cases with its own workers; how many were dropped.
  std::int64_t judge_all(bool cuda, const WorkerPool::Next& next);
  void judge_listed(bool cuda);
  void generate(bool cuda, const std::vector<Pairing>& pairs, std::optional<std::int64_t> cases,
                double seconds);
  bool stopped();
  void record(const Case& c, const Judgement& judged);
  std::optional<Judgement> given_up(const Case& c);
  bool all_given_up(const std::vector<Pairing>& pairs) const;
  void shrink_failures();
  Row& row_of(const Case& c);

  const CampaignOptions& options_;
  const OnProgress& on_progress_;
  CampaignResult result_;
  std::map<std::string, std::size_t> row_index_;
  Clock::time_point start_ = Clock::now();
};

Row& Campaign::row_of(const Case& c) {
  const std::string key = fmt::format("{} {} {}", c.operation, c.kernel, c.text("backend"));
  const auto [entry, fresh] = row_index_.try_emplace(key, result_.rows.size());
  if (fresh) {
    Row row;
    row.operation = c.operation;
    row.kernel = c.kernel;
    row.backend = backend_of(c.text("backend"));
    result_.rows.push_back(row);
  }
  return result_.rows[entry->second];
}

void count(Row& row, const Judgement& judgement) {
  ++row.cases;
  ++row.count[static_cast<std::size_t>(judgement.verdict)];
  row.worst = std::max(row.worst, judgement.worst_error_over_bound);
  row.seconds += judgement.kernel_seconds;
}

void note(RowAdvice& row, const Case& c, const Advice& advice) {
  if (advice.elements == 0) return;
  ++row.cases;
  row.beyond += advice.beyond;
  if (advice.beyond > 0) ++row.beyond_cases;
  if (advice.beyond > 0 && advice.worst > row.worst) row.worst_case = c;
  row.worst = std::max(row.worst, advice.worst);
}

std::optional<Judgement> Campaign::given_up(const Case& c) {
  const Row& row = row_of(c);
  if (!row.given_up()) return std::nullopt;
  Judgement judgement;
  judgement.verdict = Verdict::skipped;
  judgement.reason = row.skip_reason;
  return judgement;
}

void Campaign::record(const Case& c, const Judgement& judged) {
  // Cases are recorded in order: what is given up does not depend on how many were under way.
  const Judgement judgement = given_up(c).value_or(judged);
  Row& row = row_of(c);
  count(row, judgement);
  note(row.advice, c, judgement.advice);
  if (judgement.verdict == Verdict::pass) {
    row.slowest_pass_s = std::max(row.slowest_pass_s, judgement.seconds);
  }
  const bool hung =
      judgement.verdict == Verdict::faulted && judgement.fault.kind == gpu::FaultKind::timed_out;
  if (hung && ++row.hangs == kHangsMax) {
    row.skip_reason = fmt::format("given up after {} cases that hung", kHangsMax);
  }
  count(result_.total, judgement);
  result_.elements += judgement.elements;
  result_.exact_checked += judgement.exact_checked;
  if (judgement.verdict == Verdict::skipped && row.skip_reason.empty()) {
    row.skip_reason = judgement.reason;
  }
  const bool trouble = judgement.verdict == Verdict::fail || judgement.verdict == Verdict::faulted;
  const bool first = std::ranges::none_of(result_.failures, [&](const Failure& failure) {
    return failure.found.operation == c.operation && failure.found.kernel == c.kernel;
  });
  if (trouble && first)
    result_.failures.push_back({c, judgement, {c, judgement}, options_.watchdog_s});
  const std::int64_t troubles = result_.total[Verdict::fail] + result_.total[Verdict::faulted];
  on_progress_({result_.total.cases, troubles, seconds_since(start_),
                fmt::format("{}/{} {}", c.operation, c.kernel, c.text("backend"))});
}

bool Campaign::stopped() {
  if (options_.stop != nullptr && result_.stop_signal == 0) result_.stop_signal = *options_.stop;
  return result_.stop_signal != 0;
}

std::int64_t Campaign::judge_all(bool cuda, const WorkerPool::Next& next) {
  if (stopped()) return 0;
  WorkerPool pool({.jobs = jobs_of(options_, cuda),
                   .watchdog_s = options_.watchdog_s,
                   .one_device = cuda,
                   .stop = options_.stop});
  const std::int64_t dropped =
      pool.run([&] { return stopped() ? std::nullopt : next(); },
               [this](const Case& c, const Judgement& judgement) { record(c, judgement); },
               [this](const Case& c) { return given_up(c); });
  result_.restarts += pool.restarts();
  stopped();
  return dropped;
}

void Campaign::judge_listed(bool cuda) {
  std::size_t at = 0;
  judge_all(cuda, [&]() -> std::optional<Case> {
    for (; at < options_.listed.size(); ++at) {
      const bool on_cuda = backend_of(options_.listed[at].text("backend")) == gpu::Backend::cuda;
      if (on_cuda == cuda) return options_.listed[at++];
    }
    return std::nullopt;
  });
}

bool Campaign::all_given_up(const std::vector<Pairing>& pairs) const {
  const auto hopeless = [](const Row& row) { return row.given_up(); };
  if (std::ranges::count_if(result_.rows, hopeless) == 0) return false;
  return std::ranges::all_of(pairs, [&](const Pairing& pair) {
    return std::ranges::any_of(result_.rows, [&](const Row& row) {
      return hopeless(row) && row.operation == pair.kernel->operation &&
             row.kernel == pair.kernel->name && row.backend == pair.backend;
    });
  });
}

void Campaign::generate(bool cuda, const std::vector<Pairing>& pairs,
                        std::optional<std::int64_t> cases, double seconds) {
  const auto began = Clock::now();
  const auto count = static_cast<std::int64_t>(pairs.size());
  std::int64_t number = 0;
  const std::int64_t dropped = judge_all(cuda, [&]() -> std::optional<Case> {
    const bool enough =
        cases ? number >= *cases : seconds_since(began) >= seconds || all_given_up(pairs);
    if (enough) return std::nullopt;
    const Pairing& pair = pairs[static_cast<std::size_t>(number % count)];
    return generated_case(pair, options_.seed, number++ / count, options_.size_max);
  });
  result_.generated += number - dropped;
}

void Campaign::shrink_failures() {
  if (result_.failures.empty()) return;
  WorkerPool pool({1, std::min(options_.watchdog_s, 5.0)});
  ShrinkBudget budget = options_.shrink_budget;
  budget.stop = options_.stop;
  for (Failure& failure : result_.failures) {
    if (stopped()) return;
    on_progress_(
        {result_.total.cases, result_.total[Verdict::fail] + result_.total[Verdict::faulted],
         seconds_since(start_),
         fmt::format("{} {}", options_.shrink ? "shrinking" : "confirming", failure.found.kernel)});
    budget.pass_s = row_of(failure.found).slowest_pass_s;
    if (options_.shrink) {
      failure.shrunk = shrink(pool, failure.found, failure.judgement, budget);
    } else {
      failure.shrunk.alone =
          judged_alone(pool, failure.found, failure.judgement, budget).has_value();
    }
  }
  stopped();
}

CampaignResult Campaign::run() {
  result_.jobs = jobs_of(options_, false);
  std::vector<gpu::Backend> backends;
  std::ranges::copy_if(options_.backends, std::back_inserter(backends),
                       [&](gpu::Backend backend) { return available(options_, backend); });
  std::vector<Pairing> on_host, on_cuda;
  for (const Pairing& pair : pairings(options_.filters, backends)) {
    (pair.backend == gpu::Backend::cuda ? on_cuda : on_host).push_back(pair);
  }
  judge_listed(false);
  judge_listed(true);
  if (options_.from.empty()) {
    const auto pairs = static_cast<std::int64_t>(on_host.size() + on_cuda.size());
    const double seconds = options_.seconds.value_or(kSecondsByDefault);
    const auto share = [&](const std::vector<Pairing>& part) {
      return static_cast<double>(part.size()) /
             static_cast<double>(std::max<std::int64_t>(1, pairs));
    };
    std::optional<std::int64_t> cuda_cases, host_cases;
    if (options_.cases) {
      cuda_cases = static_cast<std::int64_t>(static_cast<double>(*options_.cases) * share(on_cuda));
      host_cases = *options_.cases - *cuda_cases;
    }
    if (!on_host.empty()) generate(false, on_host, host_cases, seconds * share(on_host));
    if (!on_cuda.empty()) generate(true, on_cuda, cuda_cases, seconds * share(on_cuda));
  }
  result_.interrupted = result_.stop_signal != 0;
  result_.seconds = seconds_since(start_);
  shrink_failures();
  result_.shrink_seconds = seconds_since(start_) - result_.seconds;
  return std::move(result_);
}

// Registry order, then backends.
void sort_rows(std::vector<Row>& rows) {
  const auto place = [](const Row& row) {
    const gpu::Kernel* kernel = gpu::find_kernel(row.operation, row.kernel);
    return std::pair(kernel - gpu::kernels().data(), static_cast<int>(row.backend));
  };
  std::ranges::sort(rows, {}, place);
}

}  // namespace

std::string complete(CampaignOptions& options) {
  const std::string filter = unmatched(options.filters);
  if (!filter.empty()) {
    return fmt::format("filter '{}' matches no kernel; `halfulp list` names them", shown(filter));
  }
  std::string error;
  std::vector<CaseLine> lines;
  if (!options.from.empty()) {  // before anything that takes time
    if (options.cases || options.seconds) {
      return "--from judges the lines of a file: --cases and --time do not go with it";
    }
    lines = read_case_lines(options.from, error);
  }
  if (!error.empty()) return error;
  if (!options.from.empty() && lines.empty()) return no_case_line(options.from);
  const bool any_backend = options.backends.empty();
  options.states = backend_states();
  if (options.backends.empty()) {
    for (const BackendState& state : options.states) {
      if (state.unavailable.empty()) options.backends.push_back(state.backend);
    }
  }
  if (options.from.empty() && options.fixtures) {
    const std::vector<std::string> files = fixture_files(error);
    options.fixtures_missing = files.empty();
    for (const std::string& file : files) {
      if (!error.empty()) break;
      const std::vector<CaseLine> more = read_case_lines(file, error);
      lines.insert(lines.end(), more.begin(), more.end());
    }
    if (!error.empty()) return error;
  }
  // A line of the user's file that names a backend which is absent is skipped, not passed over.
  const bool all = any_backend && !options.from.empty();
  const Unbuilt unbuilt = options.from.empty() ? Unbuilt::left_out : Unbuilt::kept;
  for (Case& c : on_backends(lines, options.backends, unbuilt)) {
    const bool asked = std::ranges::find(options.backends, backend_of(c.text("backend"))) !=
                       options.backends.end();
    if ((asked || all) && matches(options.filters, c.operation, c.kernel)) {
      options.listed.push_back(std::move(c));
    }
  }
  if (!options.from.empty() && options.listed.empty()) {
    return fmt::format("{}: none of its {} case lines is for the kernels and backends asked for",
                       shown(options.from), lines.size());
  }
  return {};
}

int CampaignResult::exit_code() const {
  if (total[Verdict::fail] + total[Verdict::faulted] > 0) return 1;
  if (stop_signal != 0) return 128 + stop_signal;
  return total[Verdict::pass] > 0 ? 0 : 3;
}

CampaignResult run_campaign(const CampaignOptions& options, const OnProgress& on_progress) {
  CampaignResult result = Campaign(options, on_progress).run();
  sort_rows(result.rows);
  return result;
}

}  // namespace halfulp::properties
