// halfulp explain: what a case asks and what is true of it.
#include "properties/explain.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>

#include "apps/command.hpp"
#include "apps/option.hpp"

namespace halfulp::apps {

namespace {

// "0:17": output number and row-major index.
reference::Element element_of(const std::string& text) {
  reference::Element element;
  const char* end = text.data() + text.size();
  const auto output = std::from_chars(text.data(), end, element.output);
  const bool colon = output.ec == std::errc{} && output.ptr != end && *output.ptr == ':';
  const auto index = std::from_chars(colon ? output.ptr + 1 : end, end, element.index);
  if (!colon || index.ec != std::errc{} || index.ptr != end) {
    throw UsageError(
        fmt::format("--element {}: expected OUTPUT:INDEX, such as 0:17 for the 18th element of the "
                    "first output",
                    shortened(text)));
  }
  return element;
}

}  // namespace

void add_explain(CLI::App& app, int&) {
  struct Options {
    std::vector<std::string> words;
    std::string element;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "explain", "the inputs of a case, the true answer, the bound and which term of it dominates");
  add_words(*command, "case", options->words, "a case line, quoted or not")->required();
  command
      ->add_option("--element", options->element,
                   "OUTPUT:INDEX to explain; default: the element with the largest bound")
      ->check(not_empty());
  command->callback([options] {
    const properties::Case c = case_of(options->words);
    std::optional<reference::Element> element;
    if (!options->element.empty()) element = element_of(options->element);
    std::string error;
    const std::string text = properties::explanation(c, element, error);
    if (!error.empty()) throw UsageError(error);
    fmt::print("{}", text);
  });
}

}  // namespace halfulp::apps
