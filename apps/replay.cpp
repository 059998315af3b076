// halfulp replay and halfulp shrink: one case again, or its smallest failing relative.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "apps/command.hpp"
#include "apps/option.hpp"
#include "apps/standard_output.hpp"
#include "apps/stop.hpp"
#include "properties/plan.hpp"
#include "properties/report.hpp"
#include "properties/shrink.hpp"

namespace halfulp::apps {

namespace {

struct Options {
  std::vector<std::string> words;
  std::string backend;
  double watchdog_s = properties::kWatchdog_s;
  double seconds = 30;
  std::int64_t cases = 5000;
};

std::vector<properties::Case> cases_of(const Options& options) {
  std::vector<properties::Case> cases;
  if (options.words.size() == 1 && names_file(options.words.front())) {
    std::string error;
    cases = properties::read_cases(options.words.front(), {gpu::Backend::host}, error);
    if (!error.empty()) throw UsageError(error);
  } else {
    cases.push_back(case_of(options.words));
  }
  if (options.backend.empty()) return cases;
  for (properties::Case& c : cases) c.set("backend", options.backend);
  return cases;
}

bool trouble(const properties::Judgement& judgement) {
  return judgement.verdict == properties::Verdict::fail ||
         judgement.verdict == properties::Verdict::faulted;
}

int replay_one(properties::WorkerPool& pool, const properties::Case& c) {
  const properties::Judgement judgement = pool.judge(c);
  say_text(properties::case_report(c, judgement, pool.options().watchdog_s));
  if (trouble(judgement)) return kExitFailed;
  return judgement.verdict == properties::Verdict::pass ? kExitPassed : kExitPowerless;
}

int replay(const Options& options) {
  const std::vector<properties::Case> cases = cases_of(options);
  properties::WorkerPool pool({1, options.watchdog_s, true});
  if (cases.size() == 1) return replay_one(pool, cases.front());
  const volatile std::sig_atomic_t* stop = stop_on_signals();
  std::size_t judged = 0;
  std::int64_t troubles = 0, passed = 0;
  for (; judged < cases.size() && *stop == 0; ++judged) {
    const int verdict = replay_one(pool, cases[judged]);
    say("\n");
    require_output();
    passed += verdict == kExitPassed;
    troubles += verdict == kExitFailed;
  }
  const bool interrupted = judged < cases.size();
  say("{} cases, {} pass, {} fail or faulted{}\n", judged, passed, troubles,
      interrupted ? fmt::format("; interrupted, {} not run", cases.size() - judged) : "");
  if (troubles > 0) return kExitFailed;
  if (interrupted) return exit_of_signal();
  return passed > 0 ? kExitPassed : kExitPowerless;
}

int shrink(const Options& options) {
  properties::Case c = case_of(options.words);
  if (!options.backend.empty()) c.set("backend", options.backend);
  properties::WorkerPool pool({1, options.watchdog_s});
  const properties::Judgement judgement = pool.judge(c);
  if (!trouble(judgement)) {
    say_text(properties::case_report(c, judgement, pool.options().watchdog_s));
    return judgement.verdict == properties::Verdict::pass ? kExitPassed : kExitPowerless;
  }
  properties::ShrinkBudget budget{options.cases, options.seconds};
  budget.stop = stop_on_signals();
  const properties::Failure failure{c, judgement, properties::shrink(pool, c, judgement, budget),
                                    options.watchdog_s};
  say_text(properties::failure_report(failure));
  return kExitFailed;
}

void add_common(CLI::App* command, const std::shared_ptr<Options>& options) {
  command->add_option("--backend", options->backend, "run on this backend, whatever the line says")
      ->check(CLI::IsMember({"host", "host-checked", "cuda"}));
  command->add_option("--watchdog", options->watchdog_s, "seconds after which a case has hung")
      ->check(real(kSecondsMin, kSecondsMax))
      ->capture_default_str();
}

}  // namespace

void add_replay(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "replay",
      "run one case line, or each line of a file, and print the worst elements\n\n"
      "Exit code 1 when it fails or faults, 3 when it was skipped or had no power.");
  add_words(*command, "case", options->words, "a case line, quoted or not, or a file of them")
      ->required();
  add_common(command, options);
  command->callback([options, &exit_code] { exit_code = replay(*options); });
}

void add_shrink(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("shrink", "find the smallest case that fails like this one");
  add_words(*command, "case", options->words, "a case line, quoted or not")->required();
  command->add_option("--seconds", options->seconds, "stop after this long")
      ->check(real(kSecondsMin, kSecondsMax))
      ->capture_default_str();
  command->add_option("--cases", options->cases, "stop after this many")
      ->transform(whole(1, 1'000'000'000))
      ->capture_default_str();
  add_common(command, options);
  command->callback([options, &exit_code] { exit_code = shrink(*options); });
}

}  // namespace halfulp::apps
