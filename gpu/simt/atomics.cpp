// Atomics, acquire loads and release stores. Fibers of one OS thread never run at once, so each is
// a plain operation followed by a scheduling point.
#include <cstring>
#include <type_traits>

#include "gpu/simt/checker.hpp"
#include "gpu/simt/report.hpp"
#include "gpu/simt/scheduler.hpp"

namespace halfulp::gpu::simt::runtime {
namespace {

// Adding as float rounds twice, and yet as once: 24 bits are at least twice the format's and two
// more, and what is subnormal in the format is exact in float.
__half apply(Atomic, __half old, __half operand, __half) {
  return __float2half_rn(__half2float(old) + __half2float(operand));
}
__nv_bfloat16 apply(Atomic, __nv_bfloat16 old, __nv_bfloat16 operand, __nv_bfloat16) {
  return __float2bfloat16_rn(__bfloat162float(old) + __bfloat162float(operand));
}

template <class T>
T apply(Atomic operation, T old, T operand, T compare) {
  switch (operation) {
    case Atomic::add:
      if constexpr (std::is_integral_v<T>) {  // wraps
        using Unsigned = std::make_unsigned_t<T>;
        return static_cast<T>(static_cast<Unsigned>(old) + static_cast<Unsigned>(operand));
      }
      return static_cast<T>(old + operand);
    case Atomic::exchange:
      return operand;
    case Atomic::maximum:
      return old < operand ? operand : old;
    case Atomic::minimum:
      return operand < old ? operand : old;
    case Atomic::compare_exchange:
      return old == compare ? operand : old;
    case Atomic::bit_and:
      if constexpr (std::is_integral_v<T>) return old & operand;
      break;
    case Atomic::bit_or:
      if constexpr (std::is_integral_v<T>) return old | operand;
      break;
  }
  return old;
}

void require_aligned(Launch& launch, const void* address, std::size_t bytes, Site site) {
  if (reinterpret_cast<std::uintptr_t>(address) % bytes == 0) return;
  fail(launch, FaultKind::misaligned, [&] {
    return "atomic of " + std::to_string(bytes) + " bytes at " + print(site) + " by " +
           print(*launch.current) + ": the address is not aligned to its size";
  });
}

}  // namespace

template <class T>
T atomic(T* address, Atomic operation, T operand, T compare, Site site) {
  const OutsideKernel outside;
  Launch& launch = *t_launch;
  require_aligned(launch, address, sizeof(T), site);
  if (launch.checker != nullptr) {
    launch.checker->atomic(address, sizeof(T), operation != Atomic::exchange, site);
  }
  const T old = *address;
  const T updated = apply(operation, old, operand, compare);
  *address = updated;
  after_atomic(launch, address, std::memcmp(&old, &updated, sizeof(T)) != 0, site);
  return old;
}

template <class Pair>
Pair atomic_add_pair(Pair* address, Pair operand, Site site) {
  {
    const OutsideKernel outside;
    require_aligned(*t_launch, address, sizeof(Pair), site);
  }
  const auto low = atomic(&address->x, Atomic::add, operand.x, {}, site);
  const auto high = atomic(&address->y, Atomic::add, operand.y, {}, site);
  return {low, high};
}

template __half2 atomic_add_pair(__half2*, __half2, Site);
template __nv_bfloat162 atomic_add_pair(__nv_bfloat162*, __nv_bfloat162, Site);
template __half atomic(__half*, Atomic, __half, __half, Site);
template __nv_bfloat16 atomic(__nv_bfloat16*, Atomic, __nv_bfloat16, __nv_bfloat16, Site);
template int atomic(int*, Atomic, int, int, Site);
template unsigned atomic(unsigned*, Atomic, unsigned, unsigned, Site);
template unsigned long long atomic(unsigned long long*, Atomic, unsigned long long,
                                   unsigned long long, Site);
template float atomic(float*, Atomic, float, float, Site);
template double atomic(double*, Atomic, double, double, Site);

unsigned load_acquire(const unsigned* address, Site site) {
  const OutsideKernel outside;
  Launch& launch = *t_launch;
  require_aligned(launch, address, sizeof(unsigned), site);
  after_atomic(launch, address, false, site);  // before the load, so that its value is current
  if (launch.checker != nullptr) launch.checker->load_acquire(address, site);
  return *address;
}

void store_release(unsigned* address, unsigned value, Site site) {
  const OutsideKernel outside;
  Launch& launch = *t_launch;
  require_aligned(launch, address, sizeof(unsigned), site);
  if (launch.checker != nullptr) launch.checker->store_release(address, site);
  *address = value;
  after_atomic(launch, address, true, site);
}

}  // namespace halfulp::gpu::simt::runtime
