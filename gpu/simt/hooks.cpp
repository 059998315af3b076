// The functions that g++ inserts calls to under -fsanitize=thread, in place of libtsan's. They do
// nothing unless kernel code of a checked launch runs on this OS thread.
#include <cstddef>
#include <cstdint>

#include "gpu/simt/checker.hpp"

namespace halfulp::gpu::simt {
namespace {

// The hooks are called at every access: what is common and cheap comes first, and they must not be
// instrumented or inlined into one another's return addresses.
__attribute__((always_inline)) inline void hook(const void* pointer, std::size_t bytes, bool write,
                                                bool aligned, const void* code) {
  Checker* checker = t_kernel_checker;
  if (checker == nullptr) [[likely]] {
    return;
  }
  t_kernel_checker = nullptr;
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  if (aligned && address % bytes != 0) {
    checker->fail_misaligned(address, bytes, write, Place(code));
  }
  checker->touch(address, bytes, write ? Touch::write : Touch::read, Place(code));
  t_kernel_checker = checker;
}

}  // namespace
}  // namespace halfulp::gpu::simt

extern "C" {

#define HALFULP_HOOK(name, bytes, write, aligned)                                          \
  void name(void* address) {                                                               \
    halfulp::gpu::simt::hook(address, bytes, write, aligned, __builtin_return_address(0)); \
  }
#define HALFULP_HOOKS(n)                                  \
  HALFULP_HOOK(__tsan_read##n, n, false, true)            \
  HALFULP_HOOK(__tsan_write##n, n, true, true)            \
  HALFULP_HOOK(__tsan_volatile_read##n, n, false, true)   \
  HALFULP_HOOK(__tsan_volatile_write##n, n, true, true)   \
  HALFULP_HOOK(__tsan_unaligned_read##n, n, false, false) \
  HALFULP_HOOK(__tsan_unaligned_write##n, n, true, false)
HALFULP_HOOKS(1)
HALFULP_HOOKS(2)
HALFULP_HOOKS(4)
HALFULP_HOOKS(8)
HALFULP_HOOKS(16)
#undef HALFULP_HOOKS
#undef HALFULP_HOOK

void __tsan_read_range(void* address, std::size_t bytes) {
  halfulp::gpu::simt::hook(address, bytes, false, false, __builtin_return_address(0));
}
void __tsan_write_range(void* address, std::size_t bytes) {
  halfulp::gpu::simt::hook(address, bytes, true, false, __builtin_return_address(0));
}

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_read(void**) {}
void __tsan_vptr_update(void**, void*) {}

// Host code in kernel sources (and in library templates that the linker merged with theirs) may use
// std::atomic: these keep it working, unchecked. Every order is served by the strongest.
#define HALFULP_ATOMIC_HOOKS(n, T)                                                                \
  T __tsan_atomic##n##_load(const volatile T* p, int) { return __atomic_load_n(p, 5); }           \
  void __tsan_atomic##n##_store(volatile T* p, T v, int) { __atomic_store_n(p, v, 5); }           \
  T __tsan_atomic##n##_exchange(volatile T* p, T v, int) { return __atomic_exchange_n(p, v, 5); } \
  T __tsan_atomic##n##_fetch_add(volatile T* p, T v, int) { return __atomic_fetch_add(p, v, 5); } \
  T __tsan_atomic##n##_fetch_sub(volatile T* p, T v, int) { return __atomic_fetch_sub(p, v, 5); } \
  T __tsan_atomic##n##_fetch_and(volatile T* p, T v, int) { return __atomic_fetch_and(p, v, 5); } \
  T __tsan_atomic##n##_fetch_or(volatile T* p, T v, int) { return __atomic_fetch_or(p, v, 5); }   \
  T __tsan_atomic##n##_fetch_xor(volatile T* p, T v, int) { return __atomic_fetch_xor(p, v, 5); } \
  int __tsan_atomic##n##_compare_exchange_strong(volatile T* p, T* e, T v, int, int) {            \
    return __atomic_compare_exchange_n(p, e, v, false, 5, 5);                                     \
  }                                                                                               \
  int __tsan_atomic##n##_compare_exchange_weak(volatile T* p, T* e, T v, int, int) {              \
    return __atomic_compare_exchange_n(p, e, v, false, 5, 5);                                     \
  }                                                                                               \
  T __tsan_atomic##n##_compare_exchange_val(volatile T* p, T e, T v, int, int) {                  \
    __atomic_compare_exchange_n(p, &e, v, false, 5, 5);                                           \
    return e;                                                                                     \
  }
HALFULP_ATOMIC_HOOKS(8, std::uint8_t)
HALFULP_ATOMIC_HOOKS(16, std::uint16_t)
HALFULP_ATOMIC_HOOKS(32, std::uint32_t)
HALFULP_ATOMIC_HOOKS(64, std::uint64_t)
#undef HALFULP_ATOMIC_HOOKS
void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(5); }
void __tsan_atomic_signal_fence(int) { __atomic_signal_fence(5); }

}  // extern "C"
