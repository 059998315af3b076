// HALFULP_REQUIRE(condition, "what must hold"): a bug in our own code ends the process here, in
// every build, with file and line. Users' mistakes and kernels' mistakes never come this way.
#pragma once
#include <cstdio>
#include <cstdlib>

#define HALFULP_REQUIRE(condition, message)                                                 \
  do {                                                                                      \
    if (!(condition)) [[unlikely]] {                                                        \
      std::fprintf(stderr, "%s:%d: bug in halfulp: %s (%s)\n", __FILE__, __LINE__, message, \
                   #condition);                                                             \
      std::abort();                                                                         \
    }                                                                                       \
  } while (false)
