// Addresses on the host.
#include "tests/gpu/wide_memory.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

namespace halfulp::gpu::test {
namespace {

class HostMemory : public WideMemory {
 public:
  ~HostMemory() override { release(); }

  std::byte* take(std::int64_t bytes) override {
    const auto size = static_cast<std::size_t>(bytes + 1);
    void* data = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data == MAP_FAILED) {
      failure_ =
          "no addresses for " + std::to_string(bytes) + " bytes: " + std::string(strerror(errno));
      return nullptr;
    }
    madvise(data, size, MADV_NOHUGEPAGE);  // else each row may cost 2 MiB
    ranges_.emplace_back(static_cast<std::byte*>(data), size);
    return ranges_.back().data();
  }
  void clear() override { release(); }
  void write(std::byte* to, std::span<const std::byte> from) override {
    std::memcpy(to, from.data(), from.size());
  }
  void read(std::span<std::byte> to, const std::byte* from) override {
    std::memcpy(to.data(), from, to.size());
  }

 private:
  void release() {
    for (const std::span<std::byte> range : ranges_) munmap(range.data(), range.size());
    ranges_.clear();
  }
  std::vector<std::span<std::byte>> ranges_;
};

}  // namespace

std::unique_ptr<WideMemory> wide_memory_host() { return std::make_unique<HostMemory>(); }

}  // namespace halfulp::gpu::test
