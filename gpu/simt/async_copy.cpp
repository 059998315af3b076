// cp.async: the destination belongs to the copy from its issue to the wait that lands it.
#include <cstring>

#include "gpu/simt/checker.hpp"
#include "gpu/simt/report.hpp"
#include "gpu/simt/scheduler.hpp"

namespace halfulp::gpu::simt::runtime {
namespace {

void land(Launch& launch, AsyncCopy& copy) {
  if (copy.landed) return;
  copy.landed = true;
  const auto bytes = static_cast<std::size_t>(copy.bytes);
  const auto size = static_cast<std::size_t>(copy.size);
  if (launch.checker != nullptr) {
    if (bytes > 0) launch.checker->access(copy.from, bytes, false, copy.site);
    launch.checker->land_copy(copy.to, size, copy.site);
  }
  if (bytes > 0) std::memcpy(copy.to, copy.from, bytes);
  std::memset(static_cast<char*>(copy.to) + bytes, 0, size - bytes);
}

void check_copy(Launch& launch, const AsyncCopy& copy) {
  const auto size = static_cast<std::size_t>(copy.size);
  const auto refuse = [&](FaultKind kind, const char* what) {
    fail(launch, kind, [&] {
      return "cp.async of " + std::to_string(copy.size) + " bytes at " + print(copy.site) + " by " +
             print(*launch.current) + ": " + what;
    });
  };
  if (copy.bytes < 0 || copy.bytes > copy.size) {
    refuse(FaultKind::async_copy, "reads a negative number of bytes or more than it writes");
  }
  if (reinterpret_cast<std::uintptr_t>(copy.to) % size != 0) {
    refuse(FaultKind::misaligned, "the destination is not aligned to its size");
  }
  if (reinterpret_cast<std::uintptr_t>(copy.from) % size != 0) {
    refuse(FaultKind::misaligned, "the source is not aligned to its size");
  }
  if (!launch.current->block->shared.contains(copy.to, size)) {
    refuse(FaultKind::out_of_bounds, "the destination is not in the block's shared memory");
  }
}

}  // namespace

void cp_async(void* shared, const void* global, int size, int bytes, Site site) {
  const OutsideKernel outside;
  Launch& launch = *t_launch;
  AsyncCopy copy{shared, global, size, bytes, site, false};
  check_copy(launch, copy);
  if (launch.checker != nullptr) {
    if (bytes > 0) launch.checker->access(global, static_cast<std::size_t>(bytes), false, site);
    launch.checker->issue_copy(shared, static_cast<std::size_t>(size), site);
  }
  std::memset(shared, 0xFF, static_cast<std::size_t>(size));
  const Landing landing = launch.config.landing;
  if (landing == Landing::at_issue || (landing == Landing::random && launch.random.below(2) == 0)) {
    land(launch, copy);
  }
  launch.current->copies.copies.push_back(copy);
}

void cp_async_commit() {
  const OutsideKernel outside;
  AsyncCopies& copies = t_launch->current->copies;
  copies.group_ends.push_back(copies.copies.size());
}

void cp_async_wait(int groups_pending) {
  const OutsideKernel outside;
  Launch& launch = *t_launch;
  AsyncCopies& copies = launch.current->copies;
  while (copies.group_ends.size() - copies.groups_waited >
         static_cast<std::size_t>(groups_pending)) {
    const std::size_t begin =
        copies.groups_waited == 0 ? 0 : copies.group_ends[copies.groups_waited - 1];
    const std::size_t end = copies.group_ends[copies.groups_waited++];
    for (std::size_t i = begin; i < end; ++i) land(launch, copies.copies[i]);
  }
  if (copies.groups_waited == copies.group_ends.size() &&
      (copies.group_ends.empty() || copies.group_ends.back() == copies.copies.size())) {
    copies.clear();
  }
}

}  // namespace halfulp::gpu::simt::runtime
