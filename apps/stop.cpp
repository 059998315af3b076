// Early ends; see stop.hpp.
#include "apps/stop.hpp"

#include <initializer_list>

namespace halfulp::apps {

namespace {

volatile std::sig_atomic_t stop_signal = 0;

}  // namespace

const volatile std::sig_atomic_t* stop_on_signals() {
  struct sigaction action {};
  action.sa_handler = [](int signal) { stop_signal = signal; };
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  for (const int signal : {SIGINT, SIGTERM}) {
    struct sigaction before {};
    sigaction(signal, nullptr, &before);
    if (before.sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);
  }
  return &stop_signal;
}

int exit_of_signal() { return 128 + stop_signal; }

}  // namespace halfulp::apps
