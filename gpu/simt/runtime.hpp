// What the surface headers call: one compiled copy in halfulp_simt, never instrumented. Not for
// kernels.
#pragma once
#include <cstddef>
#include <cstdint>
#include <source_location>

#include "gpu/simt/host/numbers.hpp"
#include "gpu/simt/host/vectors.hpp"
#include "gpu/simt/status.hpp"

namespace halfulp::gpu::simt::runtime {

using Site = std::source_location;

enum class Barrier : std::uint8_t { plain, count, all, any };
enum class Scope : std::uint8_t { block, gpu };
enum class Shuffle : std::uint8_t { index, up, down, exclusive_or };
enum class Vote : std::uint8_t { ballot, any, all };
enum class Atomic : std::uint8_t {
  add,
  exchange,
  maximum,
  minimum,
  bit_and,
  bit_or,
  compare_exchange
};
enum class Mma : std::uint8_t { m16n8k16_f16, m16n8k16_bf16, m16n8k8_tf32 };

Status launch(void* session, uint3 grid, uint3 block, std::size_t shared_bytes,
              void (*run_thread)(void*), void* call, std::size_t call_bytes);
int resident_blocks(const void* session, uint3 block, std::size_t shared_bytes);

void* shared_variable(const void* key, std::size_t bytes, std::size_t element_bytes,
                      const char* name);
void* dynamic_shared();
// Checks the alignment, and in a checked launch the access, of one vector load or store.
void vector_access(const void* address, std::size_t bytes, bool write, Site site);

int barrier(Barrier kind, int predicate, Site site);
void fence(Scope scope);
void sync_warp(unsigned mask, Site site);
std::uint64_t shuffle(unsigned mask, Shuffle kind, std::uint64_t value, int argument, int width,
                      Site site);
unsigned vote(unsigned mask, Vote kind, int predicate, Site site);

// Defined for int, unsigned, unsigned long long; add and exchange also for float, add for double,
// __half and __nv_bfloat16.
template <class T>
T atomic(T* address, Atomic operation, T operand, T compare, Site site);
// The two elements of a half2 or bfloat162: one alignment, two additions.
template <class Pair>
Pair atomic_add_pair(Pair* address, Pair operand, Site site);
unsigned load_acquire(const unsigned* address, Site site);
void store_release(unsigned* address, unsigned value, Site site);

void cp_async(void* shared, const void* global, int size, int bytes, Site site);
void cp_async_commit();
void cp_async_wait(int groups_pending);
void ldmatrix(unsigned* registers, int count, bool transposed, const void* row, Site site);
void mma(Mma operation, float* d, const unsigned* a, const unsigned* b, Site site);

}  // namespace halfulp::gpu::simt::runtime
