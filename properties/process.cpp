// Child processes; see process.hpp.
#include "properties/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "properties/assert.hpp"
#include "properties/deadline.hpp"

namespace halfulp::properties {

namespace {

// Sockets of the parent's side: a new child closes those of its siblings, so that each socket ends
// with the two processes it joins.
std::vector<int>& parent_sockets() {
  static std::vector<int> sockets;
  return sockets;
}

[[noreturn]] void run_child(const std::function<void(int)>& body, int socket, int output,
                            pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, SIG_IGN);
  for (const int other : parent_sockets()) close(other);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  if (output < 0) output = open("/dev/null", O_WRONLY | O_CLOEXEC);
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
    if (dup2(output, stream) < 0) close(stream);  // never the parent's own
  }
  body(socket);
  std::fflush(nullptr);
  _exit(0);
}

bool send_text(int socket, const std::string& text) {
  std::size_t sent = 0;
  while (sent < text.size()) {
    const ssize_t n = send(socket, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    sent += static_cast<std::size_t>(n);
  }
  return true;
}

std::string describe_end(int status) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    const char* abbreviation = sigabbrev_np(signal);
    return fmt::format("killed by SIG{} ({})", abbreviation != nullptr ? abbreviation : "?",
                       strsignal(signal));
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) != 0) {
    return fmt::format("exited with {}", WEXITSTATUS(status));
  }
  return {};
}

// A limit of the user's (processes, open files), not a bug of ours.
[[noreturn]] void cannot_start() {
  throw std::runtime_error(fmt::format("cannot start another worker process: {}; try fewer --jobs",
                                       std::strerror(errno)));
}

}  // namespace

Process::~Process() {
  if (running()) {
    kill();
    end();
  }
  if (output_ >= 0) close(output_);
}

void Process::start(const std::function<void(int)>& body) {
  HALFULP_ASSERT(!running(), "started twice");
  if (output_ < 0) output_ = memfd_create("halfulp_child_output", MFD_CLOEXEC);
  forget_output();
  int pair[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) cannot_start();
  std::fflush(nullptr);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ < 0) {
    const int why = errno;
    close(pair[0]);
    close(pair[1]);
    errno = why;
    cannot_start();
  }
  if (pid_ == 0) {
    close(pair[0]);
    run_child(body, pair[1], output_, parent);
  }
  close(pair[1]);
  socket_ = pair[0];
  parent_sockets().push_back(socket_);
}

void Process::kill() {
  if (running()) ::kill(pid_, SIGKILL);
}

std::string Process::end() {
  if (!running()) return {};
  close(socket_);
  std::erase(parent_sockets(), socket_);
  socket_ = -1;
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  signal_ = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  return describe_end(status);
}

void Process::forget_output() {
  if (output_ < 0) return;
  if (ftruncate(output_, 0) == 0) lseek(output_, 0, SEEK_SET);
}

std::string Process::output_tail(std::size_t characters_max) const {
  if (output_ < 0) return {};
  const off_t size = lseek(output_, 0, SEEK_END);
  const off_t start = std::max<off_t>(0, size - static_cast<off_t>(characters_max));
  std::string text(static_cast<std::size_t>(std::max<off_t>(0, size - start)), '\0');
  const ssize_t got = pread(output_, text.data(), text.size(), start);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, got)));
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

std::optional<std::string> run_apart(const std::function<std::string()>& body, double watchdog_s,
                                     std::string& error) {
  constexpr int kSlice_ms = 100;
  Process process;
  process.start([&](int socket) { send_text(socket, body()); });
  std::string text;
  const Clock::duration patience = limit(watchdog_s);
  Clock::duration waited{};  // this process being stopped counts as one slice
  for (;;) {
    pollfd ready{process.socket(), POLLIN, 0};
    const Clock::time_point before = Clock::now();
    poll(&ready, 1, kSlice_ms);
    if (ready.revents != 0) {
      char chunk[1 << 12];
      const ssize_t n = recv(process.socket(), chunk, sizeof chunk, 0);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) break;
      text.append(chunk, static_cast<std::size_t>(n));
    }
    waited +=
        std::min<Clock::duration>(Clock::now() - before, std::chrono::milliseconds(2 * kSlice_ms));
    if (waited < patience) continue;
    error = fmt::format("not done within {:g} s", watchdog_s);
    return std::nullopt;
  }
  const std::string how = process.end();
  if (how.empty()) return text;
  error = fmt::format("{}: {}", how, process.output_tail(400));
  return std::nullopt;
}

bool send_line(int socket, const std::string& line) { return send_text(socket, line + "\n"); }

LineReader::State LineReader::read(int socket, std::string& line) {
  char chunk[4096];  // more waits in the socket
  ssize_t n = 0;
  if (buffer_.find('\n') == std::string::npos) {
    do {
      n = recv(socket, chunk, sizeof chunk, 0);
    } while (n < 0 && errno == EINTR);
    if (n <= 0) return State::closed;
    buffer_.append(chunk, static_cast<std::size_t>(n));
  }
  const std::size_t end = buffer_.find('\n');
  if (end == std::string::npos) return State::pending;
  line = buffer_.substr(0, end);
  buffer_.erase(0, end + 1);
  return State::line;
}

}  // namespace halfulp::properties
