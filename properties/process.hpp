// A child process that answers over a socket: a fork that runs `body` and exits.
//
// It ignores SIGINT and SIGTERM, which terminals and `timeout` send to a whole group: this process
// decides when it ends, and when this process ends, whatever the reason, the child is killed.
//
//   Process process;
//   process.start([](int socket) { ... });      // in the child
//   send_line(process.socket(), "text");        // both sides speak in lines
//   std::string how = process.end();            // "killed by SIGSEGV (...)", "exited with 3"
//   std::string said = process.output_tail(9);  // the last of what it printed, which is not shown
#pragma once
#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>

namespace halfulp::properties {

class Process {
 public:
  Process() = default;
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // Asserts that the system has a process and a socket left. Children started later do not hold
  // this socket.
  void start(const std::function<void(int socket)>& body);
  bool running() const { return pid_ > 0; }
  int socket() const { return socket_; }

  void kill();                            // SIGKILL; end() is still to be called
  int signal() const { return signal_; }  // that ended it, as end() found; 0: none
  std::string end();     // closes the socket, waits, and says how it ended; empty: exited with 0
  void forget_output();  // output_tail() starts anew
  std::string output_tail(std::size_t characters_max) const;

 private:
  pid_t pid_ = -1;
  int socket_ = -1;
  int signal_ = 0;
  int output_ = -1;  // a memory file that holds what the child prints
};

// What `body` returns, run in a process of its own. nullopt when it is not done in time, and when
// it ends its process: `error` says which. Time in which this process is stopped does not count.
std::optional<std::string> run_apart(const std::function<std::string()>& body, double watchdog_s,
                                     std::string& error);

// False when the other side has gone.
bool send_line(int socket, const std::string& line);

// Cuts a stream into lines.
class LineReader {
 public:
  enum class State { line, pending, closed };
  // Reads once from the socket (blocking unless poll() said otherwise); a whole line is moved to
  // `line`.
  State read(int socket, std::string& line);
  void clear() { buffer_.clear(); }

 private:
  std::string buffer_;
};

}  // namespace halfulp::properties
