// The name of this compiled copy of the surface; see simt.cuh on HALFULP_BUILD.
//
//   inline namespace HALFULP_SIMT_COPY { ... }
//
// Functions of two copies (one instrumented, one not) must not have the same symbol: the linker
// would keep either one, and plain kernels would run instrumented code or, worse, checked kernels
// plain code.
#pragma once

#ifndef HALFULP_BUILD
#define HALFULP_BUILD host
#endif
#define HALFULP_SIMT_JOIN_(a, b) a##b
#define HALFULP_SIMT_JOIN(a, b) HALFULP_SIMT_JOIN_(a, b)
#define HALFULP_SIMT_COPY HALFULP_SIMT_JOIN(simt_copy_, HALFULP_BUILD)
