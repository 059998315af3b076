// Values of the command line, beyond what CLI11 reads:
//
//   add_words(*command, "filters", options->filters, "kernels to judge");
//   command->add_option("--jobs", jobs, "workers")->transform(whole(1, 1024));
//   command->add_option("--seconds", seconds, "how long")->check(real(kSecondsMin, kSecondsMax));
//   command->add_option("--json", file, "output")->check(not_empty());
#pragma once
#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace halfulp::apps {

// What times on the command line may be. The upper one, eleven days, fits every clock.
constexpr double kSecondsMin = 0.001;
constexpr double kSecondsMax = 1e6;

// Any number of positional arguments, each taken as it is: CLI11 would read "[a]" and "{}" as
// lists.
CLI::Option* add_words(CLI::App& command, const std::string& name, std::vector<std::string>& words,
                       const std::string& help);

// A decimal integer, low <= value <= high; for transform(), which drops leading zeros, so that
// CLI11 takes 010 for no octal number.
CLI::Validator whole(std::int64_t low, std::int64_t high);
// A number, low <= value <= high, never NaN.
CLI::Validator real(double low, double high);
// An empty text is not the same as none.
CLI::Validator not_empty();

}  // namespace halfulp::apps
