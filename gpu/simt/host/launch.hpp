// The launcher of the host build.
#pragma once
#include <cstddef>
#include <source_location>
#include <tuple>

#include "gpu/simt/host/copy.hpp"
#include "gpu/simt/host/vectors.hpp"
#include "gpu/simt/runtime.hpp"
#include "gpu/simt/status.hpp"

namespace halfulp::gpu::simt {
inline namespace HALFULP_SIMT_COPY {

// Runs the whole grid before it returns. `session` is a Session*: its Config chooses the schedule,
// and it keeps the fault. After a fault in a session nothing more is launched in it; the text is
// the fault's.
template <class... Parameters, class... Arguments>
Status launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, std::size_t shared_bytes,
              void* session, Arguments&&... arguments) {
  struct Call {
    void (*kernel)(Parameters...);
    std::tuple<Parameters...> arguments;
  } call{kernel, std::tuple<Parameters...>(static_cast<Parameters>(arguments)...)};
  const auto run_thread = [](void* data) {
    const Call& c = *static_cast<const Call*>(data);
    std::apply(c.kernel, c.arguments);
  };
  return runtime::launch(session, grid, block, shared_bytes, run_thread, &call, sizeof(Call));
}

// How many blocks of this kernel run at once: Config::resident, 0 where not even one can.
template <class... Parameters>
int resident_blocks(void (*)(Parameters...), dim3 block, std::size_t shared_bytes, void* session) {
  return runtime::resident_blocks(session, block, shared_bytes);
}

}  // namespace HALFULP_SIMT_COPY
}  // namespace halfulp::gpu::simt
