// halfulp bench.
#include <CLI/CLI.hpp>

#include "apps/command.hpp"

namespace halfulp::apps {

void add_bench(CLI::App&, int&) {}

}  // namespace halfulp::apps
