// HALFULP_ASSERT(condition, "what is wrong"): a bug of ours ends the program, in release builds
// too. Mistakes of users are errors (properties/case.hpp), mistakes of kernels are verdicts
// (properties/check.hpp).
#pragma once
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace halfulp::properties {

[[noreturn]] inline void assertion_failed(const char* file, int line, const char* condition,
                                          std::string_view what) {
  std::fprintf(stderr, "%s:%d: assertion failed: %s: %.*s\n", file, line, condition,
               static_cast<int>(what.size()), what.data());
  std::abort();
}

}  // namespace halfulp::properties

#define HALFULP_ASSERT(condition, what)                                                      \
  ((condition) ? static_cast<void>(0)                                                        \
               : ::halfulp::properties::assertion_failed(__FILE__, __LINE__, #condition, (what)))
