// Look-ups of a case; see setup.hpp.
#include "properties/setup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "properties/assert.hpp"

namespace halfulp::properties {

namespace {

gpu::Order order_of(std::string_view word) {
  for (const gpu::Order order :
       {gpu::Order::round_robin, gpu::Order::reverse, gpu::Order::burst, gpu::Order::exhaustive}) {
    if (gpu::name(order) == word) return order;
  }
  HALFULP_ASSERT(false, word);
  return gpu::Order::round_robin;
}

std::string skip_reason(const Setup& setup, const Case& c) {
  if (setup.kernel == nullptr) return fmt::format("this build has no kernel {}", c.kernel);
  const std::string unavailable = gpu::unavailable_reason(setup.backend);
  if (!unavailable.empty()) return fmt::format("{}: {}", gpu::name(setup.backend), unavailable);
  if (!built_for(*setup.kernel, setup.backend)) {
    return fmt::format("{} is not built for {}", c.kernel, gpu::name(setup.backend));
  }
  const gpu::Format storage = storage_of(c.text("in"));
  if (std::ranges::find(setup.kernel->storage, storage) == setup.kernel->storage.end()) {
    return fmt::format("{} does not take {} storage", c.kernel, c.text("in"));
  }
  const Unsuitable unsuitable = setup.operation->unsuitable;
  return unsuitable == nullptr ? std::string() : unsuitable(c);
}

}  // namespace

gpu::Backend backend_of(std::string_view word) {
  for (int i = 0; i < gpu::kBackends; ++i) {
    if (gpu::name(static_cast<gpu::Backend>(i)) == word) return static_cast<gpu::Backend>(i);
  }
  HALFULP_ASSERT(false, word);
  return gpu::Backend::host;
}

gpu::Format storage_of(std::string_view word) {
  for (const gpu::Format format : {gpu::Format::f64, gpu::Format::f32, gpu::Format::tf32,
                                   gpu::Format::f16, gpu::Format::bf16}) {
    if (gpu::name(format) == word) return format;
  }
  HALFULP_ASSERT(false, word);
  return gpu::Format::f32;
}

bool built_for(const gpu::Kernel& kernel, gpu::Backend backend) {
  return kernel.entry[static_cast<std::size_t>(backend)] != nullptr;
}

// Some 2^29 products a second, and 2^26 of fp32 where each access is checked.
std::string host_work_error(const Case& c, double products, std::string_view what) {
  const gpu::Backend backend = backend_of(c.text("backend"));
  if (backend == gpu::Backend::cuda) return {};
  const double most = backend == gpu::Backend::host ? 0x1p31 : 0x1p28;
  if (products <= most) return {};
  return fmt::format("{} 2^{} products, and backend {} takes up to 2^{}; cuda takes them all", what,
                     std::ilogb(products), gpu::name(backend), std::ilogb(most));
}

Setup set_up(const Case& c) {
  Setup setup;
  setup.operation = find_operation(c.operation);
  HALFULP_ASSERT(setup.operation != nullptr, c.operation);
  setup.kernel = gpu::find_kernel(c.operation, c.kernel);
  setup.backend = backend_of(c.text("backend"));
  setup.schedule.order = order_of(c.text("order"));
  setup.schedule.resident = static_cast<int>(c.integer("resident"));
  setup.schedule.seed = c.seed();
  setup.skip = skip_reason(setup, c);
  if (setup.kernel != nullptr) {
    // Also where the case cannot run: the truth and its bound can be asked for.
    const bool present = gpu::available(setup.backend);
    setup.numerics = gpu::numerics_on(*setup.kernel, present ? setup.backend : gpu::Backend::host);
  }
  return setup;
}

}  // namespace halfulp::properties
