// The halfulp command.
#include "apps/cli.hpp"

int main(int argc, char** argv) { return halfulp::apps::cli_main(argc, argv); }
