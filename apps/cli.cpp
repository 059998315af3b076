// Dispatch and errors of the command line; see cli.hpp.
#include "apps/cli.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <new>
#include <sstream>
#include <system_error>

#include "apps/command.hpp"
#include "apps/standard_output.hpp"
#include "properties/operation.hpp"
#include "properties/plan.hpp"

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
    "Exit codes: 0 all passed, 1 a kernel failed or faulted, 2 bad usage, bad input or unwritten "
    "output,\n3 nothing with power ran.";

}  // namespace

properties::Case case_of(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + word;
  if (words.size() == 1 && names_file(line)) {
    throw UsageError(shortened(line) + ": expected a case line; only `halfulp replay` takes files");
  }
  properties::Parsed parsed = properties::parse(properties::without_command(line));
  if (parsed.error) throw UsageError(parsed.error.what);
  return std::move(parsed.value);
}

bool names_file(const std::string& text) {
  if (properties::find_operation(text) != nullptr) return false;
  std::error_code ignored;  // too long a name, a loop of links: no file that could be read
  if (std::filesystem::exists(text, ignored)) return true;
  return text.find(' ') == std::string::npos && text.find_first_of("/.") != std::string::npos;
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

namespace {

// One line, and no byte that a terminal would obey, whatever a file is called or holds. Bytes above
// 0x7f are among those: 0x9b starts an escape sequence, for some terminals within UTF-8 too.
int fail(const std::string& what) {
  std::string line;
  for (const char c : what) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = byte >= 0x20 && byte < 0x7f;
    line += plain ? std::string(1, c) : fmt::format("\\x{:02x}", byte);
  }
  std::signal(SIGPIPE, SIG_IGN);  // the exit code says it too where nobody reads this
  std::fprintf(stderr, "halfulp: %s\n", line.c_str());
  return kExitUsage;
}

// CLI11 would take the next word for the value of "--json=".
void refuse_empty_values(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--") return;
    if (word.starts_with("--") && word.find('=') == word.size() - 1) {
      throw UsageError(std::string(word.substr(0, word.size() - 1)) + ": must not be empty");
    }
  }
}

// CLI11 says of --fields=3 that "fields was given a disallowed flag override".
std::string message_of(const CLI::ParseError& error) {
  constexpr std::string_view kFlag = " was given a disallowed flag override";
  const std::string text = error.what();
  if (!text.ends_with(kFlag)) return text;
  return "--" + text.substr(0, text.size() - kFlag.size()) + ": takes no value";
}

int dispatch(int argc, char** argv) {
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
  add_calibrate(app, exit_code);
  try {
    app.parse(argc, argv);
    if (app.get_subcommands().empty()) say_text(app.help());
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) return fail(message_of(error));
    std::ostringstream asked;  // help, the version
    app.exit(error, asked, asked);
    say_text(asked.str());
  }
  return exit_code;
}

}  // namespace

int cli_main(int argc, char** argv) {
  open_closed_streams();
  try {
    require_output();  // one that is closed is said before anything is run
    refuse_empty_values(argc, argv);
    const int exit_code = dispatch(argc, argv);
    require_output();
    return exit_code;
  } catch (const std::bad_alloc&) {
    return fail("out of memory");
  } catch (const std::filesystem::filesystem_error& error) {
    return fail(error.what());
  } catch (const std::system_error& error) {  // of threads
    return fail("a limit of the system: " + error.code().message());
  } catch (const std::exception& error) {
    return fail(error.what());
  }
}

}  // namespace halfulp::apps
