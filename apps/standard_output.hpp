// What a command prints: on standard output, or the command ends with an error.
//
//   open_closed_streams();     // first of all
//   say("{} cases\n", count);  // as fmt::print
//   require_output();          // what was said is written, or UsageError; cli_main() ends with it
//   flush_output();            // the same without the error: for who still owes a file
//
// A reader that has gone ends the process by SIGPIPE, unless that is ignored: then it is an error.
#pragma once
#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace halfulp::apps {

// Keeps the numbers of closed streams from files and sockets opened later, which would get their
// output. What is written to such a stream stays an error. A limit on the size of files becomes an
// error too, of the one who writes.
void open_closed_streams();

void say_text(std::string_view text);
template <class... Arguments>
void say(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  say_text(fmt::format(format, std::forward<Arguments>(arguments)...));
}
// False once anything was lost.
bool flush_output();
// Throws UsageError then.
void require_output();

}  // namespace halfulp::apps
