// What a case names, looked up: its operation, kernel, backend and schedule, and whether it can run
// here.
#pragma once
#include <string>

#include "gpu/backend.hpp"
#include "properties/case.hpp"
#include "properties/operation.hpp"

namespace halfulp::properties {

struct Setup {
  const Operation* operation = nullptr;  // never null: parse() and make_case() know operations only
  const gpu::Kernel* kernel = nullptr;   // null: not in the registry, and `skip` says so
  gpu::Backend backend = gpu::Backend::host;
  gpu::Schedule schedule;
  gpu::Numerics numerics;  // what the kernel declares on this backend
  std::string skip;        // why the case cannot run here; empty when it can
};
Setup set_up(const Case& c);

// Words of case lines. Assert that the word is one of the field's.
gpu::Backend backend_of(std::string_view word);
gpu::Format storage_of(std::string_view word);

// Has the kernel an entry point for the backend?
bool built_for(const gpu::Kernel& kernel, gpu::Backend backend);

// Why a case is not for the host executor, or empty: `products` are all that a kernel multiplies,
// and `what` begins the sentence ("its tiles hold").
std::string host_work_error(const Case& c, double products, std::string_view what);

}  // namespace halfulp::properties
