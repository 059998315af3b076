// Shared memory and vector accesses for the host build.
#pragma once
#include <source_location>
#include <type_traits>

#include "gpu/simt/host/copy.hpp"
#include "gpu/simt/runtime.hpp"

#define SIMT_SHARED(Type, name, ...) \
  auto& name = *::halfulp::gpu::simt::shared_variable<Type __VA_ARGS__>([] {}, #name)

namespace halfulp::gpu::simt {
inline namespace HALFULP_SIMT_COPY {

// One object per block and declaration: the lambda's type is different for each SIMT_SHARED.
template <class Type, class Declaration>
Type* shared_variable(Declaration, const char* name) {
  static const char key = 0;
  return static_cast<Type*>(
      runtime::shared_variable(&key, sizeof(Type), sizeof(std::remove_all_extents_t<Type>), name));
}

template <class T>
T* dynamic_shared() {
  return static_cast<T*>(runtime::dynamic_shared());
}

template <class Vector>
Vector load_vector(const void* address,
                   std::source_location site = std::source_location::current()) {
  static_assert(sizeof(Vector) == 8 || sizeof(Vector) == 16);
  runtime::vector_access(address, sizeof(Vector), false, site);
  Vector value;
  __builtin_memcpy(&value, address, sizeof(Vector));
  return value;
}
template <class Vector>
void store_vector(void* address, const Vector& value,
                  std::source_location site = std::source_location::current()) {
  static_assert(sizeof(Vector) == 8 || sizeof(Vector) == 16);
  runtime::vector_access(address, sizeof(Vector), true, site);
  __builtin_memcpy(address, &value, sizeof(Vector));
}

}  // namespace HALFULP_SIMT_COPY
}  // namespace halfulp::gpu::simt
