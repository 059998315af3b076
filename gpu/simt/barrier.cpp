// __syncthreads and its reductions. Threads that have ended do not count (Volta's rule).
#include <cstring>

#include "gpu/simt/checker.hpp"
#include "gpu/simt/report.hpp"
#include "gpu/simt/scheduler.hpp"

namespace halfulp::gpu::simt {
namespace {

const char* name(runtime::Barrier kind) {
  switch (kind) {
    case runtime::Barrier::plain:
      return "__syncthreads";
    case runtime::Barrier::count:
      return "__syncthreads_count";
    case runtime::Barrier::all:
      return "__syncthreads_and";
    case runtime::Barrier::any:
      return "__syncthreads_or";
  }
  return "";
}

bool same(const Site& a, const Site& b) {
  return a.line() == b.line() && a.column() == b.column() &&
         (a.file_name() == b.file_name() || std::strcmp(a.file_name(), b.file_name()) == 0);
}

}  // namespace

void release_barrier(Launch& launch, Block& block, const Thread* except) {
  BarrierState& barrier = block.barrier;
  switch (barrier.kind) {
    case runtime::Barrier::plain:
      barrier.result = 0;
      break;
    case runtime::Barrier::count:
      barrier.result = static_cast<int>(barrier.count);
      break;
    case runtime::Barrier::all:
      barrier.result = barrier.count == barrier.arrived;
      break;
    case runtime::Barrier::any:
      barrier.result = barrier.count > 0;
      break;
  }
  barrier.arrived = 0;
  barrier.count = 0;
  ++launch.events;
  ++launch.session.counters().barriers;
  if (launch.checker != nullptr) launch.checker->sync_block(block.slot);
  for (unsigned w = 0; w < launch.warps_per_block; ++w) {
    Warp& warp = block.warps[w];
    Mask lanes = warp.at_barrier;
    warp.at_barrier = 0;
    for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<unsigned>(__builtin_ctz(rest));
      block.threads[w * kWarpLanes + lane].wait = Wait::none;
    }
    if (except != nullptr && except->warp() == w) lanes &= ~except->bit();
    if (lanes != 0) make_ready(block, w, lanes);
  }
}

namespace runtime {

int barrier(Barrier kind, int predicate, Site site) {
  const OutsideKernel outside;
  Launch& launch = *t_launch;
  Thread& thread = *launch.current;
  Block& block = *thread.block;
  BarrierState& barrier = block.barrier;
  if (barrier.arrived == 0) {
    barrier.kind = kind;
    barrier.site = site;
  } else if (barrier.kind != kind || !same(barrier.site, site)) {
    fail(launch, FaultKind::divergence, [&] {
      return "divergent barrier: " + print(thread) + " reached " + name(kind) + " at " +
             print(site) + " while other threads of the block wait in " + name(barrier.kind) +
             " at " + print(barrier.site);
    });
  }
  barrier.count += predicate != 0;
  thread.wait = Wait::barrier;
  thread.operation = name(kind);
  thread.site = site;
  block.warps[thread.warp()].at_barrier |= thread.bit();
  if (++barrier.arrived < block.live) {
    suspend(launch);
  } else if (launch.config.order == Order::round_robin ||
             launch.config.order == Order::exhaustive) {
    release_barrier(launch, block, &thread);  // the last to arrive goes on at once
  } else {
    release_barrier(launch, block, nullptr);
    suspend(launch);
  }
  return barrier.result;
}

void fence(Scope scope) {
  const OutsideKernel outside;
  if (t_launch->checker != nullptr) t_launch->checker->fence(scope);
}

}  // namespace runtime
}  // namespace halfulp::gpu::simt
