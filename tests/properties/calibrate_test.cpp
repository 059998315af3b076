// `calibrate` on the host executor, whose tensor cores may be any: it measures what is there, and a
// declaration that promises more is flagged, and flagged alone.
#include "properties/calibrate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "gpu/backend.hpp"

namespace halfulp::properties {
namespace {

using gpu::Instruction;
using gpu::TensorCore;
using Lines = std::vector<CalibrationLine>;

// A device with these tensor cores, judged by these declarations.
Lines lines_of(const TensorCore& device, const Declarations& declarations) {
  CalibrateOptions options;
  options.target.host_tensor_core = device;
  options.products = 250;
  options.stride = 1000003;
  return calibrate(options, declarations, [](const CalibrationLine&) {});
}
Declarations declared_with(const TensorCore& core) {
  Declarations declarations = declared_on(gpu::Backend::host);
  declarations.tensor_core = core;
  return declarations;
}

const CalibrationLine& line(const Lines& lines, const std::string& property) {
  const auto found = std::ranges::find(lines, property, &CalibrationLine::property);
  if (found != lines.end()) return *found;
  ADD_FAILURE() << "no property " << property;
  return lines.front();
}

std::vector<std::string> flagged(const Lines& lines) {
  std::vector<std::string> properties;
  for (const CalibrationLine& l : lines) {
    if (l.standing == Standing::optimistic) properties.push_back(l.property);
  }
  return properties;
}
// The property of every format.
std::vector<std::string> of_products(const std::vector<std::string>& names) {
  std::vector<std::string> properties;
  for (const char* format : {"f16", "bf16", "tf32"}) {
    for (const std::string& name : names) {
      properties.push_back(std::string("mma ") + format + ": " + name);
    }
  }
  return properties;
}

TEST(Calibrate, HostKeepsWhatIsDeclaredOfIt) {
  const Lines lines = lines_of(gpu::kTensorCoreHopper, declared_on(gpu::Backend::host));
  for (const CalibrationLine& l : lines) {
    EXPECT_NE(name(l.standing), name(Standing::optimistic)) << calibration_text(l);
    EXPECT_NE(name(l.standing), name(Standing::failed)) << calibration_text(l);
  }
  EXPECT_FALSE(any_optimistic(lines));
  EXPECT_EQ(line(lines, "mma f16: alignment bits").measured, "25");
  EXPECT_EQ(line(lines, "mma f16: products a step").measured, "16");
  EXPECT_EQ(line(lines, "mma tf32: products a step").measured, "8");
  EXPECT_EQ(line(lines, "mma bf16: random products").measured, "0 of 32000 differ");
  EXPECT_EQ(line(lines, "mma tf32: write-out").measured, "toward zero");
  EXPECT_EQ(line(lines, "mma bf16: exponents of subnormals").measured, "not normalised");
  EXPECT_EQ(line(lines, "atomicAdd f32 global: subnormals").standing, Standing::safe);
}

TEST(Calibrate, OtherTensorCoresAreMeasuredAsTheyAre) {
  for (const TensorCore& core : {gpu::kTensorCoreAmpere, gpu::kTensorCoreAny, TensorCore{26, 8, 4},
                                 TensorCore{24, 16, 4}, TensorCore{23, 8, 8}}) {
    const Lines lines = lines_of(core, declared_with(core));
    EXPECT_EQ(flagged(lines), std::vector<std::string>{});
    for (const std::string& property : of_products({"alignment bits", "products a step"})) {
      EXPECT_EQ(name(line(lines, property).standing), "agrees")
          << calibration_text(line(lines, property));
    }
  }
}

TEST(Calibrate, RoundedSumsAreSafeAndNotTheModel) {
  const Lines lines = lines_of({0, 0, 0}, declared_with(gpu::kTensorCoreHopper));
  EXPECT_EQ(line(lines, "mma f16: write-out").measured, "nearest");
  EXPECT_EQ(line(lines, "mma f16: write-out").standing, Standing::safe);
  EXPECT_EQ(line(lines, "mma f16: random products").standing, Standing::optimistic);
}

TEST(Calibrate, TooManyAlignmentBitsAreFlagged) {
  const Lines lines = lines_of(gpu::kTensorCoreHopper, declared_with({26, 16, 8}));
  EXPECT_EQ(flagged(lines), of_products({"alignment bits", "random products"}));
  EXPECT_TRUE(any_optimistic(lines));
  const CalibrationLine& random = line(lines, "mma f16: random products");
  EXPECT_NE(random.detail.find("on the device"), std::string::npos) << random.detail;
}

TEST(Calibrate, TooFewAlignmentBitsAreSafeAndNotTheModel) {
  const Lines lines = lines_of(gpu::kTensorCoreHopper, declared_with({24, 16, 8}));
  EXPECT_EQ(flagged(lines), of_products({"random products"}));
  EXPECT_EQ(line(lines, "mma f16: alignment bits").standing, Standing::safe);
}

TEST(Calibrate, WrongStepsAreFlagged) {
  const Lines more = lines_of(gpu::kTensorCoreAmpere, declared_with({24, 16, 8}));
  EXPECT_EQ(flagged(more), of_products({"products a step", "random products"}));
  const Lines fewer = lines_of(gpu::kTensorCoreHopper, declared_with({25, 8, 4}));
  EXPECT_EQ(flagged(fewer), of_products({"random products"}));
}

// Where only a bound is declared, the model is the one measured.
TEST(Calibrate, ADeclaredBoundIsNoModel) {
  const Lines lines = lines_of(gpu::kTensorCoreHopper, declared_with(gpu::kTensorCoreAny));
  EXPECT_EQ(flagged(lines), std::vector<std::string>{});
  EXPECT_EQ(line(lines, "mma f16: alignment bits").standing, Standing::safe);
  EXPECT_EQ(line(lines, "mma f16: random products").declared, "F=25 L=16");
}

TEST(Calibrate, TooSmallErrorsAreFlagged) {
  for (int f = 0; f <= static_cast<int>(Instruction::fdividef); ++f) {
    const auto function = static_cast<Instruction>(f);
    Declarations declarations = declared_on(gpu::Backend::host);
    declarations.of(function) = {0.1, 0};
    const Lines lines = lines_of(gpu::kTensorCoreHopper, declarations);
    const std::string property = std::string(gpu::name(function)) + ": largest error";
    EXPECT_EQ(flagged(lines), std::vector<std::string>{property});
  }
}

TEST(Calibrate, TheSlopeOfAnErrorCounts) {
  Declarations declarations = declared_on(gpu::Backend::host);
  declarations.of(Instruction::expf_fast).ulps_slope = 1;  // 1.173 |x| is kept
  EXPECT_EQ(flagged(lines_of(gpu::kTensorCoreHopper, declarations)),
            std::vector<std::string>{"__expf: largest error"});
}

TEST(Calibrate, JsonHoldsEveryLine) {
  const CalibrateOptions options = calibrate_options(gpu::Backend::host, true);
  const Lines lines{{"a property", "1", "2", Standing::optimistic, "where"}};
  const auto json = nlohmann::json::parse(calibration_json(options, lines));
  EXPECT_EQ(json["backend"], "host");
  EXPECT_EQ(json["properties"][0]["verdict"], "OPTIMISTIC");
  EXPECT_EQ(json["properties"][0]["detail"], "where");
}

}  // namespace
}  // namespace halfulp::properties
