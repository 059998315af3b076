// A handler of SIGSEGV: no memory is taken, no lock, and no stack of a kernel's thread.
#include "gpu/simt/stray_access.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstring>

#include "gpu/simt/fenced_memory.hpp"
#include "gpu/simt/fiber.hpp"

namespace halfulp::gpu::simt {
namespace {

constexpr std::uintptr_t kNullBytes = 4096;  // an index away from a null pointer

class Message {
 public:
  Message& operator<<(const char* text) {
    const std::size_t length = std::min(std::strlen(text), text_.size() - length_);
    std::memcpy(text_.data() + length_, text, length);
    length_ += length;
    return *this;
  }
  Message& operator<<(std::size_t number) {
    const auto end = std::to_chars(text_.data() + length_, text_.data() + text_.size(), number);
    length_ = static_cast<std::size_t>(end.ptr - text_.data());
    return *this;
  }
  ~Message() {
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text_.data(), length_);
  }

 private:
  std::array<char, 200> text_;
  std::size_t length_ = 0;
};

void explain(const void* address) {
  if (const FencedMemory::Stray stray = FencedMemory::stray_of_thread(address); stray.name) {
    Message() << "access " << stray.bytes
              << (stray.past_end ? " bytes past the end of " : " bytes before ") << stray.name
              << "\n";
  } else if (const std::size_t bytes = FiberPool::overflowed_bytes(address); bytes > 0) {
    Message() << "a thread of the kernel needs more than the " << bytes
              << " bytes of stack that a host gives it\n";
  } else if (reinterpret_cast<std::uintptr_t>(address) < kNullBytes) {
    Message() << "access through a null pointer\n";
  } else {
    Message() << "access to what is no memory of the kernel's, nor near it\n";
  }
}

// The default action has been restored (SA_RESETHAND): raised once more, it ends the process.
[[maybe_unused]] void on_stray_access(int signal, siginfo_t* information, void* /*context*/) {
  // Sent by somebody, or of an address that no pointer can have: there is none to explain.
  const bool known = information->si_code == SEGV_MAPERR || information->si_code == SEGV_ACCERR;
  if (known) explain(information->si_addr);
  std::raise(signal);
}

}  // namespace

void report_stray_accesses() {
#if !defined(__SANITIZE_ADDRESS__)
  // A stack of its own: that of a kernel's thread may be full.
  static std::array<char, 64 * 1024> stack;
  stack_t alternative{};
  alternative.ss_sp = stack.data();
  alternative.ss_size = stack.size();
  sigaltstack(&alternative, nullptr);
  struct sigaction action {};
  action.sa_sigaction = on_stray_access;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND;
  sigaction(SIGSEGV, &action, nullptr);
#endif
}

}  // namespace halfulp::gpu::simt
