// A kernel under test: one row of the registry, and the arguments its host entry point receives.
#pragma once
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/numerics.hpp"
#include "gpu/problem.hpp"

namespace halfulp::gpu {

// An operand as the entry point sees it: a pointer valid where the kernel runs, sizes and strides
// in elements.
struct Argument {
  void* data = nullptr;
  const Operand* operand = nullptr;
  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
};

// Workspace memory comes from the backend, so that it is guarded, poisoned and counted like any
// operand.
class Workspaces {
 public:
  virtual ~Workspaces() = default;
  // `bytes` of memory where the kernel runs, 256-byte aligned, poisoned, valid until the call has
  // ended.
  virtual void* take(std::string_view name, std::int64_t bytes) = 0;
  // `count` words that are zero at the first call and must be zero again when a call has ended:
  // locks, flags and counters that a caller keeps between calls. They stay as the kernel left them;
  // a word left set is a fault.
  virtual std::uint32_t* locks(std::string_view name, std::int64_t count) = 0;
};

struct Arguments {
  std::span<const Argument> operands;
  float epsilon = 0;
  Workspaces* workspaces = nullptr;
  void* stream = nullptr;  // cudaStream_t on cuda; the executor's session on the host backends
  std::span<const Setting> settings;
  float scale = 0;  // of attention's scores; 0: 1/sqrt(dim), computed by the callee

  const Argument& operator[](std::string_view name) const;
  // The value of a launch parameter, or `fallback` where the caller set none.
  std::int64_t setting(std::string_view name, std::int64_t fallback) const;
};

// Empty text: launched. Otherwise nothing was launched and the text names the argument and what to
// do.
struct Status {
  std::string refused;
  std::string launch_error;  // what the launch itself reported
  bool ok() const { return refused.empty() && launch_error.empty(); }
};

using EntryPoint = Status (*)(const Arguments& arguments);

enum class Backend : std::uint8_t { host, host_checked, cuda };
inline constexpr int kBackends = 3;
std::string_view name(Backend backend);  // "host", "host-checked", "cuda"

// A launch parameter that an entry point takes ("programs", "tile"): an integer from low to high,
// or one of `words`, whose index is then the value.
struct Parameter {
  std::string_view name;
  std::vector<std::string_view> words;
  std::int64_t low = 0;
  std::int64_t high = 0;
  // A number of blocks that wait for each other: refused where more than can be resident.
  bool resident = false;
};

struct Kernel {
  std::string_view operation;
  std::string_view name;
  std::string_view summary;  // one line for `halfulp list`
  Numerics numerics;
  std::vector<Format> storage;  // storage formats it accepts
  std::vector<int> edges;       // sizes at which its loops change shape: block, warp, group, split
  std::array<EntryPoint, kBackends> entry{};  // nullptr: not built for that backend
  std::vector<Parameter> parameters = {};     // an entry point refuses values outside of them
};

// All kernels, ordered by operation, baseline first.
std::span<const Kernel> kernels();
// Rows beyond the table above: mutants, kernels of a user's own build. Called from main(), before
// any use.
void add_kernels(std::vector<Kernel> rows);
const Kernel* find_kernel(std::string_view operation, std::string_view name);

}  // namespace halfulp::gpu
