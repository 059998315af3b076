// Sends instructions to the build and the memory of their backend; the model of tensor cores.
#include "gpu/calibration.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "gpu/assert.hpp"
#include "gpu/backend.hpp"
#include "gpu/calibration/entries.hpp"
#include "gpu/calibration/staging.hpp"
#include "gpu/simt/tensor_core.hpp"

namespace halfulp::gpu {

namespace {

struct Entries {
  decltype(&host::calibration_products) products = host::calibration_products;
  decltype(&host::calibration_apply) apply = host::calibration_apply;
  decltype(&host::calibration_sweep) sweep = host::calibration_sweep;
};

Entries entries(Backend backend) {
  HALFULP_GPU_ASSERT(backend != Backend::host_checked && available(backend));
#if defined(HALFULP_WITH_CUDA)
  if (backend == Backend::cuda) {
    return {cuda::calibration_products, cuda::calibration_apply, cuda::calibration_sweep};
  }
#endif
  return {};
}

Words staged(const CalibrationTarget& target, const Inputs& inputs, std::size_t output_words,
             const StagedLaunch& launch) {
#if defined(HALFULP_WITH_CUDA)
  if (target.backend == Backend::cuda) return staged_on_cuda(inputs, output_words, launch);
#endif
  return staged_on_host(target.host_tensor_core, inputs, output_words, launch);
}

simt::FactorFormat factor_format(Format format) {
  if (format == Format::bf16) return simt::FactorFormat::bf16;
  return format == Format::tf32 ? simt::FactorFormat::tf32 : simt::FactorFormat::f16;
}

std::size_t count_of(const Products& products) {
  const auto depth = static_cast<std::size_t>(products_depth(products.format));
  const std::size_t count = products.c.size() / 128;
  HALFULP_GPU_ASSERT(products.c.size() == 128 * count);
  HALFULP_GPU_ASSERT(products.a.size() == 16 * depth * count);
  HALFULP_GPU_ASSERT(products.b.size() == 8 * depth * count);
  return count;
}

}  // namespace

std::int64_t products_depth(Format format) { return format == Format::tf32 ? 8 : 16; }

Words multiply_add(const CalibrationTarget& target, const Products& products) {
  const std::size_t count = count_of(products);
  const auto launch = entries(target.backend).products;
  return staged(target, {products.a, products.b, products.c}, products.c.size(),
                [&](const auto& inputs, std::uint32_t* out, void* stream) {
                  return launch({products.format, inputs[0], inputs[1], inputs[2], out,
                                 static_cast<std::int64_t>(count)},
                                stream);
                });
}

void multiply_add_modelled(const TensorCore& model, const Products& products, std::size_t i,
                           std::span<std::uint32_t, 128> out) {
  HALFULP_GPU_ASSERT(i < count_of(products));
  const simt::TensorCore core{model.alignment_bits, model.products_16_bit, model.products_tf32};
  const simt::FactorFormat format = factor_format(products.format);
  const auto depth = static_cast<std::size_t>(products_depth(products.format));
  std::array<std::array<simt::Factor, 16>, 16> a{};
  std::array<std::array<simt::Factor, 16>, 8> b{};
  for (std::size_t k = 0; k < depth; ++k) {
    for (std::size_t m = 0; m < 16; ++m) {
      a[m][k] = simt::decode(format, products.a[(i * 16 + m) * depth + k]);
    }
    for (std::size_t n = 0; n < 8; ++n) {
      b[n][k] = simt::decode(format, products.b[(i * depth + k) * 8 + n]);
    }
  }
  for (std::size_t m = 0; m < 16; ++m) {
    for (std::size_t n = 0; n < 8; ++n) {
      const auto c = std::bit_cast<float>(products.c[(i * 16 + m) * 8 + n]);
      out[m * 8 + n] = std::bit_cast<std::uint32_t>(simt::multiply_add(
          core, format, c, std::span(a[m]).first(depth), std::span(b[n]).first(depth)));
    }
  }
}

std::string_view name(Instruction instruction) {
  constexpr std::array<std::string_view, 13> kNames{"expf",
                                                    "__expf",
                                                    "exp2f",
                                                    "ex2.approx.ftz",
                                                    "__frcp_rn",
                                                    "rcp.approx.ftz",
                                                    "rsqrtf",
                                                    "__fdividef",
                                                    "atomicAdd f32 global",
                                                    "atomicAdd f32 shared",
                                                    "atomicAdd f16",
                                                    "atomicAdd bf16",
                                                    "cvt.rna.tf32"};
  return kNames.at(static_cast<std::size_t>(instruction));
}

bool offers(Backend backend, Instruction instruction) {
  return backend == Backend::cuda || instruction != Instruction::convert_tf32;
}

Words apply(const CalibrationTarget& target, Instruction instruction,
            std::span<const std::uint32_t> a, std::span<const std::uint32_t> b) {
  HALFULP_GPU_ASSERT(a.size() == b.size() && offers(target.backend, instruction));
  const auto launch = entries(target.backend).apply;
  return staged(
      target, {a, b}, a.size(), [&](const auto& inputs, std::uint32_t* out, void* stream) {
        return launch({instruction, inputs[0], inputs[1], out, static_cast<std::int64_t>(a.size())},
                      stream);
      });
}

double UlpLimit::at(double x) const { return ulps + std::floor(ulps_slope * std::abs(x)); }

Sweep sweep(const CalibrationTarget& target, Instruction function, UlpLimit limit,
            std::uint32_t stride) {
  HALFULP_GPU_ASSERT(function <= Instruction::fdividef && stride > 0);
  const std::uint32_t ranges = target.backend == Backend::cuda ? 8192 : 64;
  const auto launch = entries(target.backend).sweep;
  const Words words = staged(target, {}, std::size_t{ranges} * kSweepWords,
                             [&](const auto&, std::uint32_t* out, void* stream) {
                               return launch({function, limit, stride, ranges, out}, stream);
                             });
  Sweep result;
  result.error = words.error;
  if (!result.error.empty()) return result;
  for (std::size_t i = 0; i < words.values.size(); i += kSweepWords) {
    const std::uint32_t* from = &words.values[i];
    result.inputs += from[3];
    if (from[3] == 0) continue;
    SweepSample sample{std::bit_cast<float>(from[0]), std::bit_cast<float>(from[1]),
                       std::bit_cast<float>(from[2])};
    std::memcpy(&sample.ulps, from + 4, sizeof sample.ulps);
    result.worst.push_back(sample);
  }
  return result;
}

}  // namespace halfulp::gpu
