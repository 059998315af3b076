// Calibration kernels on the host executor, whose regions need gaps between them.
#include <algorithm>

#include "gpu/calibration/staging.hpp"
#include "gpu/simt/session.hpp"

namespace halfulp::gpu {

namespace {

// Words with a gap at both ends, 16-byte aligned.
class Region {
 public:
  explicit Region(std::size_t words) : quads_(words / 4 + 1 + 2 * kGap) {}
  std::uint32_t* data() { return quads_[kGap].words; }

 private:
  static constexpr std::size_t kGap = 16;
  struct alignas(16) Quad {
    std::uint32_t words[4];
  };
  std::vector<Quad> quads_;
};

}  // namespace

Words staged_on_host(const TensorCore& model, const Inputs& inputs, std::size_t output_words,
                     const StagedLaunch& launch) {
  simt::Config config;
  config.tensor_core = {model.alignment_bits, model.products_16_bit, model.products_tf32};
  simt::Session session(config);
  std::vector<Region> regions;
  std::vector<const std::uint32_t*> copies;
  regions.reserve(inputs.size());
  for (const auto& input : inputs) {
    std::uint32_t* copy = regions.emplace_back(input.size()).data();
    std::copy(input.begin(), input.end(), copy);
    session.watch(copy, 4 * input.size(), "input", simt::Contents::read_only, 4);
    copies.push_back(copy);
  }
  Region output(output_words);
  session.watch(output.data(), 4 * output_words, "out", simt::Contents::uninitialised, 4);
  const simt::Status status = launch(copies, output.data(), session.stream());
  return {{output.data(), output.data() + output_words}, status.text};
}

}  // namespace halfulp::gpu
