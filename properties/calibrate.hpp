// What the backend's device does, measured, beside what we declare of it: bounds rest on the
// declarations, so one that promises more than the device keeps is a fault of ours.
//
//   const auto lines = calibrate(options, declared_on(options.target.backend), say);
//   if (any_optimistic(lines)) ...
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/calibration.hpp"

namespace halfulp::properties {

// All that is declared of a device in numbers. What is declared in words stands in the rows of
// calibrate_*.cpp.
struct Declarations {
  gpu::TensorCore tensor_core;
  std::array<gpu::UlpLimit, 8> functions;  // by gpu::Instruction, from expf to fdividef
  gpu::UlpLimit& of(gpu::Instruction function) {
    return functions.at(static_cast<std::size_t>(function));
  }
  const gpu::UlpLimit& of(gpu::Instruction function) const {
    return functions.at(static_cast<std::size_t>(function));
  }
};
// From gpu::numerics_on and `arithmetic`; for functions that no kernel declares, NVIDIA's tables.
Declarations declared_on(gpu::Backend backend);

enum class Standing : std::uint8_t {
  agrees,
  safe,        // the device is better than declared: bounds hold, and could be tighter
  optimistic,  // the declaration promises what the device does not keep
  absent,      // the backend has no such instruction
  failed,      // the device reported an error
};
std::string_view name(Standing standing);

struct CalibrationLine {
  std::string property;  // "mma f16: alignment bits"
  std::string measured;
  std::string declared;
  Standing standing = Standing::agrees;
  std::string detail;  // where, or the first disagreement; may be empty
};

struct CalibrateOptions {
  gpu::CalibrationTarget target;
  int products = 10000;      // random mma instructions of each format
  std::uint32_t stride = 1;  // of the sweeps over fp32 arguments
  std::uint64_t seed = 1;
};
// 100,000 products (quick: 10,000) and every argument (quick: one of 1021) on cuda; on host 10,000
// (1,000) and one of 4099 (65,537).
CalibrateOptions calibrate_options(gpu::Backend backend, bool quick);

// Every property in the order of the tables, each line also handed to `say` as soon as it is known.
using SayLine = std::function<void(const CalibrationLine&)>;
std::vector<CalibrationLine> calibrate(const CalibrateOptions& options,
                                       const Declarations& declarations, const SayLine& say);

// A declaration is optimistic, or a measurement failed.
bool any_optimistic(const std::vector<CalibrationLine>& lines);
std::string calibration_header();
std::string calibration_text(const CalibrationLine& line);
std::string calibration_summary(const std::vector<CalibrationLine>& lines);
std::string calibration_json(const CalibrateOptions& options,
                             const std::vector<CalibrationLine>& lines);

}  // namespace halfulp::properties
