// Runs the halfulp command as its users do: a process with arguments, an exit code and two streams.
#pragma once
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

namespace command_test {

struct Ran {
  int exit_code = -1;
  std::string out;
  std::string err;
  double seconds = 0;
};

inline std::string contents(const std::string& file) {
  std::ifstream stream(file);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

inline Ran run(const std::string& command, const std::string& arguments) {
  const std::string errors = ::testing::TempDir() + "/cli_test_stderr." + std::to_string(getpid());
  const auto start = std::chrono::steady_clock::now();
  FILE* pipe = popen((command + " 2>" + errors + " </dev/null " + arguments).c_str(), "r");
  Ran result;
  std::array<char, 4096> chunk{};
  for (std::size_t n = 0; (n = fread(chunk.data(), 1, chunk.size(), pipe)) > 0;) {
    result.out.append(chunk.data(), n);
  }
  const int status = pclose(pipe);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  result.err = contents(errors);
  std::remove(errors.c_str());
  return result;
}

Ran halfulp(const std::string& arguments);
Ran fakes(const std::string& arguments);  // the one with the kernels of tests/properties/fakes.hpp

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// One line on stderr that names the culprit, exit code 2, nothing on stdout, at once.
inline void expect_usage_error(const std::string& arguments, const std::string& culprit) {
  const Ran result = halfulp(arguments);
  EXPECT_EQ(result.exit_code, 2) << arguments;
  EXPECT_EQ(result.out, "") << arguments;
  EXPECT_EQ(result.err.find("halfulp: "), 0u) << arguments << ": " << result.err;
  EXPECT_TRUE(has(result.err, culprit)) << arguments << ": " << result.err;
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  EXPECT_LT(result.seconds, 2) << arguments;  // milliseconds, on a machine that is not busy
}

}  // namespace command_test
