// Threads and their shares; see parallel.hpp.
#include "properties/parallel.hpp"

#include <algorithm>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

#include "properties/assert.hpp"

namespace halfulp::properties {
namespace {

int& most() {
  static int count = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  return count;
}

}  // namespace

void set_threads_most(int count) {
  HALFULP_ASSERT(count >= 1, "no threads");
  most() = count;
}

int threads_most() { return most(); }

void for_parts(std::int64_t count, std::int64_t least,
               const std::function<void(std::int64_t, std::int64_t)>& work) {
  const std::int64_t shares =
      std::clamp<std::int64_t>(count / std::max<std::int64_t>(least, 1), 1, most());
  std::vector<std::exception_ptr> thrown(static_cast<std::size_t>(shares));
  const auto share = [&](std::int64_t number) {
    try {
      work(number * count / shares, (number + 1) * count / shares);
    } catch (...) {
      thrown[static_cast<std::size_t>(number)] = std::current_exception();
    }
  };
  std::vector<std::jthread> threads;
  threads.reserve(static_cast<std::size_t>(shares));
  std::int64_t begun = 1;
  try {
    for (; begun < shares; ++begun) threads.emplace_back(share, begun);
  } catch (const std::system_error&) {  // a limit of the system's
  }
  share(0);
  for (; begun < shares; ++begun) share(begun);
  threads.clear();  // joins
  for (const std::exception_ptr& each : thrown) {
    if (each) std::rethrow_exception(each);
  }
}

}  // namespace halfulp::properties
