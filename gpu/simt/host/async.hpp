// cp.async for the host build. A copy lands when Config::landing says, at the latest in
// cp_async_wait; until then its destination holds NaN patterns. Source and destination must be
// aligned to the copy's size.
#pragma once
#include <source_location>

#include "gpu/simt/host/copy.hpp"
#include "gpu/simt/runtime.hpp"

namespace halfulp::gpu::simt {
inline namespace HALFULP_SIMT_COPY {

inline void cp_async_16(void* shared, const void* global, int bytes = 16,
                        std::source_location site = std::source_location::current()) {
  runtime::cp_async(shared, global, 16, bytes, site);
}
inline void cp_async_8(void* shared, const void* global, int bytes = 8,
                       std::source_location site = std::source_location::current()) {
  runtime::cp_async(shared, global, 8, bytes, site);
}
inline void cp_async_4(void* shared, const void* global, int bytes = 4,
                       std::source_location site = std::source_location::current()) {
  runtime::cp_async(shared, global, 4, bytes, site);
}
inline void cp_async_commit() { runtime::cp_async_commit(); }
template <int N>
void cp_async_wait() {
  runtime::cp_async_wait(N);
}

}  // namespace HALFULP_SIMT_COPY
}  // namespace halfulp::gpu::simt
