// Dispatch and errors of the command line; see cli.hpp.
#include "apps/cli.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>

#include "apps/command.hpp"

namespace halfulp::apps {

namespace {

constexpr const char* kAbout =
    "halfulp judges GPU kernels against answers that are right to half an ulp.\n\n"
    "A kernel runs on inputs chosen to break it; an exact reference says what is true; a bound "
    "derived\n"
    "from what the kernel declares about its arithmetic says how far a right kernel may be from "
    "it.\n"
    "Every case is one line of text, and `halfulp replay '<line>'` runs it again anywhere.";
constexpr const char* kFooter =
    "\nStart with `halfulp check`. `halfulp COMMAND --help` says more.\n"
    "Exit codes: 0 all passed, 1 a kernel failed or faulted, 2 bad usage or input, 3 nothing with "
    "power ran.";

}  // namespace

properties::Case case_of(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + word;
  properties::Parsed parsed = properties::parse(line);
  if (parsed.error) throw UsageError(parsed.error.what);
  return std::move(parsed.value);
}

std::optional<double> seconds_of(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || !(value > 0) || value > 1e9) return std::nullopt;
  const std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  if (unit.empty() || unit == "s") return value;
  if (unit == "ms") return value / 1000;
  if (unit == "m") return value * 60;
  if (unit == "h") return value * 3600;
  return std::nullopt;
}

int cli_main(int argc, char** argv) {
  int exit_code = kExitPassed;
  CLI::App app(kAbout, "halfulp");
  app.footer(kFooter);
  app.set_version_flag("--version", std::string("halfulp ") + HALFULP_VERSION);
  app.require_subcommand(0, 1);
  app.failure_message([](const CLI::App*, const CLI::Error& e) { return std::string(e.what()); });
  add_check(app, exit_code);
  add_replay(app, exit_code);
  add_explain(app, exit_code);
  add_shrink(app, exit_code);
  add_list(app, exit_code);
  add_bench(app, exit_code);
  try {
    app.parse(argc, argv);
    if (app.get_subcommands().empty()) fmt::print("{}", app.help());
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    fmt::print(stderr, "halfulp: {}\n", error.what());
    return kExitUsage;
  } catch (const UsageError& error) {
    fmt::print(stderr, "halfulp: {}\n", error.what());
    return kExitUsage;
  }
  return exit_code;
}

}  // namespace halfulp::apps
