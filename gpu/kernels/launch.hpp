// What every launcher does around its launches: stop at the first refusal or error, take
// workspaces, size grids, and pick the storage type.
//
//   Launcher launcher(arguments, bind(arguments, v));
//   with_storage(v.storage, [&]<class T>() { launcher.launch(kernel<T>, blocks, threads, v); });
//   launcher.launch(kernel, LaunchShape{.blocks = 8, .threads = 128, .shared_bytes = 49152}, v);
//   return launcher.status();
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "gpu/kernel.hpp"
#include "gpu/simt/simt.cuh"

namespace halfulp::gpu::HALFULP_BUILD {

inline constexpr std::int64_t kGridMost = 2147483647;  // blocks in the x dimension

#if defined(__CUDACC__)
// Enough blocks to fill the device when each strides over the work.
inline std::int64_t blocks_filling() {
  int device = 0;
  int multiprocessors = 1;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
  return std::int64_t{multiprocessors} * 16;
}
#else
// Few, so that small problems stride too.
inline std::int64_t blocks_filling() { return 3; }
#endif

// What a launch needs besides its kernel and arguments.
struct LaunchShape {
  std::int64_t blocks = 0;
  int threads = 0;                // of each block
  std::int64_t shared_bytes = 0;  // dynamic, of each block: simt::dynamic_shared
};

class Launcher {
 public:
  Launcher(const Arguments& arguments, std::string refused) : arguments_(arguments) {
    status_.refused = std::move(refused);
  }

  // Blocks for `work` items; refused when the grid cannot hold them, naming the argument that is
  // too large.
  std::int64_t blocks(std::string_view name, std::int64_t work, std::int64_t work_per_block) {
    const std::int64_t count = (work + work_per_block - 1) / work_per_block;
    if (count > kGridMost && status_.ok()) {
      status_.refused = std::string(name) + ": " + std::to_string(work) + " work items need " +
                        std::to_string(count) + " blocks, a grid holds 2147483647";
    }
    return count;
  }

  // Blocks that stride over `work` items: never more than fill the device.
  std::int64_t blocks_striding(std::int64_t work, std::int64_t work_per_block) const {
    const std::int64_t count = (work + work_per_block - 1) / work_per_block;
    const std::int64_t most = blocks_filling();
    return count < most ? count : most;
  }

  // `count` elements of scratch memory, not initialised; nullptr after a refusal or for none.
  template <class T>
  T* workspace(std::string_view name, std::int64_t count) {
    if (!status_.ok() || count == 0) return nullptr;
    const auto bytes = count * static_cast<std::int64_t>(sizeof(T));
    auto* memory = static_cast<T*>(arguments_.workspaces->take(name, bytes));
    if (memory == nullptr) {
      status_.refused = std::string(name) + ": no workspace of " + std::to_string(bytes) + " bytes";
    }
    return memory;
  }

  // Launches unless something was refused, failed before, or there are no blocks. More shared
  // memory or threads than a device has are a launch error.
  template <class... Parameters, class... Values>
  void launch(void (*kernel)(Parameters...), const LaunchShape& shape, const Values&... values) {
    if (!status_.ok() || shape.blocks == 0) return;
    const dim3 grid(static_cast<unsigned>(shape.blocks), 1, 1);
    const dim3 block(static_cast<unsigned>(shape.threads), 1, 1);
    status_.launch_error =
        simt::launch(kernel, grid, block, size_of(shape.shared_bytes), arguments_.stream, values...)
            .text;
  }
  template <class... Parameters, class... Values>
  void launch(void (*kernel)(Parameters...), std::int64_t blocks, int threads,
              const Values&... values) {
    launch(kernel, LaunchShape{blocks, threads, 0}, values...);
  }

  // Blocks of this kernel that run at once: on a device occupancy times multiprocessors, on the
  // host the executor's limit. 0 where not even one can.
  template <class... Parameters>
  std::int64_t resident_blocks(void (*kernel)(Parameters...), int threads,
                               std::int64_t shared_bytes) const {
    const dim3 block(static_cast<unsigned>(threads), 1, 1);
    return simt::resident_blocks(kernel, block, size_of(shared_bytes), arguments_.stream);
  }

  // Refuses the call; of several refusals the first one counts.
  void refuse(std::string_view name, const std::string& what) {
    if (status_.ok()) status_.refused = std::string(name) + ": " + what;
  }

  // `count` words that are zero at the first call, and that the call leaves zero; nullptr after a
  // refusal or for none.
  std::uint32_t* locks(std::string_view name, std::int64_t count) {
    if (!status_.ok() || count == 0) return nullptr;
    std::uint32_t* words = arguments_.workspaces->locks(name, count);
    if (words == nullptr) refuse(name, "no memory for " + std::to_string(count) + " locks");
    return words;
  }

  Status status() const { return status_; }

 private:
  static std::size_t size_of(std::int64_t bytes) { return static_cast<std::size_t>(bytes); }

  const Arguments& arguments_;
  Status status_;
};

// Calls body.operator()<T>() with the type that holds a stored number of this format.
template <class Body>
void with_storage(Format format, const Body& body) {
  if (format == Format::f16) return body.template operator()<__half>();
  if (format == Format::bf16) return body.template operator()<__nv_bfloat16>();
  body.template operator()<float>();
}

}  // namespace halfulp::gpu::HALFULP_BUILD
