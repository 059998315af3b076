// Standard output; see standard_output.hpp.
#include "apps/standard_output.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>

#include "apps/command.hpp"

namespace halfulp::apps {

namespace {

bool closed_at_start = false;
std::string first_failure;  // what was lost stays lost, whatever is written later

void lose(int why) {
  if (!first_failure.empty()) return;
  first_failure = why != 0 ? std::strerror(why) : "not all of it could be written";
}

}  // namespace

void open_closed_streams() {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
    if (fcntl(stream, F_GETFD) >= 0) continue;
    closed_at_start |= stream == STDOUT_FILENO;
    open("/dev/null", O_RDONLY);  // takes the lowest free number; to write there stays an error
  }
  std::signal(SIGXFSZ, SIG_IGN);
}

void say_text(std::string_view text) {
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) lose(errno);
}

bool flush_output() {
  if (closed_at_start) first_failure = "is closed; >/dev/null throws it away";
  errno = 0;
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) lose(errno);
  return first_failure.empty();
}

void require_output() {
  if (!flush_output()) throw UsageError("standard output: " + first_failure);
}

}  // namespace halfulp::apps
