#include "tests/properties/fakes.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include <bit>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <thread>

#include "gpu/problem.hpp"

namespace halfulp::testing {

namespace {

using gpu::Arguments;
using gpu::Status;

constexpr std::int64_t kHarmless = 7;  // elements up to which the violent ones behave

std::int64_t elements(const Arguments& arguments) { return arguments["z"].operand->count(); }

float& at(const gpu::Argument& argument, std::int64_t index) {
  return argument.as<float>()[gpu::storage_index(*argument.operand, index)];
}

Status right(const Arguments& arguments) {
  const gpu::Argument &x = arguments["x"], &y = arguments["y"], &z = arguments["z"];
  for (std::int64_t i = 0; i < elements(arguments); ++i) at(z, i) = at(x, i) + at(y, i);
  return {};
}

Status wrong(const Arguments& arguments) {
  const Status status = right(arguments);
  if (elements(arguments) > 5) at(arguments["z"], 5) += 1;
  return status;
}

Status past_end(const Arguments& arguments) {
  arguments["z"].as<float>()[elements(arguments)] = 1;  // in the guard behind it
  return right(arguments);
}

Status far_past(const Arguments& arguments) {
  arguments["z"].as<float>()[elements(arguments) + 2500] = 1;
  return right(arguments);
}

Status crash(const Arguments& arguments) {
  if (elements(arguments) > kHarmless) std::raise(SIGSEGV);
  return right(arguments);
}

Status abort_loudly(const Arguments& arguments) {
  if (elements(arguments) > kHarmless) {
    std::fprintf(stderr, "the sky is falling\n");
    std::abort();
  }
  return right(arguments);
}

Status quit(const Arguments& arguments) {
  if (elements(arguments) > kHarmless) std::_Exit(3);
  return right(arguments);
}

Status hang(const Arguments& arguments) {
  while (elements(arguments) > kHarmless) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return right(arguments);
}

Status slow(const Arguments& arguments) {
  if (elements(arguments) > kHarmless) std::this_thread::sleep_for(std::chrono::milliseconds(600));
  return right(arguments);
}

// A device that serves one process at a time.
Status lonely(const Arguments& arguments) {
  if (elements(arguments) > kHarmless) {
    const std::string name = "/tmp/halfulp_fake_lonely." + std::to_string(getuid());
    const int device = open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (flock(device, LOCK_EX | LOCK_NB) != 0) return hang(arguments);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    close(device);
  }
  return right(arguments);
}

Status greedy(const Arguments& arguments) {
  if (elements(arguments) > kHarmless) throw std::bad_alloc();
  return right(arguments);
}

Status starving(const Arguments& arguments) {
  const rlimit nothing_more{1 << 20, 1 << 20};
  if (elements(arguments) > kHarmless) setrlimit(RLIMIT_AS, &nothing_more);
  return right(arguments);
}

Status spoiling(const Arguments& arguments) {
  static int calls = 0;
  if (++calls > 2) throw std::bad_alloc();
  return right(arguments);
}

Status chatty(const Arguments& arguments) {
  std::printf("{\"verdict\":\"fail\"}\n");
  std::fflush(stdout);
  return right(arguments);
}

// Every other call gives NaNs other payloads, which is no error, but another result.
Status unsteady(const Arguments& arguments) {
  static int calls = 0;
  const Status status = right(arguments);
  if (++calls % 2 != 0) return status;
  for (std::int64_t i = 0; i < elements(arguments); ++i) {
    float& z = at(arguments["z"], i);
    if (std::isnan(z)) z = std::bit_cast<float>(std::bit_cast<std::uint32_t>(z) ^ 1u);
  }
  return status;
}

Status ninth(const Arguments& arguments) {
  static int calls = 0;
  return ++calls % 9 == 0 ? wrong(arguments) : right(arguments);
}

Status worn(const Arguments& arguments) {
  static int calls = 0;
  const bool fails = elements(arguments) > (++calls > 6 ? kHarmless : 100);
  return fails ? wrong(arguments) : right(arguments);
}

Status killed(const Arguments& arguments) {
  const char* mark = std::getenv("HALFULP_FAKE_KILLED");
  const bool dies = mark == nullptr || open(mark, O_CREAT | O_EXCL | O_CLOEXEC, 0600) >= 0;
  if (dies && elements(arguments) > kHarmless) std::raise(SIGKILL);
  return right(arguments);
}

Status refusing(const Arguments&) { return {.refused = "x: not today", .launch_error = {}}; }

}  // namespace

std::vector<gpu::Kernel> fake_kernels() {
  struct Row {
    std::string_view name;
    gpu::EntryPoint entry;
  };
  std::vector<gpu::Kernel> rows;
  const std::vector<Row> fakes{
      {"fake_right", right},        {"fake_wrong", wrong},       {"fake_crash", crash},
      {"fake_abort", abort_loudly}, {"fake_quit", quit},         {"fake_hang", hang},
      {"fake_slow", slow},          {"fake_lonely", lonely},     {"fake_greedy", greedy},
      {"fake_starving", starving},  {"fake_spoiling", spoiling}, {"fake_chatty", chatty},
      {"fake_unsteady", unsteady},  {"fake_refusing", refusing}, {"fake_ninth", ninth},
      {"fake_worn", worn},          {"fake_killed", killed},     {"fake_past_end", past_end},
      {"fake_far_past", far_past}};
  for (const Row& row : fakes) {
    gpu::Kernel kernel;
    kernel.operation = "vector_add";
    kernel.name = row.name;
    kernel.summary = "a fake of the test suite";
    kernel.storage = {gpu::Format::f32};
    kernel.edges = {4, 32};
    kernel.entry[static_cast<std::size_t>(gpu::Backend::host)] = row.entry;
    rows.push_back(kernel);
  }
  return rows;
}

}  // namespace halfulp::testing
