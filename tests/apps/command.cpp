// Where the build put the commands; see command.hpp.
#include "tests/apps/command.hpp"

namespace command_test {

Ran halfulp(const std::string& arguments) { return run(HALFULP_COMMAND, arguments); }
Ran fakes(const std::string& arguments) { return run(HALFULP_FAKES_COMMAND, arguments); }

}  // namespace command_test
