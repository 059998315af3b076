// Memory for the test kernels.
#include "tests/gpu/simt_run.hpp"

#include <cmath>
#include <cstring>

#include "gpu/assert.hpp"

namespace halfulp::gpu::simt_test {
namespace {

constexpr std::size_t kGapElements = 64;

// An array between gaps, so that what lies beyond its ends belongs to nobody.
template <class T>
class Gapped {
 public:
  Gapped(std::size_t count, T value) : storage_(count + 2 * kGapElements, value), count_(count) {}
  T* data() { return storage_.data() + kGapElements; }
  std::size_t bytes() const { return count_ * sizeof(T); }
  std::vector<T> copy() { return {data(), data() + count_}; }

 private:
  std::vector<T> storage_;
  std::size_t count_;
};

}  // namespace

const std::vector<Named>& launchers(Build build) {
  return build == Build::plain ? test_plain::launchers() : test_checked::launchers();
}

Launcher find(Build build, const char* name) {
  for (const Named& named : launchers(build)) {
    if (std::strcmp(named.name, name) == 0) return named.launch;
  }
  HALFULP_GPU_ASSERT(!"a test kernel of this name exists");
  return nullptr;
}

float input(int j) { return static_cast<float>(j * 7 % 101 + 1); }

Result run(const char* kernel, Plant plant, const simt::Config& config) {
  constexpr std::size_t kGrid = Buffers::kBlocks * Buffers::kThreads;
  Gapped<float> x(kInputs, 0);
  Gapped<float> y(kInputs, NAN);
  Gapped<float> workspace(kGrid, NAN);
  Gapped<unsigned> flags(Buffers::kBlocks + 1, 0);
  Gapped<int> counters(Buffers::kBlocks, 0);
  for (int j = 0; j < kInputs; ++j) x.data()[j] = input(j);

  simt::Session session(config);
  using simt::Contents;
  session.watch(x.data(), x.bytes(), "x", Contents::read_only, 4);
  session.watch(y.data(), y.bytes(), "y", Contents::uninitialised, 4);
  session.watch(workspace.data(), workspace.bytes(), "workspace", Contents::uninitialised, 4);
  session.watch(flags.data(), flags.bytes(), "flags", Contents::initialised, 4);
  session.watch(counters.data(), counters.bytes(), "counters", Contents::initialised, 4);

  Buffers buffers{x.data(), y.data(), workspace.data(), flags.data(), counters.data()};
  const Launcher launcher = find(config.checked ? Build::checked : Build::plain, kernel);
  const simt::Status status = launcher(plant, session.stream(), buffers);
  return {session.fault(),  status.text,  session.report(), y.copy(),
          workspace.copy(), flags.copy(), counters.copy()};
}

simt::Config config_of(simt::Order order, bool checked, std::uint64_t seed) {
  simt::Config config;
  config.order = order;
  config.checked = checked;
  config.seed = seed;
  return config;
}

std::vector<simt::Config> configs(bool checked) {
  std::vector<simt::Config> all;
  for (const int resident : {4, 2}) {
    all.push_back(config_of(simt::Order::round_robin, checked));
    all.push_back(config_of(simt::Order::reverse, checked));
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      all.push_back(config_of(simt::Order::burst, checked, seed));
      all.back().landing = seed % 2 == 0 ? simt::Landing::random : simt::Landing::at_issue;
    }
    for (std::size_t i = all.size() - 6; i < all.size(); ++i) all[i].resident = resident;
  }
  return all;
}

}  // namespace halfulp::gpu::simt_test
