// Early ends; see stop.hpp.
#include "apps/stop.hpp"

#include <ctime>
#include <initializer_list>

namespace halfulp::apps {

namespace {

volatile std::sig_atomic_t stop_signal = 0;
timespec first_came{};  // read and written by the handler alone, which does not interrupt itself

double seconds_since_first() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec - first_came.tv_sec) +
         1e-9 * static_cast<double>(now.tv_nsec - first_came.tv_nsec);
}

void stop(int signal) {
  constexpr double kOneRequest_s = 1;
  if (stop_signal == 0) {
    clock_gettime(CLOCK_MONOTONIC, &first_came);
    stop_signal = signal;
  } else if (seconds_since_first() >= kOneRequest_s) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);  // comes when this handler returns
  }
}

}  // namespace

const volatile std::sig_atomic_t* stop_on_signals() {
  struct sigaction action {};
  action.sa_handler = stop;
  action.sa_flags = SA_RESTART;
  sigaddset(&action.sa_mask, SIGINT);
  sigaddset(&action.sa_mask, SIGTERM);
  for (const int signal : {SIGINT, SIGTERM}) {
    struct sigaction before {};
    sigaction(signal, nullptr, &before);
    if (before.sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);
  }
  return &stop_signal;
}

int exit_of_signal() { return 128 + stop_signal; }

}  // namespace halfulp::apps
