// Reports for people; see report.hpp.
#include "properties/report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "properties/operation.hpp"

namespace halfulp::properties {

namespace {

std::string suspect_line(const Suspect& s) {
  return fmt::format(
      "    {}[{}]  got {:.9g} ({:#x})  truth {}  bound {:.3g}  accepted {:#x} to {:#x}  "
      "error/bound {}\n",
      s.output_name, fmt::join(s.index, ","), s.got, s.bits, truth_text({s.lo, s.hi}), s.bound,
      s.accept_lo, s.accept_hi, ratio_text(s.error_over_bound));
}

std::string counts(const Judgement& judgement) {
  std::string text = fmt::format("{} elements", judgement.elements);
  if (judgement.failed > 0) text += fmt::format(", {} wrong", judgement.failed);
  if (judgement.unbounded > 0) text += fmt::format(", {} without bound", judgement.unbounded);
  if (judgement.exact_checked > 0) {
    text += fmt::format(", {} evaluated exactly", judgement.exact_checked);
  }
  return text + fmt::format(", {} launches", judgement.launches);
}

std::string verdict_line(const Judgement& judgement) {
  const std::string_view verdict = name(judgement.verdict);
  return judgement.reason.empty() ? fmt::format("  {}\n", verdict)
                                  : fmt::format("  {}: {}\n", verdict, judgement.reason);
}

std::string watchdog_option(double seconds) {
  return seconds == kWatchdog_s ? std::string() : fmt::format(" --watchdog {}", seconds);
}

std::string shell_quoted(const std::string& text) {
  const bool plain = std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-./:,").find(c) != std::string_view::npos;
  });
  if (plain && !text.empty()) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace

std::string truth_text(reference::Enclosure truth) {
  if (std::isnan(truth.lo)) return "NaN";
  if (truth.lo == truth.hi) return fmt::format("{:.17g}", truth.lo);
  return fmt::format("[{:.17g}, {:.17g}]", truth.lo, truth.hi);
}

std::string ratio_text(double ratio) {
  if (std::isinf(ratio)) return "inf";
  if (ratio == 0) return "0";
  return ratio >= 0.001 && ratio < 1000 ? fmt::format("{:.3f}", ratio)
                                        : fmt::format("{:.2g}", ratio);
}

std::string align(const std::vector<std::vector<std::string>>& rows, std::size_t left_columns) {
  std::vector<std::size_t> width;
  for (const auto& row : rows) {
    width.resize(std::max(width.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) width[i] = std::max(width[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += i == 0 ? "" : "  ";
      line += i < left_columns ? fmt::format("{:<{}}", row[i], width[i])
                               : fmt::format("{:>{}}", row[i], width[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string repro_line(const Case& c) { return fmt::format("halfulp replay '{}'", print(c)); }

std::string case_report(const Case& c, const Judgement& judgement, double watchdog_s) {
  const bool timed_out = judgement.fault.kind == gpu::FaultKind::timed_out;
  std::string text = repro_line(c) + (timed_out ? watchdog_option(watchdog_s) : "") + "\n" +
                     verdict_line(judgement);
  if (judgement.verdict == Verdict::skipped) return text;
  if (!judgement.worst.empty()) {
    text += judgement.failed > 0 ? "  worst elements:\n" : "  worst element:\n";
    for (const Suspect& s : judgement.worst) text += suspect_line(s);
  }
  for (const std::string& note : judgement.notes) text += fmt::format("  {}\n", note);
  if (judgement.elements > 0 || judgement.launches > 0) {
    text += fmt::format("  {}\n", counts(judgement));
  }
  if (judgement.advice.elements > 0) {
    text += fmt::format("  advice: {}\n", properties::text(judgement.advice));
  }
  const gpu::Kernel* kernel = gpu::find_kernel(c.operation, c.kernel);
  if (kernel != nullptr) {
    text += fmt::format("  {} declares {}\n", c.kernel, gpu::describe(kernel->numerics));
  }
  return text;
}

std::string failure_report(const Failure& failure, const std::string& again) {
  const Shrunk& shrunk = failure.shrunk;
  std::string text = case_report(shrunk.smallest, shrunk.judgement, failure.watchdog_s);
  if (!shrunk.alone) {
    text +=
        "  this line passes alone: it fails only after other cases in the same process, or not "
        "every time\n";
    if (!again.empty()) text += fmt::format("  again: {}\n", again);
  }
  if (shrunk.steps == 0) {
    if (!shrunk.exhausted) return text;
    return text + fmt::format("  no smaller one among {} cases tried (the search was cut short)\n",
                              shrunk.judgements);
  }
  text += fmt::format("  smallest of {} cases tried{}, {} steps from\n    {}\n", shrunk.judgements,
                      shrunk.exhausted ? " (the search was cut short)" : "", shrunk.steps,
                      print(failure.found));
  return text;
}

std::string campaign_again(const CampaignOptions& options, const CampaignResult& result,
                           const Failure* failure) {
  std::string text;
  const bool listed = !options.from.empty();
  const char* folder = options.fixtures && !listed ? fixtures_asked() : nullptr;
  if (folder != nullptr) text += fmt::format("HALFULP_FIXTURES={} ", shell_quoted(folder));
  text += "halfulp check";
  for (const std::string& filter : options.filters) text += " " + shell_quoted(filter);
  for (const gpu::Backend backend : options.backends) {
    text += fmt::format(" --backend {}", gpu::name(backend));
  }
  if (listed) {
    text += fmt::format(" --from {}", shell_quoted(options.from));
  } else {
    text += fmt::format(" --seed {:#x} --cases {}", options.seed, result.generated);
    if (!options.fixtures) text += " --no-fixtures";
  }
  text += watchdog_option(options.watchdog_s);
  if (failure != nullptr) {  // which cases a process has judged before depends on their number
    const bool cuda = failure->found.text("backend") == gpu::name(gpu::Backend::cuda);
    const bool bounded = cuda && options.jobs == 0;
    text +=
        fmt::format(" --jobs {}", bounded ? std::min(result.jobs, kDeviceJobsMost) : result.jobs);
  }
  return text;
}

std::string campaign_table(const CampaignResult& result) {
  std::vector<std::vector<std::string>> rows{{"kernel", "backend", "cases", "pass", "fail",
                                              "faulted", "skipped", "powerless",
                                              "worst error/bound"}};
  const auto add = [&](std::string kernel, std::string backend, const Row& row) {
    std::vector<std::string> cells{std::move(kernel), std::move(backend),
                                   std::to_string(row.cases)};
    for (const std::int64_t count : row.count) cells.push_back(std::to_string(count));
    const bool judged = row[Verdict::pass] + row[Verdict::fail] + row[Verdict::powerless] > 0;
    cells.push_back(judged ? ratio_text(row.worst) : "-");
    rows.push_back(std::move(cells));
  };
  for (const Row& row : result.rows) {
    add(row.operation + "/" + row.kernel, std::string(gpu::name(row.backend)), row);
  }
  if (result.rows.size() > 1) add("all", "", result.total);
  return align(rows, 2);
}

std::string campaign_advice(const CampaignResult& result) {
  std::string text;
  for (const Row& row : result.rows) {
    const RowAdvice& advice = row.advice;
    if (advice.beyond_cases == 0) continue;
    text += fmt::format(
        "advice: {}/{} {}: {} elements beyond the statistical bound in {} of {} passing cases "
        "looked at, the worst {} times it: {}\n",
        row.operation, row.kernel, gpu::name(row.backend), advice.beyond, advice.beyond_cases,
        advice.cases, ratio_text(advice.worst), repro_line(*advice.worst_case));
  }
  return text;
}

std::string interruption(const CampaignResult& result) {
  return result.interrupted ? "interrupted: not all cases were judged"
                            : "interrupted while shrinking: all cases were judged";
}

std::string campaign_summary(const CampaignOptions& options, const CampaignResult& result) {
  const Row& total = result.total;
  const double rate = result.seconds > 0 ? static_cast<double>(total.cases) / result.seconds : 0;
  const std::string shrinking =
      result.failures.empty() ? "" : fmt::format("; {:.1f} s of shrinking", result.shrink_seconds);
  std::string text = fmt::format(
      "seed {:#x}: {} cases ({} generated), {} pass, {} fail, {} faulted, {} skipped, {} "
      "powerless; "
      "{} elements, {} evaluated exactly; worst error/bound {}; {:.1f} s, {:.0f} cases/s{}\n",
      options.seed, total.cases, result.generated, total[Verdict::pass], total[Verdict::fail],
      total[Verdict::faulted], total[Verdict::skipped], total[Verdict::powerless], result.elements,
      result.exact_checked, ratio_text(total.worst), result.seconds, rate, shrinking);
  if (total[Verdict::pass] == 0 && result.exit_code() == 3) text += "nothing with power ran\n";
  if (options.fixtures_missing) {
    text += fmt::format("no fixtures: {} holds no case file\n", fixtures_folder());
  }
  if (result.stop_signal != 0) text += interruption(result) + "\n";
  if (options.from.empty()) text += fmt::format("again: {}\n", campaign_again(options, result));
  return text;
}

}  // namespace halfulp::properties
