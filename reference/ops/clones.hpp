// HALFULP_CLONES before a function: also compiled for AVX2, chosen when the program starts. The
// values are the same, since products are not contracted (-ffp-contract=off) and no sum is
// reordered.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define HALFULP_CLONES __attribute__((target_clones("default", "avx2")))
#else
#define HALFULP_CLONES
#endif
