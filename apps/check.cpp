// halfulp check: the main job, a campaign and its reports.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <random>

#include "apps/command.hpp"
#include "apps/option.hpp"
#include "apps/output_file.hpp"
#include "apps/standard_output.hpp"
#include "apps/stop.hpp"
#include "properties/campaign.hpp"
#include "properties/report.hpp"
#include "properties/setup.hpp"

namespace halfulp::apps {

namespace {

struct Options {
  properties::CampaignOptions campaign;
  std::vector<std::string> backends;
  std::string time, seed, json, junit;
  std::int64_t cases = -1;
  bool no_fixtures = false;
  bool no_shrink = false;
};

std::uint64_t seed_of(const std::string& text) {
  if (text == "random") {
    std::random_device device;
    return (static_cast<std::uint64_t>(device()) << 32) | device();
  }
  std::string_view digits = text;
  const bool hexadecimal = digits.starts_with("0x");
  if (hexadecimal) digits.remove_prefix(2);
  std::uint64_t seed = 0;
  const char* end = digits.data() + digits.size();
  const auto [rest, error] = std::from_chars(digits.data(), end, seed, hexadecimal ? 16 : 10);
  if (error != std::errc{} || rest != end) {
    throw UsageError(
        fmt::format("--seed {}: expected `random`, a decimal number or 0x and up to 16 digits",
                    shortened(text)));
  }
  return seed;
}

// A line on the terminal that is written over; nothing when stderr is none.
class ProgressLine {
 public:
  void show(const properties::Progress& progress) {
    if (!terminal_) return;
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < std::chrono::milliseconds(100)) return;
    last_ = now;
    const double rate =
        progress.seconds > 0 ? static_cast<double>(progress.cases) / progress.seconds : 0;
    put(fmt::format("\r\033[K{} cases, {} failed, {:.0f}/s  {}", progress.cases, progress.troubles,
                    rate, progress.doing));
  }
  void clear() const {
    if (terminal_) put("\r\033[K");
  }

 private:
  // A terminal that has gone is no reason to end.
  static void put(const std::string& text) {
    std::fputs(text.c_str(), stderr);
    std::fflush(stderr);
  }

  bool terminal_ = isatty(STDERR_FILENO) != 0;
  std::chrono::steady_clock::time_point last_{};
};

void print_backends(const properties::CampaignOptions& campaign) {
  for (const properties::BackendState& state : campaign.states) {
    if (!state.unavailable.empty()) {
      say("{}: unavailable: {}\n", gpu::name(state.backend), state.unavailable);
    } else if (state.backend == gpu::Backend::cuda) {
      say("{}: {}\n", gpu::name(state.backend), state.device);
    }
  }
  say("\n");
}

int check(Options& options) {
  properties::CampaignOptions& campaign = options.campaign;
  for (const std::string& word : options.backends) {
    const gpu::Backend backend = properties::backend_of(word);
    const bool known = std::ranges::find(campaign.backends, backend) != campaign.backends.end();
    if (!known) campaign.backends.push_back(backend);
  }
  if (!options.seed.empty()) campaign.seed = seed_of(options.seed);
  if (options.cases >= 0) campaign.cases = options.cases;
  if (!options.time.empty()) {
    campaign.seconds = seconds_of(options.time);
    if (!campaign.seconds) {
      throw UsageError(
          fmt::format("--time {}: expected a time such as 30s, 5m or 1h", shortened(options.time)));
    }
  }
  campaign.fixtures = !options.no_fixtures;
  campaign.shrink = !options.no_shrink;
  require_distinct("--json", options.json, "--junit", options.junit);
  require_distinct("--json", options.json, "--from", campaign.from);
  require_distinct("--junit", options.junit, "--from", campaign.from);
  const OutputFile json("--json", options.json);
  const OutputFile junit("--junit", options.junit);
  const std::string error = properties::complete(campaign);
  if (!error.empty()) throw UsageError(error);

  campaign.stop = stop_on_signals();
  print_backends(campaign);
  if (!flush_output() && !json.asked() && !junit.asked()) require_output();
  ProgressLine line;
  const auto result = properties::run_campaign(
      campaign, [&](const properties::Progress& progress) { line.show(progress); });
  line.clear();
  std::string unwritten;
  const auto write = [&unwritten](const OutputFile& file, const std::string& text) {
    try {
      file.write(text);
    } catch (const UsageError& failed) {
      if (unwritten.empty()) unwritten = failed.what();
    }
  };  // before the report: whoever reads that may go away early
  if (json.asked()) write(json, properties::campaign_json(campaign, result));
  if (junit.asked()) write(junit, properties::campaign_junit(campaign, result));
  for (const properties::Failure& failure : result.failures) {
    say("{}\n", properties::failure_report(failure,
                                           properties::campaign_again(campaign, result, &failure)));
  }
  for (const properties::Row& row : result.rows) {
    if (!row.given_up()) continue;
    say("{}/{} {}: {}; {} more were skipped\n\n", row.operation, row.kernel, gpu::name(row.backend),
        row.skip_reason, row[properties::Verdict::skipped]);
  }
  say("{}\n{}{}", properties::campaign_table(result), properties::campaign_advice(result),
      properties::campaign_summary(campaign, result));
  if (!unwritten.empty()) throw UsageError(unwritten);
  return result.exit_code();
}

}  // namespace

void add_check(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  properties::CampaignOptions& campaign = options->campaign;
  CLI::App* command = app.add_subcommand(
      "check",
      "judge kernels on fixtures and generated cases (these for 20 s unless told otherwise)\n\n"
      "Runs the regressions, the cases on real graphs, then generated ones, on every backend "
      "present;\n"
      "shrinks the first failing case of each kernel; prints reports, then a table and the "
      "totals.");
  add_words(*command, "filters", campaign.filters,
            "kernels to judge: graph_attention, graph_attention/fused_csc, '*/gather_*'")
      ->check(not_empty());
  CLI::Option* cases = command->add_option("--cases", options->cases, "generated cases, in all")
                           ->transform(whole(0, std::int64_t{1} << 40));
  command->add_option("--time", options->time, "time for generated cases: 30s, 5m, 1h")
      ->excludes(cases)
      ->check(not_empty());
  command->add_option("--seed", options->seed, "of the generated cases: a number, or `random`")
      ->check(not_empty());
  command
      ->add_option("--backend", options->backends, "host, host-checked, cuda; default: all present")
      ->delimiter(',')
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->check(CLI::IsMember({"host", "host-checked", "cuda"}));
  command->add_option("--from", campaign.from, "judge the case lines of this file instead")
      ->check(not_empty());
  command->add_option("--json", options->json, "write the result to this file as JSON")
      ->check(not_empty());
  command->add_option("--junit", options->junit, "write the result to this file as JUnit XML")
      ->check(not_empty());
  command
      ->add_option("--jobs", campaign.jobs,
                   "worker processes; default: one a core, on a device 16 at most")
      ->transform(whole(1, 1024));
  command->add_option("--watchdog", campaign.watchdog_s, "seconds after which a case has hung")
      ->check(real(kSecondsMin, kSecondsMax))
      ->capture_default_str();
  command->add_flag("--no-fixtures", options->no_fixtures, "generated cases only")
      ->disable_flag_override();
  command->add_flag("--no-shrink", options->no_shrink, "report failing cases as they were found")
      ->disable_flag_override();
  command->callback([options, &exit_code] { exit_code = check(*options); });
}

}  // namespace halfulp::apps
