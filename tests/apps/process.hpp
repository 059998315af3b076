// The halfulp command as a process that a test has in hand while it runs.
//
//   const pid_t parent = start({HALFULP_COMMAND, "list"});
//   for (const pid_t worker : children_of(parent)) in_time([&] { return gone(worker); });
#pragma once
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/apps/command.hpp"

namespace command_test {

// The command, with descriptors of ours for its output and its errors; without any of them, and as
// its input, it has /dev/null. SIGPIPE ends it, or is ignored.
struct Streams {
  int out = -1;
  int err = -1;
  bool broken_pipe_ends = true;
};
inline pid_t start(const std::vector<std::string>& words, const Streams& streams = {}) {
  const pid_t child = fork();
  if (child != 0) return child;
  const int nowhere = open("/dev/null", O_RDWR);
  dup2(nowhere, STDIN_FILENO);
  dup2(streams.out < 0 ? nowhere : streams.out, STDOUT_FILENO);
  dup2(streams.err < 0 ? nowhere : streams.err, STDERR_FILENO);
  for (int other = STDERR_FILENO + 1; other < 100; ++other) close(other);
  std::signal(SIGPIPE, streams.broken_pipe_ends ? SIG_DFL : SIG_IGN);
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execv(arguments[0], arguments.data());
  _exit(127);
}

inline std::vector<pid_t> children_of(pid_t parent) {
  const std::string process = std::to_string(parent);
  std::ifstream stream("/proc/" + process + "/task/" + process + "/children");
  std::vector<pid_t> children;
  for (pid_t child = 0; stream >> child;) children.push_back(child);
  return children;
}

// Not there, or dead and not yet waited for.
inline bool gone(pid_t process) {
  const std::string stat = contents("/proc/" + std::to_string(process) + "/stat");
  const std::size_t name_end = stat.rfind(") ");
  return name_end == std::string::npos || stat[name_end + 2] == 'Z' || stat[name_end + 2] == 'X';
}

inline bool in_time(const std::function<bool()>& holds) {
  for (int i = 0; i < 100 && !holds(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return holds();
}

}  // namespace command_test
