// The command line: `halfulp list | check | replay | shrink | explain | bench | calibrate`.
//
// Exit codes: 0 all passed; 1 a kernel failed or faulted; 2 bad usage or bad input, nothing was
// run, or the output could not be written (standard_output.hpp); 3 nothing with power ran; 130 or
// 143 SIGINT or SIGTERM ended a campaign in which nothing had failed. Errors are one line on stderr
// that starts with "halfulp: ".
#pragma once

namespace halfulp::apps {

int cli_main(int argc, char** argv);

}  // namespace halfulp::apps
