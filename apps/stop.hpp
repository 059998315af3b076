// The first SIGINT or SIGTERM asks a command to end early and still report what it has done; one
// that comes a second or more later ends the process at once. (`timeout` sends its signal twice, to
// the command and to the group that the command is in.)
//
//   const volatile std::sig_atomic_t* stop = stop_on_signals();
//   while (*stop == 0 && ...) ...
//   return *stop != 0 ? exit_of_signal() : ...
//
// Worker processes ignore both signals, which terminals send to them too (properties/process.hpp).
#pragma once
#include <csignal>

namespace halfulp::apps {

// Not 0 once a signal has come. Signals that are ignored stay so.
const volatile std::sig_atomic_t* stop_on_signals();

// 130 or 143, as shells say it.
int exit_of_signal();

}  // namespace halfulp::apps
