// halfulp bench: the figures that docs/ quote.
#include "properties/bench.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "apps/command.hpp"
#include "apps/option.hpp"
#include "apps/standard_output.hpp"
#include "properties/plan.hpp"
#include "properties/worker.hpp"

namespace halfulp::apps {

namespace {

struct Options {
  std::vector<std::string> what;
  std::vector<std::string> filters;
  std::vector<std::int64_t> batches{1, 16, 32, 64, 1024};
  std::string backend;
  int jobs = 0;
  double seconds = 5;
};

int bench(const Options& options) {
  const std::string filter = properties::unmatched(options.filters);
  if (!filter.empty())
    throw UsageError(fmt::format("filter '{}' matches no kernel", shortened(filter)));
  std::vector<std::string> what = options.what;
  const bool unsaid = what.empty();
  if (unsaid && options.backend.empty()) what = {"reference", "host", "gpu"};
  if (unsaid && !options.backend.empty()) what = {options.backend == "cuda" ? "gpu" : "host"};
  const auto asked = [&](const char* name) { return std::ranges::find(what, name) != what.end(); };
  const auto print = [](const std::string& line) {
    say("{}\n", line);
    require_output();
  };
  // The campaign forks, so it comes before anything that touches a device.
  if (asked("reference")) properties::bench_reference(print);
  if (asked("host")) properties::bench_host(print, options.jobs, options.seconds);
  if (!asked("gpu")) return kExitPassed;
  const std::string unavailable = properties::bench_gpu(print, options.filters, options.batches);
  if (unavailable.empty()) return kExitPassed;
  say("gpu skipped: {}\n", unavailable);
  return unsaid && options.backend.empty() ? kExitPassed : kExitPowerless;
}

}  // namespace

void add_bench(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "bench",
      "time the reference, a host campaign, and kernels on a GPU beside its copy bandwidth\n\n"
      "Exit code 3 when gpu was asked for and there is no usable device.");
  add_words(*command, "what", options->what, "reference, host, gpu; default: all of them")
      ->check(CLI::IsMember({"reference", "host", "gpu"}));
  command->add_option("--kernels", options->filters, "gpu: kernels to time, as filters of check")
      ->delimiter(',')
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->check(not_empty());
  command->add_option("--batch", options->batches, "gpu: graphs in a batch")
      ->delimiter(',')
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->transform(whole(1, 100000))
      ->capture_default_str();
  command
      ->add_option("--backend", options->backend, "cuda: the same as gpu; host: the same as host")
      ->check(CLI::IsMember({"host", "cuda"}));
  command->add_option("--jobs", options->jobs, "host: worker processes; default: one a core")
      ->transform(whole(1, 1024));
  command->add_option("--seconds", options->seconds, "host: how long, for each backend")
      ->check(real(kSecondsMin, kSecondsMax))
      ->capture_default_str();
  command->callback([options, &exit_code] { exit_code = bench(*options); });
}

}  // namespace halfulp::apps
