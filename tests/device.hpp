// What a test that needs a device does where there is none: skips with the reason, or fails under
// HALFULP_REQUIRE_GPU=1. In a fixture's SetUp:
//
//   HALFULP_NEED_DEVICE(gpu::unavailable_reason(gpu::Backend::cuda));
#pragma once
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

// `reason`: empty where the device is present.
#define HALFULP_NEED_DEVICE(reason)                            \
  do {                                                         \
    const std::string missing = (reason);                      \
    if (missing.empty()) break;                                \
    const char* required = std::getenv("HALFULP_REQUIRE_GPU"); \
    if (required != nullptr && std::string(required) == "1") { \
      FAIL() << "HALFULP_REQUIRE_GPU=1, but " << missing;      \
    }                                                          \
    GTEST_SKIP() << missing;                                   \
  } while (false)
