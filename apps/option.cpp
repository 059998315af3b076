// Values of the command line; see option.hpp.
#include "apps/option.hpp"

#include <fmt/format.h>

#include <charconv>

#include "apps/command.hpp"
#include "properties/fields.hpp"

namespace halfulp::apps {

namespace {

template <class Number>
bool read(const std::string& text, Number& value) {
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  return error == std::errc{} && rest == end;
}

}  // namespace

std::string shortened(const std::string& text) { return properties::shown(text); }

CLI::Option* add_words(CLI::App& command, const std::string& name, std::vector<std::string>& words,
                       const std::string& help) {
  const auto take = [&words](const CLI::results_t& results) {
    words = results;
    return true;
  };
  // allow_extra_args() is how CLI11 takes many, and what makes it look for brackets; a large number
  // that it expects and does not enforce (TakeAll) does without.
  constexpr int kExpected = 1 << 20;
  return command.add_option(name, CLI::callback_t(take), help)
      ->type_name("TEXT")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)  // first: it would lower the next
      ->expected(kExpected, CLI::detail::expected_max_vector_size)
      ->allow_extra_args(false);
}

CLI::Validator whole(std::int64_t low, std::int64_t high) {
  const auto check = [low, high](std::string& text) -> std::string {
    std::int64_t value = 0;
    if (!read(text, value) || value < low || value > high) {
      return fmt::format("{}: expected an integer from {} to {}", shortened(text), low, high);
    }
    text = std::to_string(value);
    return {};
  };
  return CLI::Validator(check, fmt::format("in {} to {}", low, high));
}

CLI::Validator real(double low, double high) {
  const auto check = [low, high](std::string& text) -> std::string {
    double value = 0;
    if (read(text, value) && value >= low && value <= high) return {};
    return fmt::format("{}: expected a number from {} to {}", shortened(text), low, high);
  };
  return CLI::Validator(check, fmt::format("in {} to {}", low, high));
}

CLI::Validator not_empty() {
  const auto check = [](std::string& text) -> std::string {
    return text.empty() ? "must not be empty" : "";
  };
  return CLI::Validator(check, "");
}

}  // namespace halfulp::apps
