// What the commands of the command line share. Each one adds itself to the app; its callback leaves
// the exit code, or throws UsageError.
#pragma once
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "properties/case.hpp"

namespace CLI {
class App;
}

namespace halfulp::apps {

constexpr int kExitPassed = 0;
constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;
constexpr int kExitPowerless = 3;

// A mistake of the user's: one line that names the option, the field or the file, and says what is
// accepted.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

void add_list(CLI::App& app, int& exit_code);
void add_check(CLI::App& app, int& exit_code);
void add_replay(CLI::App& app, int& exit_code);
void add_shrink(CLI::App& app, int& exit_code);
void add_explain(CLI::App& app, int& exit_code);
void add_bench(CLI::App& app, int& exit_code);
void add_calibrate(CLI::App& app, int& exit_code);

// The case that the words of a line make, quoted as one argument or not. Throws UsageError.
properties::Case case_of(const std::vector<std::string>& words);

// Is the text the path of a file, and no case line? One that looks like a path is, present or not.
bool names_file(const std::string& text);

// The text, or its start when it is long, without control bytes: what messages show of an argument.
std::string shortened(const std::string& text);

// "30s", "2m", "1h", "250ms" or plain seconds; nothing when it is none of these or not above 0.
std::optional<double> seconds_of(std::string_view text);

}  // namespace halfulp::apps
