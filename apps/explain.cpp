// halfulp explain: what a case asks and what is true of it.
#include "properties/explain.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <new>

#include "apps/command.hpp"
#include "apps/option.hpp"
#include "apps/standard_output.hpp"
#include "properties/process.hpp"

namespace halfulp::apps {

namespace {

struct Options {
  std::vector<std::string> words;
  std::string element;
  double watchdog_s = 20;
};

// In a process of its own, as a large case takes long.
void explain(const Options& options) {
  const properties::Case c = case_of(options.words);
  constexpr char kRight = '+', kWrong = '-';  // the first byte of what the process says
  const auto explained = [&]() -> std::string {
    try {
      std::string error;
      const std::string text = properties::explanation(c, options.element, error);
      return error.empty() ? kRight + text : kWrong + error;
    } catch (const std::bad_alloc&) {
      return kWrong + std::string("not enough memory for this case here");
    }
  };
  std::string error;
  const auto said = properties::run_apart(explained, options.watchdog_s, error);
  if (!said || said->empty()) {
    throw UsageError(fmt::format("explain: {}; --watchdog gives it more time", error));
  }
  if (said->front() != kRight) throw UsageError(said->substr(1));
  say_text(std::string_view(*said).substr(1));
}

}  // namespace

void add_explain(CLI::App& app, int&) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "explain", "the inputs of a case, the true answer, the bound and which term of it dominates");
  add_words(*command, "case", options->words, "a case line, quoted or not")->required();
  command
      ->add_option("--element", options->element,
                   "to explain: c[1,17] as reports name it, or OUTPUT:INDEX; default: the one "
                   "with the largest bound")
      ->check(not_empty());
  command->add_option("--watchdog", options->watchdog_s, "seconds after which it is given up")
      ->check(real(kSecondsMin, kSecondsMax))
      ->capture_default_str();
  command->callback([options] { explain(*options); });
}

}  // namespace halfulp::apps
