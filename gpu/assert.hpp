// A check of our own code that stays in release builds: a wrong kernel gets a verdict, a wrong case
// an error, but a bug in this room ends the process with the condition and its place.
#pragma once
#include <cstdio>
#include <cstdlib>

#define HALFULP_GPU_ASSERT(condition)                                                            \
  do {                                                                                           \
    if (!(condition)) {                                                                          \
      std::fprintf(stderr, "%s:%d: bug in halfulp: not (%s)\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                              \
    }                                                                                            \
  } while (false)
