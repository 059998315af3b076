// Runs the tables of calibrate_rows.hpp and prints their lines; see calibrate.hpp.
#include "properties/calibrate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "gpu/backend.hpp"
#include "properties/calibrate_rows.hpp"
#include "properties/translate.hpp"

namespace halfulp::properties {

namespace {

constexpr gpu::Format kFormats[] = {gpu::Format::f16, gpu::Format::bf16, gpu::Format::tf32};

// What `arithmetic` makes of a kernel that declares this.
gpu::UlpLimit limit_of(gpu::Exponential exponential) {
  gpu::Numerics numerics;
  numerics.exponential = exponential;
  const auto model = arithmetic(numerics, gpu::Format::f32, gpu::Format::f32).exponential;
  return {model.ulps + 0.5, model.ulps_slope};  // from the correctly rounded result [B8]
}
// A unit roundoff is half an ulp; the other roundings of the two are one each [B7], [B9].
gpu::UlpLimit limit_of_reciprocal() {
  gpu::Numerics numerics;
  numerics.division = gpu::Division::reciprocal;
  const double roundings =
      arithmetic(numerics, gpu::Format::f32, gpu::Format::f32).division_roundings;
  return {(roundings - 1) / 2, 0};
}
gpu::UlpLimit limit_of_rsqrt() {
  gpu::Numerics numerics;
  numerics.scale = gpu::Scale::rsqrt;
  const double roundings = arithmetic(numerics, gpu::Format::f32, gpu::Format::f32).scale_roundings;
  return {(roundings - 2) / 2, 0};
}

// A row's line; what the device cannot do or reports is its standing.
template <class Measure>
CalibrationLine line_of(std::string property, bool offered, const Measure& measure) {
  Finding finding;
  if (!offered) {
    finding = {"-", "-", Standing::absent, ""};
  } else {
    try {
      finding = measure();
    } catch (const DeviceError& error) {
      finding = {"-", "-", Standing::failed, error.what()};
    }
  }
  return {std::move(property), std::move(finding.measured), std::move(finding.declared),
          finding.standing, std::move(finding.detail)};
}

}  // namespace

std::string_view name(Standing standing) {
  constexpr std::array<std::string_view, 5> kNames{"agrees", "safe", "OPTIMISTIC", "absent",
                                                   "FAILED"};
  return kNames.at(static_cast<std::size_t>(standing));
}

Finding at_least(int measured, int declared) {
  return {std::to_string(measured), std::to_string(declared),
          measured == declared  ? Standing::agrees
          : measured > declared ? Standing::safe
                                : Standing::optimistic,
          ""};
}

Finding word(std::string_view measured, std::string_view declared, std::string_view better) {
  const Standing standing = measured == declared ? Standing::agrees
                            : measured == better ? Standing::safe
                                                 : Standing::optimistic;
  return {std::string(measured), std::string(declared), standing, ""};
}

std::vector<std::uint32_t> checked(gpu::Words words) {
  if (!words.error.empty()) throw DeviceError(words.error);
  return std::move(words.values);
}

Declarations declared_on(gpu::Backend backend) {
  gpu::Kernel kernel;
  kernel.numerics.tensor_cores = true;
  Declarations declared;
  declared.tensor_core = gpu::numerics_on(kernel, backend).tensor_core;
  declared.of(gpu::Instruction::expf) = limit_of(gpu::Exponential::expf);
  declared.of(gpu::Instruction::expf_fast) = limit_of(gpu::Exponential::expf_fast);
  declared.of(gpu::Instruction::rcp_rn) = limit_of_reciprocal();
  declared.of(gpu::Instruction::rsqrtf) = limit_of_rsqrt();
  // CUDA C++ Programming Guide, Mathematical Functions; PTX ISA, ex2 and rcp.
  declared.of(gpu::Instruction::exp2f) = {2.5, 0};
  declared.of(gpu::Instruction::ex2_approx) = {2.5, 0};
  declared.of(gpu::Instruction::rcp_approx) = {1.5, 0};
  declared.of(gpu::Instruction::fdividef) = {2.5, 0};
  return declared;
}

CalibrateOptions calibrate_options(gpu::Backend backend, bool quick) {
  CalibrateOptions options;
  options.target.backend = backend;
  const bool device = backend == gpu::Backend::cuda;
  options.products = (device ? 100000 : 10000) / (quick ? 10 : 1);
  options.stride = device ? (quick ? 1021 : 1) : (quick ? 65537 : 4099);
  return options;
}

std::vector<CalibrationLine> calibrate(const CalibrateOptions& options,
                                       const Declarations& declarations, const SayLine& say) {
  const Subject subject{options, declarations};
  std::vector<CalibrationLine> lines;
  const auto add = [&](CalibrationLine line) {
    say(line);
    lines.push_back(std::move(line));
  };
  for (const gpu::Format format : kFormats) {
    for (const ProductRow& row : product_rows()) {
      add(line_of(fmt::format("mma {}: {}", gpu::name(format), row.name), true,
                  [&] { return row.measure(subject, format); }));
    }
  }
  for (const FunctionRow& row : function_rows()) {
    add(line_of(fmt::format("{}: {}", gpu::name(row.function), row.name), true,
                [&] { return row.measure(subject, row.function); }));
  }
  for (const InstructionRow& row : instruction_rows()) {
    add(line_of(fmt::format("{}: {}", gpu::name(row.instruction), row.name),
                gpu::offers(options.target.backend, row.instruction),
                [&] { return row.measure(subject, row.instruction); }));
  }
  return lines;
}

bool any_optimistic(const std::vector<CalibrationLine>& lines) {
  return std::ranges::any_of(lines, [](const CalibrationLine& line) {
    return line.standing == Standing::optimistic || line.standing == Standing::failed;
  });
}

std::string calibration_header() {
  return fmt::format("{:<38} {:<24} {:<18} {}", "property", "measured", "declared", "verdict");
}

std::string calibration_text(const CalibrationLine& line) {
  return fmt::format("{:<38} {:<24} {:<18} {}{}{}", line.property, line.measured, line.declared,
                     name(line.standing), line.detail.empty() ? "" : "  ", line.detail);
}

std::string calibration_summary(const std::vector<CalibrationLine>& lines) {
  std::string text = fmt::format("{} properties:", lines.size());
  for (const Standing standing : {Standing::agrees, Standing::safe, Standing::optimistic,
                                  Standing::absent, Standing::failed}) {
    const auto count = std::ranges::count(lines, standing, &CalibrationLine::standing);
    text += fmt::format("{} {} {}", standing == Standing::agrees ? "" : ",", count, name(standing));
  }
  return text;
}

std::string calibration_json(const CalibrateOptions& options,
                             const std::vector<CalibrationLine>& lines) {
  using Json = nlohmann::ordered_json;
  Json properties = Json::array();
  for (const CalibrationLine& line : lines) {
    properties.push_back({{"property", line.property},
                          {"measured", line.measured},
                          {"declared", line.declared},
                          {"verdict", name(line.standing)},
                          {"detail", line.detail}});
  }
  const Json json = {{"backend", gpu::name(options.target.backend)},
                     {"device", gpu::device_name(options.target.backend)},
                     {"products", options.products},
                     {"stride", options.stride},
                     {"seed", options.seed},
                     {"properties", properties}};
  return json.dump(2) + "\n";
}

}  // namespace halfulp::properties
